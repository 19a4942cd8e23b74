"""Vectors beside words: embedders, their store, and the order that they give to candidates."""
