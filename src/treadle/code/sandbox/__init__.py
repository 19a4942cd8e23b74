"""Runs parsers of foreign text in confined processes."""
