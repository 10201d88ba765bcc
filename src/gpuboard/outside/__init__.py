"""The world outside the board: files followed, names looked up, servers asked; never blocks the loop."""
