"""The concrete tools, one module each, by area."""
