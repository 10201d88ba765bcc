"""Nodes over ssh: nothing is installed there; one fixed, read-only command prints samples."""
