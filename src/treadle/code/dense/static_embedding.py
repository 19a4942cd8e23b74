"""The static embedding: the vector of a text is the weighted sum of the vectors of its terms.

The texts are items and queries.

The embedding uses the terms of the index, so no text is read or split twice.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy

from treadle.code.dense import EmbeddingError
from treadle.code.terms import terms_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = 1
LENGTH = 127
"""The length of an item vector, whose components are 8-bit integers."""
_MAX_WEIGHT = 1 << 20
"""The largest weight after the weights of a sum are scaled to integers.

Sums of integers do not depend on the order of addition. Therefore a file has the same vectors on
every machine.
"""
_ROWS_AT_ONCE = 8_192
"""The number of table rows that are read at once. This number limits the memory for one item."""


def saturated(counts: "NDArray[numpy.float32]", unit: float) -> "NDArray[numpy.float32]":
    """Return log(1 + count / unit) for each term count. Each further occurrence adds less."""
    weights: NDArray[numpy.float32] = numpy.log1p(counts / numpy.float32(unit))
    return weights


class StaticEmbedding:
    """A table with a vector and two weights for each term. Several threads may use it at once."""

    def __init__(self, folder: Path) -> None:
        """Open the model in `folder`: `model.json`, `terms.txt`, `table.npy` and `weights.npy`.

        The table (int8, terms x dimension) stays on disk until a row is needed. The weights
        (float32, 2 x terms) have one row for queries and one row for items. They include the scales
        of the table rows.

        Raises `EmbeddingError` if a file is missing, damaged or in another format.
        """
        try:
            model = json.loads((folder / "model.json").read_bytes())
            terms = (folder / "terms.txt").read_text(encoding="utf-8").split()
            self._table = numpy.asarray(numpy.load(folder / "table.npy", mmap_mode="r"))
            weights = numpy.load(folder / "weights.npy")
            self.name = str(model["name"])
            self.dimension = int(model["dimension"])
            self._unit = float(model["unit"])
            is_known_format = model["format"] == FORMAT
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EmbeddingError(f"The embedding in {folder} cannot be read: {error}") from error
        fits = weights.shape == (2, len(terms)) and self._table.shape == (
            len(terms),
            self.dimension,
        )
        if not (is_known_format and fits and self._table.dtype == numpy.int8):
            raise EmbeddingError(f"The embedding in {folder} has an unknown format.")
        self._in_query, self._in_item = weights
        self._row = dict(zip(terms, range(len(terms)), strict=True))

    @classmethod
    @lru_cache(2)
    def load(cls, folder: Path) -> Self:
        """Return the model in `folder`.

        A process opens each model once. Raises `EmbeddingError`.
        """
        return cls(folder)

    def documents(self, items: Sequence[Mapping[str, int]]) -> "NDArray[numpy.int8]":
        """Return the vectors of items, given the weighted counts of their terms.

        The result has a row for each item. The Euclidean length of a row is about `LENGTH`. The
        length is 0 for an item without any term of the table.
        """
        vectors = numpy.zeros((len(items), self.dimension), numpy.int8)
        total = sum(map(len, items))
        rows = self._rows(chain.from_iterable(items), total)
        counts = chain.from_iterable(terms.values() for terms in items)
        weights = saturated(numpy.fromiter(counts, numpy.float32, total), self._unit)
        weights *= self._in_item[rows]
        known = rows >= 0
        ends = numpy.cumsum(known)
        rows, weights = rows[known], weights[known]
        start = 0
        for position, end in enumerate(accumulate(map(len, items))):
            stop = int(ends[end - 1]) if end else 0
            vectors[position] = _rounded(self._sum(rows[start:stop], weights[start:stop]))
            start = stop
        return vectors

    def query(self, text: str) -> "NDArray[numpy.float32]":
        """Return the unit vector of a query, or zeros if the table has no term of the query."""
        terms = sorted(set(terms_in(text)))
        rows = self._rows(terms, len(terms))
        rows = rows[rows >= 0]
        vector = self._sum(rows, self._in_query[rows])
        length = numpy.sqrt(numpy.square(vector).sum())
        return (vector / (length or 1.0)).astype(numpy.float32)

    def _rows(self, terms: Iterable[str], count: int) -> "NDArray[numpy.int32]":
        """Return the rows of terms in the table, with -1 for unknown terms."""
        return numpy.fromiter(map(self._row.get, terms, repeat(-1)), numpy.int32, count)

    def _sum(
        self, rows: "NDArray[numpy.int32]", weights: "NDArray[numpy.float32]"
    ) -> "NDArray[numpy.float64]":
        """Return the weighted sum of rows, up to a factor.

        The sum uses `einsum`, since a BLAS product starts threads, which is slow for small tasks.
        """
        total = numpy.zeros(self.dimension)
        largest = float(numpy.abs(weights).max(initial=0.0))
        if largest > 0:
            integers = numpy.rint(weights.astype(numpy.float64) * (_MAX_WEIGHT / largest))
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                end = start + _ROWS_AT_ONCE
                block = self._table[rows[start:end]].astype(numpy.float64)
                total += numpy.einsum("i,ij->j", integers[start:end], block)
        return total


def _rounded(vector: "NDArray[numpy.float64]") -> "NDArray[numpy.int8]":
    length = numpy.sqrt(numpy.square(vector).sum())
    return numpy.rint(vector * (LENGTH / (length or 1.0))).astype(numpy.int8)
