"""Files of a directory tree: traversal, ignore rules, and git's own files."""
