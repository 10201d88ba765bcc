"""Settings become running objects here; nobody else names a concrete part."""
