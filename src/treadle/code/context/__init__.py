"""Builds a context within a token budget from ranked items."""
