"""Builds the application: opens the stores, builds the tools, and starts sessions."""
