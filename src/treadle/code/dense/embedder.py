"""The static embedding that ships with Treadle."""

from pathlib import Path


class EmbeddingError(Exception):
    """An embedding cannot be read; searches run without it."""


def own_embedding() -> Path:
    """The folder of the embedding."""
    return Path(__file__).with_name("embedding")
