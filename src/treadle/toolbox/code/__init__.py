"""Tools that read code."""
