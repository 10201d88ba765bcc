"""The fleet as files."""
