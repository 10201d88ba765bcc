"""The routes of the board, one file per subject."""
