"""The view of a transcript, which renders only the visible items."""
