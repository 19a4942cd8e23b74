"""The fields of an item, weighed and normalised into one count for each term (as BM25F does).

What a field adds is known when the item is indexed, so that a query reads one number per term.
"""

from collections import Counter
from typing import NamedTuple

from treadle.code.model import Item, Kind
from treadle.code.terms import count_terms

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
    """The terms of an item, each with its count times `SCALE`; `body` is all of its own text."""
    folder, _, file_name = path.rpartition("/")
    fields = [(STEM, file_name.partition(".")[0]), (FOLDER, folder), (BODY, body)]
    if item.kind is not Kind.CHUNK:
        fields += [
            (NAME, item.name), (OWNER, owner), (PATH, item.canonical_path),
            (SIGNATURE, signature), (DOC, item.doc),
        ]  # fmt: skip
    sums: dict[str, float] = {}
    for field, text in fields:
        counts = Counter[str]()
        count_terms(text, counts)
        value = SCALE * field.value(counts.total())
        for term, count in counts.items():
            sums[term] = sums.get(term, 0.0) + value * count
    return {term: max(1, round(value)) for term, value in sums.items()}
