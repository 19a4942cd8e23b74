"""The request loop, its history, and the saved conversations."""
