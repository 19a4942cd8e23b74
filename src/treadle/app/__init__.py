"""Composition: opens the stores, builds the registry and starts sessions for every front end."""
