"""Similarity by vectors: the static embedding, the vectors of items, and the vector search."""

from pathlib import Path


class EmbeddingError(Exception):
    """An embedding cannot be read. Searches run without it."""


def own_embedding() -> Path:
    """Return the folder of the embedding that ships with Treadle."""
    return Path(__file__).with_name("embedding")
