"""Git history as a signal for queries.

The history shows how often files change, with which messages, and which files change together.
"""
