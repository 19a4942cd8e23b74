"""Runs parsers of untrusted text in confined processes."""
