"""Reviews of changes: what a change touches, and findings about it."""
