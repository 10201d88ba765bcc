"""Who holds which GPU by agreement."""
