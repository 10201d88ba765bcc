"""Stand-ins for what a test machine lacks: a GPU driver and its tools."""
