"""Confined processes that parse foreign text."""
