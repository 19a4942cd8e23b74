"""Trains the embedding of code that ships with Treadle, from packages of the registries alone."""
