"""Builds a context from ranked items: code for a prompt, within a token budget."""
