"""The live state of all nodes, in memory."""
