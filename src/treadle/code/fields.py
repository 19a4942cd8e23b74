"""The fields of an item, weighed and normalised into one count for each term (as BM25F does).

What a field adds is known when the item is indexed, so that a query reads one number per term.
"""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from treadle.code.model import Item, Kind
from treadle.code.terms import term_counts

SCALE = 32
"""Counts are kept as whole numbers of this fraction."""


class Field(NamedTuple):
    """How much one occurrence counts, in a field of the usual length (in terms).

    `normalised` is the `b` of BM25: from 0, where the length does not matter, to 1. Weights and
    `normalised` are those that did best on the tuning queries of bench/retrieval; the lengths are
    the means of its corpora.
    """

    weight: float
    normalised: float
    usual_length: float

    def value(self, length: int) -> float:
        """What one occurrence adds in a field of `length` terms."""
        return self.weight / (1 - self.normalised + self.normalised * length / self.usual_length)


NAME = Field(4.0, 0.9, 3.2)
OWNER = Field(1.0, 0.5, 1.5)
PATH = Field(0.5, 0.5, 10.0)
STEM = Field(2.8, 0.5, 2.0)
FOLDER = Field(0.5, 0.5, 5.0)
SIGNATURE = Field(1.0, 0.75, 11.0)
DOC = Field(1.0, 0.75, 15.0)
BODY = Field(0.5, 0.9, 60.0)


def weighted_terms(path: str, item: Item, owner: str, signature: str, body: str) -> dict[str, int]:
    """The terms of an item, each with its count times `SCALE`; `body` is all of its own text.

    Most terms are in the body alone and are weighed together; those of other fields one by one.
    """
    in_body = term_counts(body)
    body_value = SCALE * BODY.value(in_body.total())
    sums = dict(_of_file(path))
    for term in sums:
        sums[term] += body_value * in_body.get(term, 0)
    for field, counts in _own_fields(item, owner, signature):
        value = SCALE * field.value(counts.total())
        for term, count in counts.items():
            before = sums.get(term)
            if before is None:
                before = body_value * in_body.get(term, 0)
            sums[term] = before + value * count
    weighed = dict(zip(in_body, map(round, map(body_value.__mul__, in_body.values())), strict=True))
    weighed.update(zip(sums, map(round, sums.values()), strict=True))
    if 0 in weighed.values():
        return {term: weight or 1 for term, weight in weighed.items()}
    return weighed


def _own_fields(item: Item, owner: str, signature: str) -> Iterator[tuple[Field, Counter[str]]]:
    """What a definition has besides its file and its body; a chunk has nothing else."""
    if item.kind is not Kind.CHUNK:
        yield NAME, term_counts(item.name)
        yield OWNER, _owner_counts(owner)
        yield PATH, term_counts(item.canonical_path)
        yield SIGNATURE, term_counts(signature)
        yield DOC, term_counts(item.doc)


@lru_cache(1_000)
def _owner_counts(owner: str) -> Counter[str]:
    return term_counts(owner)


@lru_cache(1)
def _of_file(path: str) -> dict[str, float]:
    """What all items of a file have in common."""
    folder, _, name = path.rpartition("/")
    sums: dict[str, float] = {}
    for field, text in ((STEM, name.partition(".")[0]), (FOLDER, folder)):
        counts = term_counts(text)
        value = SCALE * field.value(counts.total())
        for term, count in counts.items():
            sums[term] = sums.get(term, 0.0) + value * count
    return sums
