"""The methods that are compared: each gives the places of code that it finds, best first."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

from bench.retrieval.dataset import FUNCTIONS, Function
from treadle.code import CodeIndex, View
from treadle.code.parse import parse_file

_WORD = re.compile(r"\w+")
_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Place:
    """A range of a file; `name` is empty for a piece that is no definition."""

    file: str
    start: int
    end: int
    name: str = ""

    def holds(self, answer: Function) -> bool:
        """Whether this is the function asked for; a nameless piece need only hold its start."""
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


class PlainText:
    """All functions as plain words, for the methods that know nothing of code."""

    def __init__(self, root: Path) -> None:
        self._places: list[Place] = []
        self._texts: list[str] = []
        for path in sorted(root.rglob("*")):
            if not path.is_file():
                continue
            file = path.relative_to(root).as_posix()
            data = path.read_bytes()
            for item in (indexed.item for indexed in parse_file(root, file).items):
                if item.kind in FUNCTIONS:
                    place = Place(file, item.start_byte, item.end_byte, item.name)
                    self._places.append(place)
                    code = data[item.start_byte : item.end_byte]
                    self._texts.append(code.decode("utf-8", "replace").lower())
        self._postings: dict[str, dict[int, int]] = defaultdict(dict)
        self._lengths: list[int] = []
        for number, text in enumerate(self._texts):
            words = Counter(_WORD.findall(text))
            self._lengths.append(words.total())
            for word, count in words.items():
                self._postings[word][number] = count

    def bm25(self, query: str) -> list[Place]:
        """BM25 with its usual k1 1.2 and b 0.75 over words as they stand."""
        mean = sum(self._lengths) / len(self._lengths)
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(_WORD.findall(query.lower())):
            found = self._postings.get(word, {})
            rarity = log(1 + (len(self._texts) - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found.items():
                norm = 1.2 * (0.25 + 0.75 * self._lengths[number] / mean)
                scores[number] += rarity * 2.2 * count / (count + norm)
        return self._best(scores)

    def keyword_count(self, query: str) -> list[Place]:
        """As with ripgrep: how many of the words (from 4 letters) occur, then how often."""
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
