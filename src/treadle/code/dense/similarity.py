"""How like a query the code of candidates is, by vectors."""

import logging
import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from treadle.code.dense.embedder import Embedder, EmbedderError
from treadle.code.dense.making import VectorMaker
from treadle.code.files import content_hash, read_file
from treadle.errors import TreadleError

if TYPE_CHECKING:
    from treadle.code.ranking import Hit

CANDIDATES = 50
"""Of the words' ranking; embedding everything gained 0.005 NDCG@10 (docs/context.md)."""

_CHARACTERS = 1_500
_SEPARATORS = re.compile(r"::|[./]")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_log = logging.getLogger(__name__)


class Compared(NamedTuple):
    """The cosine of candidates with the query by item id, where it is known (yet).

    They are fewer than `wanted` where the time was too short.
    """

    similarities: dict[int, float]
    wanted: int

    @property
    def part(self) -> str:
        """What took part in the search."""
        known = len(self.similarities)
        return "reranked" if known >= self.wanted else f"reranked: {known} of {self.wanted}"


class Dense:
    """What vectors say of candidates. Whatever fails is logged, and the words answer alone."""

    def __init__(
        self,
        root: Path,
        choose: Callable[[], Embedder | None],
        path: Path,
        *,
        patience: float | None,
        monotonic: Callable[[], float],
    ) -> None:
        """`choose` is called at the first query; None from it leaves this part out.

        `patience` is how many seconds a query waits for vectors that are not there yet.
        """
        self._root = root
        self._choose = choose
        self._path = path
        self._patience = patience
        self._monotonic = monotonic
        self._lock = Lock()
        self._maker: tuple[VectorMaker | None] | None = None

    def close(self) -> None:
        """Stop what is being made, and close the cache."""
        with self._lock:
            if self._maker is not None and self._maker[0] is not None:
                self._maker[0].close()

    def compare(self, query: str, hits: "Sequence[Hit]") -> Compared | None:
        """How like the query the first `CANDIDATES` hits are; None if this part is absent.

        Code that is no longer as it was indexed is not compared.
        """
        try:
            maker = self._opened()
            if maker is None:
                return None
            texts = self._texts(hits[:CANDIDATES])
            wanted = [text for text in texts if text is not None]
            vectors = maker.vectors([query, *wanted], self._patience)
        except (EmbedderError, TreadleError, sqlite3.Error, OSError) as error:
            _log.warning("Search goes on without vectors: %s", error)
            return None
        asked = vectors.get(query)
        similarities = {
            hit.item_id: float(vectors[text] @ asked)
            for hit, text in zip(hits, texts, strict=False)
            if asked is not None and text in vectors
        }
        return Compared(similarities, len(wanted))

    def _opened(self) -> VectorMaker | None:
        with self._lock:
            if self._maker is None:
                embedder = self._choose()
                self._maker = (
                    None
                    if embedder is None
                    else VectorMaker(embedder, self._path, self._monotonic),
                )
            return self._maker[0]

    def _texts(self, hits: "Sequence[Hit]") -> list[str | None]:
        """What is embedded of each hit: its names in words, then its code."""
        files: dict[str, bytes | None] = {}
        texts: list[str | None] = []
        for hit in hits:
            if hit.file not in files:
                files[hit.file] = _verified(self._root, hit.file, hit.file_hash)
            data = files[hit.file]
            texts.append(None if data is None else _text(hit, data))
        return texts


def _verified(root: Path, path: str, expected: bytes) -> bytes | None:
    try:
        data, _ = read_file(root, path)
    except OSError:
        return None
    return data if data is not None and content_hash(data) == expected else None


def _text(hit: "Hit", data: bytes) -> str:
    code = data[hit.start_byte : hit.end_byte][:_CHARACTERS].decode("utf-8", "replace")
    names = " ".join(_PARTS.findall(" ".join(_SEPARATORS.split(hit.canonical_path)[-2:])))
    return f"{names.lower()}\n{' '.join(code.split())}"
