"""The history of files, as signals for a query."""

import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import chain
from math import log, sqrt
from typing import NamedTuple, Self

from treadle.code.history.tables import Columns, commits_of_terms, term_key

K1 = 1.2
B = 0.75
BY_MESSAGES = 20
"""The maximum number of files that only commit messages find."""
_MAX_COUNTED = 2_500
"""The maximum number of file changes that a query counts, beginning with the rarest terms.

Measured on tasks of 19 tuning repositories: a limit three times as high gave no better results.
With 1,000, the mean reciprocal rank of the wanted file in a ranking by messages fell from 0.310 to
0.285.
"""
_MAX_LOOKED_UP = 100
"""The number of paths with the best scores by messages that are looked up in the index.

This number is larger than `BY_MESSAGES`, since some of the files no longer exist.
"""


class FilePast(NamedTuple):
    """The history of a file.

    `commits` is the number of commits that changed the file. `age` is the number of commits after
    its last change. `messages` is the BM25 score of the query over the messages of these commits.
    `together` is the highest cosine similarity between the commits of this file and the commits of
    one of the best files. A value of 1 means that both files always changed together.
    """

    commits: int
    age: int
    messages: float
    together: float


class History:
    """The history of all files of an index, in memory."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._numbers = columns.numbers
        self._files: dict[int, array[int]] = {}
        """The keys of the files that a commit changed, by the number of the commit."""
        self._ages: dict[int, list[int]] = {}
        """The positions of the commits that changed a file, newest first, by the file's key."""
        lengths: dict[int, int] = {}
        start = 0
        rows = zip(columns.numbers, columns.files, columns.words, strict=True)
        for age, (number, count, words) in enumerate(rows):
            if not count:
                continue
            files = self._files[number] = columns.keys[start : start + count]
            start += count
            for key in files:
                if key in lengths:
                    lengths[key] += words
                    self._ages[key].append(age)
                else:
                    lengths[key] = words
                    self._ages[key] = [age]
        mean = sum(lengths.values()) / max(1, len(lengths)) or 1.0
        self._norms = {
            key: K1 * (1 - B + B * length / mean) for key, length in lengths.items()
        }  # fmt: skip

    @classmethod
    def read(cls, connection: sqlite3.Connection, known: Self | None = None) -> Self:
        """Return the stored history. If it is still equal to `known`, return `known` itself."""
        columns = Columns.read(connection)
        return known if known is not None and known.columns == columns else cls(columns)

    def past_of(
        self,
        connection: sqlite3.Connection,
        terms: Mapping[str, float],
        files: Iterable[int],
        best: Sequence[int],
    ) -> dict[int, FilePast]:
        """Return the history of files, by file id.

        The result has `files`, `best`, and files that only messages find. `terms` are the terms of
        the query with their weights. `together` compares each file with the files `best`. Files
        that no stored commit changed are left out.
        """
        if not self._files:
            return {}
        scores = self._by_messages(connection, terms)
        found = _best(scores, _MAX_LOOKED_UP)
        requested = {*files, *best}
        keys = _keys_of(connection, requested)
        by_messages = _files_of(connection, found)
        together = self._together([keys[file_id] for file_id in best if file_id in keys])
        rest = [
            (file_id, key)
            for key in found
            for file_id in by_messages.get(key, ())
            if file_id not in keys
        ]
        keys.update(rest[:BY_MESSAGES])
        return {
            file_id: FilePast(len(ages), ages[0], scores.get(key, 0.0), together.get(key, 0.0))
            for file_id, key in keys.items()
            if (ages := self._ages.get(key))
        }

    def _by_messages(
        self, connection: sqlite3.Connection, terms: Mapping[str, float]
    ) -> dict[int, float]:
        """Return the BM25 score of the terms for each file, by the key of the file.

        The messages of all commits of a file count as one document.
        """
        weights = {term_key(term): weight for term, weight in terms.items()}
        changed: list[tuple[int, int, list[array[int]]]] = []
        for term, numbers in commits_of_terms(connection, weights).items():
            commits = list(filter(None, map(self._files.get, numbers)))
            changed.append((sum(map(len, commits)), term, commits))
        changed.sort(key=lambda entry: entry[:2])
        scores: dict[int, float] = {}
        norms = self._norms
        counted = 0
        for changes, term, commits in changed:
            counted += changes
            if counted > _MAX_COUNTED and scores:
                break
            counts = Counter(chain.from_iterable(commits))
            rarity = log(1 + (len(norms) - len(counts) + 0.5) / (len(counts) + 0.5))
            weight = weights[term] * rarity * (K1 + 1)
            for key, count in counts.items():
                scores[key] = scores.get(key, 0.0) + weight * count / (count + norms[key])
        return scores

    def _together(self, best: Iterable[int]) -> dict[int, float]:
        """Return the value `FilePast.together` of files, by the key of the file."""
        found: dict[int, float] = {}
        for key in best:
            ages = self._ages.get(key, ())
            counts = Counter(chain.from_iterable(self._files[self._numbers[age]] for age in ages))
            for other, count in counts.items():
                if other != key:
                    likeness = count / sqrt(len(ages) * len(self._ages[other]))
                    found[other] = max(likeness, found.get(other, 0.0))
        return found


def _best(scores: Mapping[int, float], most: int) -> list[int]:
    """Return the `most` keys with the highest scores, best first."""
    least = min(nlargest(most, scores.values()), default=0.0)
    best = [key for key, score in scores.items() if score >= least]
    return sorted(best, key=lambda key: (-scores[key], key))[:most]


def _keys_of(connection: sqlite3.Connection, files: Iterable[int]) -> dict[int, int]:
    """Return the keys of the paths of files, by file id."""
    return dict(
        connection.execute(
            "SELECT id, path_key FROM files WHERE id IN (SELECT value FROM json_each(?))",
            (str(list(files)),),
        ).fetchall()
    )


def _files_of(connection: sqlite3.Connection, keys: Iterable[int]) -> dict[int, list[int]]:
    """Return the files of the index by the keys of their paths. Skipped files are left out."""
    rows = connection.execute(
        "SELECT path_key, id FROM files WHERE path_key IN (SELECT value FROM json_each(?))"
        " AND skipped IS NULL ORDER BY path",
        (str(list(keys)),),
    )
    found: dict[int, list[int]] = {}
    for key, file_id in rows:
        found.setdefault(key, []).append(file_id)
    return found
