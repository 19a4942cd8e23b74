"""Edits of items by name: their exact ranges, shared declarations, and side effects."""
