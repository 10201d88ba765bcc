"""Where a source's list of nodes comes from."""
