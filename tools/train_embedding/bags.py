"""Many bags of terms as one sparse matrix, in arrays that fit a million functions."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tools.train_embedding.examples import Example
from treadle.code.dense.static_embedding import saturated
from treadle.code.terms import terms_in

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_AT_ONCE = 64
"""Bags that are summed together: their data fits a processor's cache."""


@dataclass(frozen=True, slots=True)
class Bags:
    """Bag `i` has the terms `terms[starts[i]:starts[i + 1]]`, each with its value."""

    starts: Ints
    terms: NDArray[np.int32]
    values: Floats

    def __len__(self) -> int:
        return len(self.starts) - 1

    def sizes(self) -> Ints:
        """The number of terms of each bag."""
        return np.diff(self.starts)

    def taken(self, chosen: Ints) -> "Bags":
        """The chosen bags."""
        sizes = self.sizes()[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], sizes)
        return Bags(starts, self.terms[places], self.values[places])

    def weighed(self, weights: Floats) -> "Bags":
        """The same with each value times the weight of its term."""
        return Bags(self.starts, self.terms, self.values * weights[self.terms])

    def turned(self, width: int) -> "Bags":
        """A bag for each of `width` terms: the bags that have it, with its values there."""
        order = np.argsort(self.terms, kind="stable")
        inside = np.repeat(np.arange(len(self), dtype=np.int32), self.sizes())
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.terms, minlength=width))])
        return Bags(starts, inside[order], self.values[order])

    def sums(self, vectors: Floats) -> Floats:
        """For each bag the sum of the vectors of its terms, times their values."""
        sums = np.zeros((len(self), vectors.shape[1]), np.float32)
        sizes = self.sizes()
        for first in range(0, len(self), _AT_ONCE):
            filled = first + np.flatnonzero(sizes[first : first + _AT_ONCE])
            if len(filled):
                begin, end = self.starts[filled[0]], self.starts[filled[-1] + 1]
                rows = vectors[self.terms[begin:end]] * self.values[begin:end, None]
                sums[filled] = np.add.reduceat(rows, self.starts[filled] - begin, axis=0)
        return sums

    def renumbered(self, numbers: Ints) -> "Bags":
        """The same with other term numbers; terms with -1 are left out."""
        terms = numbers[self.terms]
        kept = terms >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        return Bags(before[self.starts], terms[kept].astype(np.int32), self.values[kept])


class _Collected:
    """Bags while they are read."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self._numbers = numbers
        self._starts = array("q", [0])
        self._terms = array("i")
        self._values = array("f")

    def add(self, bag: Mapping[str, float]) -> None:
        numbers = self._numbers
        self._terms.extend(numbers.setdefault(term, len(numbers)) for term in bag)
        self._values.extend(bag.values())
        self._starts.append(len(self._terms))

    def bags(self) -> Bags:
        return Bags(
            np.frombuffer(self._starts, np.int64),
            np.frombuffer(self._terms, np.int32),
            np.frombuffer(self._values, np.float32),
        )


@dataclass(frozen=True, slots=True)
class Pairs:
    """Sentences and their functions, in the order of packages and files.

    `documents` has the saturated counts of the terms of each function, `queries` a one for each
    term of its sentence. `vocabulary` are the terms by number, `rarity` the initial weight of each
    (the logarithm of how few functions have it, 1 on average).
    """

    vocabulary: tuple[str, ...]
    rarity: Floats
    documents: Bags
    queries: Bags


def collect(examples: Iterable[Example], most_terms: int, unit: float) -> Pairs:
    """The documented functions of `examples`, with the terms that most functions have.

    A term of a sentence counts as three functions: words of questions are worth a row. Functions
    without a sentence only contribute to the rarity of terms.
    """
    numbers: dict[str, int] = {}
    documents, queries = _Collected(numbers), _Collected(numbers)
    functions: Counter[int] = Counter()
    count = 0
    for example in examples:
        count += 1
        asked = dict.fromkeys(terms_in(example.query), 1.0)
        if len(asked) > 1:
            documents.add(example.terms)
            queries.add(asked)
        functions.update(numbers.setdefault(term, len(numbers)) for term in example.terms)
    having = np.zeros(len(numbers), np.int64)
    having[list(functions)] = list(functions.values())
    return _reduced(
        list(numbers), having, count, documents.bags(), queries.bags(), most_terms, unit
    )


def _reduced(
    terms: Sequence[str], having: Ints, functions: int, documents: Bags, queries: Bags,
    most_terms: int, unit: float,
) -> Pairs:  # fmt: skip
    asked = np.bincount(queries.terms, minlength=len(terms))
    kept = np.argsort(-(having + 3 * asked), kind="stable")[:most_terms]
    numbers = np.full(len(terms), -1, np.int64)
    numbers[kept] = np.arange(len(kept))
    rarity = np.log(1 + functions / (having[kept] + 1))
    counted = documents.renumbered(numbers)
    return Pairs(
        tuple(terms[term] for term in kept),
        (rarity / rarity.mean()).astype(np.float32),
        Bags(counted.starts, counted.terms, saturated(counted.values, unit)),
        queries.renumbered(numbers),
    )
