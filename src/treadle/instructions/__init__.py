"""The instructions that a model gets: the person's own file, and the files of the repository."""
