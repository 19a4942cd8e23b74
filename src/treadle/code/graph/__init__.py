"""Relations between items: contains, imports, calls, uses, inherits, overrides and tests."""
