"""The fields of an item, whose terms are combined into one weighted count for each term (BM25F).

The weights are applied when an item is indexed, so that a query reads one number per term.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from treadle.code.model import Item, Kind
from treadle.code.storage.postings import SCALE
from treadle.code.terms import terms_in


class Field(NamedTuple):
    """The weight of the terms in one field of an item, such as its name.

    `weight` is the value of one occurrence of a term in a field of `usual_length` terms.
    `normalised` is the `b` of BM25. At 0 the length has no effect. The weights and the values of
    `normalised` are the best ones on the tuning queries of bench/retrieval. The lengths are means
    over the corpora of this benchmark.
    """

    weight: float
    normalised: float
    usual_length: float

    def value(self, length: int) -> float:
        """Return the value of one occurrence in a field of `length` terms."""
        return self.weight / (1 - self.normalised + self.normalised * length / self.usual_length)


NAME = Field(4.0, 0.9, 3.2)
OWNER = Field(1.0, 0.5, 1.5)
PATH = Field(0.5, 0.5, 10.0)
STEM = Field(2.8, 0.5, 2.0)
FOLDER = Field(0.5, 0.5, 5.0)
SIGNATURE = Field(1.0, 0.75, 11.0)
DOC = Field(1.0, 0.75, 15.0)
BODY = Field(0.5, 0.9, 60.0)
OWNER_DOC = Field(0.4, 0.75, 15.0)
"""The doc comment of a method's type, which states a purpose that the method seldom states.

With this field, NDCG@10 rose by 0.009 over 1,500 tuning queries in five languages (Rust 0.03,
Python 0.00).
"""
FILE = Field(1.0, 0.75, 900.0)
"""The whole text of a file."""
_OWNER_DOC_CHARACTERS = 200
"""The maximum number of characters that `OWNER_DOC` takes from a doc comment.

With more characters the index grew, but the results did not improve.
"""


class Owner(NamedTuple):
    """The name of the enclosing item, and the doc comment of the type of that name."""

    name: str
    doc: str


def weighted_terms(
    path: str, item: Item, owner: Owner, signature: str, body: str
) -> dict[str, int]:
    """Return the terms of an item, each with its weighted count times `SCALE`.

    `body` is the text of the item. Most terms occur only in the body, with few different counts.
    Therefore the weight of each different count is computed only once.
    """
    in_body = Counter(terms_in(body))
    body_value = SCALE * BODY.value(in_body.total())
    sums = dict(_of_file(path))
    for term in sums:
        sums[term] += body_value * in_body.pop(term, 0)
    for field, terms in _own_fields(item, owner, signature):
        value = SCALE * field.value(len(terms))
        for term in terms:
            if term in sums:
                sums[term] += value
            else:
                sums[term] = body_value * in_body.pop(term, 0) + value
    weights = {count: round(body_value * count) or 1 for count in set(in_body.values())}
    weighed = dict(zip(in_body, map(weights.__getitem__, in_body.values()), strict=True))
    for term, total in sums.items():
        weighed[term] = round(total) or 1
    return weighed


def weighted_file_terms(text: str) -> dict[str, int]:
    """Return the terms of a whole file, each with its weighted count times `SCALE`."""
    counts = Counter(terms_in(text))
    value = SCALE * FILE.value(counts.total())
    weights = {count: round(value * count) or 1 for count in set(counts.values())}
    return dict(zip(counts, map(weights.__getitem__, counts.values()), strict=True))


def _own_fields(item: Item, owner: Owner, signature: str) -> Iterator[tuple[Field, Sequence[str]]]:
    """Yield the fields of a definition, except its file and its body. A chunk has no fields."""
    if item.kind is not Kind.CHUNK:
        yield NAME, terms_in(item.name)
        yield OWNER, _owner_terms(owner.name)
        yield OWNER_DOC, _owner_terms(owner.doc[:_OWNER_DOC_CHARACTERS])
        yield PATH, terms_in(item.canonical_path)
        yield SIGNATURE, terms_in(signature)
        yield DOC, terms_in(item.doc)


@lru_cache(1_000)
def _owner_terms(text: str) -> Sequence[str]:
    return terms_in(text)


@lru_cache(1)
def _of_file(path: str) -> dict[str, float]:
    """Return the weighted counts of the terms in the path, which all items of a file share."""
    folder, _, name = path.rpartition("/")
    sums: dict[str, float] = {}
    for field, text in ((STEM, name.partition(".")[0]), (FOLDER, folder)):
        terms = terms_in(text)
        value = SCALE * field.value(len(terms))
        for term in terms:
            sums[term] = sums.get(term, 0.0) + value
    return sums
