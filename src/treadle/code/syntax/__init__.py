"""Syntax errors of files."""
