"""Similarity by vectors: the static embedding, the vectors of items, and the vector search."""

from pathlib import Path


class EmbeddingError(Exception):
    """An embedding model cannot be read, so searches run without vectors."""


def own_embedding() -> Path:
    """Return the folder of the embedding model that ships with Treadle."""
    return Path(__file__).with_name("embedding")
