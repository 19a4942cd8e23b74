"""Similarity by vectors: the static embedding, the vectors of items, and their search."""

from pathlib import Path


class EmbeddingError(Exception):
    """An embedding cannot be read; searches run without it."""


def own_embedding() -> Path:
    """The folder of the embedding that ships with Treadle."""
    return Path(__file__).with_name("embedding")
