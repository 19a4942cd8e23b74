"""Finds the syntax errors that a change adds to a file."""
