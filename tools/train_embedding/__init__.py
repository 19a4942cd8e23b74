"""Trains the embedding of code that ships with Treadle, from registry packages only."""
