"""The files of a tree: the walk, ignore rules, and the files of git itself."""
