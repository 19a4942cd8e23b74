"""The index on disk: its store, its writer, and its updates."""
