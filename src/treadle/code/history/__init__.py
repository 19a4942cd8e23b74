"""Git history as a signal: how often files change, with which messages, and together."""
