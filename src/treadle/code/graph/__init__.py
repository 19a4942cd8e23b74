"""How items relate: what contains, imports, calls, uses, extends, overrides and tests what."""
