"""Edits of items by name: exact ranges, declarations with several names, and side effects."""
