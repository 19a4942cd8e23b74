"""Edits: how they are planned on exact bytes, kept as proposals, applied and undone."""
