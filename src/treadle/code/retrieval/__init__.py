"""Finds and ranks items and files for a query."""
