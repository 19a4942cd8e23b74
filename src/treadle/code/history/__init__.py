"""The git history of a tree as a signal: which files change, under which messages, together."""
