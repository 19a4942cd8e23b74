"""The files of a tree: the walk, ignore rules and git's own files."""
