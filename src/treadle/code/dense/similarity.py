"""How like a query the code of candidates is, by vectors that are made when first needed."""

import logging
import re
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from treadle.code.dense.embedder import Embedder, EmbedderError
from treadle.code.dense.vectors import VectorStore, text_key
from treadle.code.files import content_hash, read_file
from treadle.errors import TreadleError

if TYPE_CHECKING:
    from treadle.code.dense.embedder import Vectors
    from treadle.code.ranking import Hit

CANDIDATES = 50
"""Of the words' ranking; embedding everything gained 0.005 NDCG@10 (docs/context.md)."""

_CHARACTERS = 800
_KNOWN_QUERIES = 64
_SEPARATORS = re.compile(r"::|[./]")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_log = logging.getLogger(__name__)


class Dense:
    """An embedder with its cache. Whatever fails is logged, and the words answer alone."""

    def __init__(self, root: Path, choose: Callable[[], Embedder | None], path: Path) -> None:
        """`choose` is called at the first query; None from it leaves this part out."""
        self._root = root
        self._choose = choose
        self._chosen: tuple[Embedder | None] | None = None
        self._path = path
        self._lock = Lock()
        self._store: VectorStore | None = None
        self._queries: OrderedDict[str, Vectors] = OrderedDict()

    def close(self) -> None:
        """Close the cache; it opens again when it is used."""
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None

    def similarities(self, query: str, hits: "Sequence[Hit]") -> list[float | None] | None:
        """The cosine of each of the first `CANDIDATES` hits with the query.

        None for one whose file is no longer the one indexed; None in all if the part is absent.
        """
        try:
            embedder = self._embedder()
            if embedder is None:
                return None
            texts = self._texts(hits[:CANDIDATES])
            wanted = self._query_vector(embedder, query)
            vectors = self._vectors(embedder, [text for text in texts if text is not None])
        except (EmbedderError, TreadleError, sqlite3.Error, OSError) as error:
            _log.warning("Search goes on without vectors: %s", error)
            return None
        return [None if text is None else float(vectors[text] @ wanted) for text in texts]

    def _embedder(self) -> Embedder | None:
        with self._lock:
            if self._chosen is None:
                self._chosen = (self._choose(),)
            return self._chosen[0]

    def _query_vector(self, embedder: Embedder, query: str) -> "Vectors":
        with self._lock:
            known = self._queries.get(query)
        if known is None:
            known = embedder.embed([query])[0]
            with self._lock:
                self._queries[query] = known
                while len(self._queries) > _KNOWN_QUERIES:
                    self._queries.popitem(last=False)
        return known

    def _vectors(self, embedder: Embedder, texts: list[str]) -> "dict[str, Vectors]":
        keys = {text: text_key(text) for text in texts}
        store = self._opened()
        found = store.known(embedder.name, keys.values())
        missing = [text for text, key in keys.items() if key not in found]
        if missing:
            made = embedder.embed(missing)
            new = {keys[text]: vector for text, vector in zip(missing, made, strict=True)}
            store.add(embedder.name, new)
            found |= store.known(embedder.name, new)  # as rounded, so that orders repeat
        return {text: found[key] for text, key in keys.items()}

    def _opened(self) -> VectorStore:
        with self._lock:
            if self._store is None:
                self._store = VectorStore(self._path)
            return self._store

    def _texts(self, hits: "Sequence[Hit]") -> list[str | None]:
        """What is embedded of each hit: its names in words, then its code."""
        files: dict[str, bytes | None] = {}
        texts: list[str | None] = []
        for hit in hits:
            if hit.file not in files:
                files[hit.file] = _verified(self._root / hit.file, hit.file_hash)
            data = files[hit.file]
            texts.append(None if data is None else _text(hit, data))
        return texts


def _verified(path: Path, expected: bytes) -> bytes | None:
    try:
        data, _ = read_file(path)
    except OSError:
        return None
    return data if data is not None and content_hash(data) == expected else None


def _text(hit: "Hit", data: bytes) -> str:
    code = data[hit.start_byte : hit.end_byte][:_CHARACTERS].decode("utf-8", "replace")
    names = " ".join(_PARTS.findall(" ".join(_SEPARATORS.split(hit.canonical_path)[-2:])))
    return f"{names.lower()}\n{' '.join(code.split())}"
