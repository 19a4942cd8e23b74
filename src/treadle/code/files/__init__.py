"""The files of a tree: the walk, ignore rules, git's own files, and origins."""
