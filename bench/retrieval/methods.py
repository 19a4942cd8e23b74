"""The compared methods: each returns locations of code, best first."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy

from bench.retrieval.dataset import FUNCTIONS, Function
from treadle.code import CodeIndex, View
from treadle.code.dense.static_embedding import StaticEmbedding
from treadle.code.parse.file import parse_file
from treadle.code.terms import terms_in

_WORD = re.compile(r"\w+")
_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Place:
    """A range of a file; `name` is empty for a range that is not a definition."""

    file: str
    start: int
    end: int
    name: str = ""

    def holds(self, answer: Function) -> bool:
        """Whether this is the expected function; an unnamed range only has to contain its start."""
        inside = self.file == answer.file and self.start <= answer.at < self.end
        return inside and self.name in ("", answer.name)


Method = Callable[[str], Sequence[Place]]


def treadle_items(index: CodeIndex) -> Method:
    """The functions that the product finds, in its order."""

    def search(query: str) -> list[Place]:
        found = index.search(query, top_k=_DEPTH).results
        return [
            Place(hit.file, hit.start_byte, hit.end_byte, hit.name)
            for hit in found
            if hit.kind in FUNCTIONS
        ]

    return search


def treadle_files(index: CodeIndex) -> Method:
    """The files that the product finds."""

    def search(query: str) -> list[Place]:
        found = index.search(query, top_k=10, view=View.FILES).results
        return [Place(hit.file, 0, hit.end_byte) for hit in found]

    return search


class Bm25:
    """BM25 over bags of words, which represent locations."""

    def __init__(self, bags: Sequence[Counter[str]], k1: float, b: float) -> None:
        self._k1 = k1
        self._postings: dict[str, dict[int, int]] = defaultdict(dict)
        for number, bag in enumerate(bags):
            for word, count in bag.items():
                self._postings[word][number] = count
        lengths = [bag.total() for bag in bags]
        mean = sum(lengths) / len(lengths)
        self._norms = [k1 * (1 - b + b * length / mean) for length in lengths]

    def scores(self, words: Sequence[str]) -> dict[int, float]:
        """The score of each bag that has one of the words, by its number."""
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words):
            found = self._postings.get(word, {})
            rarity = log(1 + (len(self._norms) - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found.items():
                scores[number] += rarity * (self._k1 + 1) * count / (count + self._norms[number])
        return scores


class Functions:
    """All functions, for the methods that know little about code."""

    def __init__(self, root: Path) -> None:
        self._places: list[Place] = []
        self._texts: list[str] = []
        self._weighted: list[dict[str, int]] = []
        fields: list[Counter[str]] = []
        for path in sorted(root.rglob("*")):
            if not path.is_file():
                continue
            file = path.relative_to(root).as_posix()
            data = path.read_bytes()
            for item, weighted in parse_file(root, file).items:
                if item.kind in FUNCTIONS:
                    self._weighted.append(weighted)
                    place = Place(file, item.start_byte, item.end_byte, item.name)
                    self._places.append(place)
                    code = data[item.start_byte : item.end_byte].decode("utf-8", "replace")
                    self._texts.append(code.lower())
                    stem = path.name.partition(".")[0]
                    whole = f"{file.rpartition('.')[0]} {item.canonical_path} {code}"
                    fields.append(Counter(terms_in(whole) + 3 * terms_in(item.name)))
                    fields[-1].update(2 * terms_in(stem))
        self._plain = Bm25([Counter(_WORD.findall(text)) for text in self._texts], 1.2, 0.75)
        self._fielded = Bm25(fields, 2.0, 0.75)

    def alike(self, model: StaticEmbedding) -> Method:
        """By the vectors of Treadle's embedding alone, compared exactly."""
        rows = model.documents(self._weighted).astype(numpy.float32)
        rows /= numpy.maximum(numpy.linalg.norm(rows, axis=1, keepdims=True), 1e-6)

        def search(query: str) -> list[Place]:
            likeness = rows @ model.query(query)
            order = numpy.argsort(-likeness, kind="stable")[:_DEPTH]
            return [self._places[number] for number in order.tolist()]

        return search

    def plain(self, query: str) -> list[Place]:
        """BM25 with its default k1 1.2 and b 0.75 over unchanged words."""
        return self._best(self._plain.scores(_WORD.findall(query.lower())))

    def fielded(self, query: str) -> list[Place]:
        """BM25 over identifiers split and whole, stemmed, with paths; names count more."""
        return self._best(self._fielded.scores(terms_in(query)))

    def keyword_count(self, query: str) -> list[Place]:
        """Like ripgrep: how many of the words (from 4 letters) occur, then how often."""
        words = {word for word in _WORD.findall(query.lower()) if len(word) > 3}
        scores: dict[int, float] = {}
        for number, text in enumerate(self._texts):
            counts = [count for word in words if (count := text.count(word))]
            if counts:
                scores[number] = 10_000 * len(counts) + min(sum(counts), 9_999)
        return self._best(scores)

    def _best(self, scores: dict[int, float]) -> list[Place]:
        best = sorted(scores, key=lambda number: (-scores[number], number))
        return [self._places[number] for number in best[:_DEPTH]]
