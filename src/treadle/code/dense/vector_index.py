"""The vectors of all items in memory, and the search for the nearest vectors.

The first filter compares only the signs of the components. Vectors with a smaller angle between
them differ in fewer signs, and one operation compares 64 signs. The remaining vectors are compared
exactly.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy

from treadle.code.dense.static_embedding import LENGTH
from treadle.code.dense.vector_tables import read_vectors, sizes_of_vectors, vector_ids
from treadle.code.storage.postings import POSITION_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIEVED = 600
"""The number of items that pass the filter by signs.

Measured on 48,000 items: the 600 items include the 10 nearest items and 48 of the 50 nearest. A
variant counts the signs twice in the half of the dimensions in which the query has the largest
values. This variant finds nearly all of the 50 nearest items, but takes 1.5 times as long.
"""
_COPIED = 16_384
"""The number of vectors that are copied in one step."""
MIN_SIMILARITY = 0.25
"""The minimum cosine of an item that is found only by its vector.

Therefore a query may find no items.

Measured on tuning queries in Python and Go: 0 to 7 % of the wanted functions have a lower cosine,
and so do 91 to 96 % of all functions.
"""


@dataclass(frozen=True, slots=True, eq=False)
class FileVectors:
    """One vector for each file, which covers all items of the file."""

    files: "NDArray[numpy.int64]"
    """File ids in ascending order."""
    rows: "NDArray[numpy.float32]"
    """A matrix of files x dimension. Each row has the length 1."""

    def similarities(
        self, query: "NDArray[numpy.float32]", limit: int, also: Iterable[int]
    ) -> dict[int, float]:
        """Return the cosine similarities of files by id.

        The files are those in `also` and the `limit` nearest files.
        """
        positions = numpy.flatnonzero(numpy.isin(self.files, numpy.fromiter(also, numpy.int64)))
        if limit:
            likeness = numpy.einsum("ij,j->i", self.rows, query)
            order = numpy.argsort(-numpy.round(likeness, 6), kind="stable")[:limit]
            positions = numpy.union1d(order[likeness[order] >= MIN_SIMILARITY], positions)
        likeness = numpy.round(numpy.einsum("ij,j->i", self.rows[positions], query), 6)
        return dict(zip(self.files[positions].tolist(), likeness.tolist(), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class VectorIndex:
    """The vectors of one state of the index. The object never changes."""

    files: dict[int, int]
    """The id of the stored vectors of each file, by file id."""
    items: "NDArray[numpy.int64]"
    """Item ids in ascending order."""
    rows: "NDArray[numpy.int8]"
    """A matrix of items x dimension."""
    signs: "NDArray[numpy.uint64]"
    """A matrix of words x items. Each 64-bit word has the signs of 64 components."""
    _of_files: "list[FileVectors]" = field(default_factory=list)
    """The vectors of files, which are computed at the first use. Before that the list is empty."""

    def of_files(self) -> "FileVectors":
        """Return the vectors of files.

        The vector of a file is the sum of its item vectors, scaled to the length 1.
        """
        if not self._of_files:
            self._of_files.append(_file_vectors(self.items, self.rows))
        return self._of_files[0]

    def nearest(self, query: "NDArray[numpy.float32]", limit: int) -> list[int]:
        """Return the ids of at most `limit` most similar items. Ties are ordered by id."""
        positions = _sieved(self.signs, query, max(limit, SIEVED))
        likeness = self._likeness(positions, query)
        order = numpy.argsort(-likeness, kind="stable")[:limit]
        best = positions[order[likeness[order] >= MIN_SIMILARITY]]
        return [int(item) for item in self.items[best]]

    def similarities(
        self, query: "NDArray[numpy.float32]", items: Sequence[int]
    ) -> dict[int, float]:
        """Return the cosine similarities of items by id. Items without a vector are left out."""
        requested = numpy.array(items, numpy.int64)
        positions = numpy.searchsorted(self.items, requested)
        positions[positions == len(self.items)] = 0
        positions = (
            positions[self.items[positions] == requested] if len(self.items) else positions[:0]
        )
        likeness = self._likeness(positions, query)
        return dict(zip(self.items[positions].tolist(), likeness.tolist(), strict=True))

    def _likeness(
        self, positions: "NDArray[numpy.intp]", query: "NDArray[numpy.float32]"
    ) -> "NDArray[numpy.float32]":
        """Return rounded cosines, so that equal vectors have equal similarities at any position."""
        likeness: NDArray[numpy.float32] = numpy.einsum(
            "ij,j->i", self.rows[positions], query, dtype=numpy.float32, casting="unsafe"
        )
        return numpy.round(likeness / numpy.float32(LENGTH), 6)


def _file_vectors(items: "NDArray[numpy.int64]", rows: "NDArray[numpy.int8]") -> FileVectors:
    """Return the vectors of files.

    Items are ordered by file, since their ids begin with the file id.
    """
    files, starts = numpy.unique(items >> POSITION_BITS, return_index=True)
    if not len(files):
        return FileVectors(files, numpy.zeros((0, rows.shape[1]), numpy.float32))
    sums = numpy.add.reduceat(rows, starts, axis=0, dtype=numpy.int32).astype(numpy.float32)
    lengths = numpy.sqrt(numpy.einsum("ij,ij->i", sums, sums))
    return FileVectors(files, sums / numpy.maximum(lengths, 1)[:, None])


def empty_vector_index(dimension: int) -> VectorIndex:
    """Return the vectors of an empty index."""
    rows = numpy.zeros((0, dimension), numpy.int8)
    return VectorIndex({}, numpy.zeros(0, numpy.int64), rows, signs_of(rows))


def read_vector_index(
    connection: sqlite3.Connection, model: str, before: VectorIndex
) -> VectorIndex:
    """Return the vectors of the current index. Only vectors that are not in `before` are read.

    Each vector is copied directly to its final position, since the vectors of a large index take a
    hundred megabytes.
    """
    files = vector_ids(connection, model)
    if files == before.files:
        return before
    dimension = before.rows.shape[1]
    new = [number for file_id, number in files.items() if before.files.get(file_id) != number]
    removed = [file_id for file_id, number in before.files.items() if files.get(file_id) != number]
    of_files = before.items >> POSITION_BITS
    staying = numpy.flatnonzero(~numpy.isin(of_files, numpy.array(removed, numpy.int64)))
    added = [
        (file_id << POSITION_BITS) + numpy.arange(size // dimension)
        for file_id, size in sizes_of_vectors(connection, new)
    ]
    items = numpy.sort(numpy.concatenate([before.items[staying], *added]), kind="stable")
    rows = numpy.empty((len(items), dimension), numpy.int8)
    signs = numpy.empty((len(before.signs), len(items)), numpy.uint64)
    positions = numpy.searchsorted(items, before.items[staying])
    for start in range(0, len(staying), _COPIED):
        part = slice(start, start + _COPIED)
        rows[positions[part]] = before.rows[staying[part]]
        signs[:, positions[part]] = before.signs[:, staying[part]]
    for file_id, data in read_vectors(connection, new):
        read = numpy.frombuffer(data, numpy.int8).reshape(-1, dimension)
        first = int(numpy.searchsorted(items, file_id << POSITION_BITS))
        rows[first : first + len(read)] = read
        signs[:, first : first + len(read)] = signs_of(read)
    return VectorIndex(files, items, rows, signs)


def signs_of(rows: "NDArray[numpy.int8 | numpy.float32]") -> "NDArray[numpy.uint64]":
    """Return the signs of vectors as a matrix of words x vectors, with 64 signs in a word."""
    padded = numpy.zeros((len(rows), -(-rows.shape[1] // 64) * 8), numpy.uint8)
    packed = numpy.packbits(rows > 0, axis=1)
    padded[:, : packed.shape[1]] = packed
    return numpy.ascontiguousarray(padded.view(numpy.uint64).T)


def _sieved(
    signs: "NDArray[numpy.uint64]", query: "NDArray[numpy.float32]", count: int
) -> "NDArray[numpy.intp]":
    """Return the `count` vectors that have the most signs in common with the query.

    The result has their positions in ascending order. If several vectors tie for the last
    positions, the first of them are returned.
    """
    if signs.shape[1] <= count:
        return numpy.arange(signs.shape[1])
    distances = numpy.zeros(signs.shape[1], numpy.uint16)
    for word, query_word in zip(signs, signs_of(query[None])[:, 0], strict=True):
        distances += numpy.bitwise_count(word ^ query_word)
    up_to = numpy.cumsum(numpy.bincount(distances))
    last = int(numpy.searchsorted(up_to, count))
    nearer = int(up_to[last - 1]) if last else 0
    kept = distances < last
    kept[numpy.flatnonzero(distances == last)[: count - nearer]] = True
    return numpy.flatnonzero(kept)
