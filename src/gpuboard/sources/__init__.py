"""Ways in which reports reach the board."""
