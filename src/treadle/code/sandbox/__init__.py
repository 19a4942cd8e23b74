"""Processes without rights, in which foreign text is parsed."""
