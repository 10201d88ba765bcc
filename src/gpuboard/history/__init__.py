"""What the fleet looked like in the past: figures, verdicts, holders, episodes and events."""
