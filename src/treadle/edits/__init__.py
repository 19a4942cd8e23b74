"""Edits: planned on exact bytes, stored as proposals, applied and undone."""
