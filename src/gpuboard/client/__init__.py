"""A client of the board's own API, for commands."""
