"""Who may speak to the board, and for whom."""
