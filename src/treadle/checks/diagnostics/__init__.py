"""Parsers of the output of tools: what is wrong, and where."""
