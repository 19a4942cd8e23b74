"""Tools that read recorded traces."""
