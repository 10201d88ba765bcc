"""The ways to sign in, one per file, behind one contract."""
