"""Commit messages in the style of a repository, and commits of exactly the approved changes."""
