"""Items of a file as edits name them."""
