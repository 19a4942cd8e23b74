"""Extracts items, terms and references from the bytes of a file."""
