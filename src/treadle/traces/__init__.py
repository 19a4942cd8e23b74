"""Spans: how they are made from events, kept and read."""
