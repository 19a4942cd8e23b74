"""Ranks the candidates of a task by several signals, with a step function for each signal.

A task is a query that describes a change. The score of a candidate is the sum of the functions of
all signals. `curves.json` contains the functions. `bench.tasks` fits them to the history of
repositories (docs/context.md). Most signals are fractions of the best value in the answer, so that
they mean the same for every query.
"""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import log1p
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, Self

from treadle.code.history.file_history import FilePast
from treadle.code.history.tables import WINDOW
from treadle.code.model import Kind
from treadle.code.retrieval.hits import (
    Candidates,
    Hit,
    Similarities,
    VectorScores,
    WholeFile,
    is_test,
)
from treadle.code.retrieval.query import Question
from treadle.code.terms import terms_of_word

CURVES_FILE = Path(__file__).with_name("curves.json")

Columns = Mapping[str, Sequence[float]]
"""The values of each signal by its name, with one value for each candidate."""


class Curve(NamedTuple):
    """A step function.

    Its value is `values[n]`, where n is the number of `steps` below the argument.

    `steps` are in ascending order.
    """

    steps: tuple[float, ...]
    values: tuple[float, ...]


class Curves(NamedTuple):
    """The curves for one kind of candidate, by the name of the signal."""

    by_signal: Mapping[str, Curve]

    @classmethod
    def read(cls, text: str) -> Mapping[str, Self]:
        """Read the curves for files and items, by the keys `files` and `items`."""
        return {
            kind: cls({name: Curve(*map(tuple, curve)) for name, curve in curves.items()})
            for kind, curves in json.loads(text).items()
        }

    def scores(self, columns: Columns, count: int) -> list[float]:
        """Return a score for each of `count` candidates.

        Only the order of the scores has a meaning.
        """
        totals = [0.0] * count
        for name, (steps, values) in self.by_signal.items():
            totals = [
                total + values[bisect_left(steps, figure)]
                for total, figure in zip(totals, columns[name], strict=True)
            ]
        return totals


@cache
def shipped_curves() -> Mapping[str, Curves]:
    """Return the curves that ship with Treadle, for `files` and for `items`."""
    return Curves.read(CURVES_FILE.read_text("utf-8"))


_KINDS = {kind.value: float(position) for position, kind in enumerate(Kind)}

_FRAMED, _FRAMED_FILE = 2.2, 3.6
"""The maximum amounts that a named code position adds to the scores of its item and its file."""

_SPREAD = 7.0
"""A score that is lower than the best score by this amount becomes 0.

A difference of 1 between two scores of curves multiplies the odds by e. The steepness in
`treadle.code.context.selection` is 7 too, so the order of items in a context follows these odds
exactly.
"""

_NO_PAST = FilePast(0, WINDOW, 0.0, 0.0)

_NEXT_ITEMS = 3

_SIMILARITY = 0.6
"""The weight of similarity in the signal `both`, which combines words and similarity."""


def score_files(found: Candidates, vector_scores: VectorScores) -> dict[int, float]:
    """Return the scores of the candidate files by id.

    A score is between 0 and 1 (see `_share`), plus an amount for positions that the query names.
    The score of a test is reduced if the query does not ask for tests.
    """
    scores = _file_scores(found, vector_scores)
    most = max(scores, default=0.0)
    positions, question = found.positions.files, found.question
    return {
        file.id: (_share(score, most) + _FRAMED_FILE * positions.get(file.id, 0.0))
        * (question.worth.test if _is_unwanted(file, question) else 1.0)
        for file, score in zip(found.files, scores, strict=True)
    }


def score_items(found: Candidates, vector_scores: VectorScores) -> list[float]:
    """Return the scores of the hits, in the order of the hits.

    A score is between 0 and 1 (see `_share`), plus an amount for positions that the query names.
    The score of a test is reduced if the query does not ask for tests.
    """
    columns = item_columns(found, vector_scores, _file_scores(found, vector_scores))
    scores = shipped_curves()["items"].scores(columns, len(found.hits))
    most = max(scores, default=0.0)
    positions, question = found.positions.items, found.question
    return [
        (_share(score, most) + _FRAMED * positions.get(hit.item_id, 0.0))
        * (question.worth.test if hit.is_test and not question.wants_tests else 1.0)
        for hit, score in zip(found.hits, scores, strict=True)
    ]


def _share(score: float, most: float) -> float:
    """Map a score of curves, which may be negative, to the range from 0 to 1 (the best score)."""
    return max(0.0, 1.0 + (score - most) / _SPREAD)


def _file_scores(found: Candidates, vector_scores: VectorScores) -> list[float]:
    return shipped_curves()["files"].scores(file_columns(found, vector_scores), len(found.files))


def file_columns(found: Candidates, vector_scores: VectorScores) -> dict[str, list[float]]:
    """Return the signals of the candidate files, in the order of the files."""
    files, question, own = found.files, found.question, vector_scores.own or {}
    both = _both(found.hits, own)
    similar = [own.get(hit.item_id, 0.0) * hit.worth for hit in found.hits]
    columns: dict[str, list[float]] = {"whole": _shares([file.score for file in files])}
    by_file: dict[int, list[int]] = {file.id: [] for file in files}
    for at, hit in enumerate(found.hits):
        by_file[hit.file_id].append(at)
    indices = list(by_file.values())
    for name, scores in (
        ("words", [hit.score for hit in found.hits]), ("similarity", similar), ("both", both),
    ):  # fmt: skip
        best, following = _best_of_each(indices, scores)
        columns[name], columns[f"more_{name}"] = _shares(best), _shares(following)
    coverage = [hit.coverage for hit in found.hits]
    columns["coverage"] = [
        max((coverage[at] for at in of_file), default=0.0) for of_file in indices
    ]
    whole_similar = vector_scores.files or {}
    columns["whole_similarity"] = _shares([whole_similar.get(file.id, 0.0) for file in files])
    name_shares = _NameShares(question.terms)
    paths = [_path_shares(file.path, name_shares) for file in files]
    for position, name in enumerate(("stem", "folder", "folders")):
        columns[name] = [shares[position] for shares in paths]
    columns["test"] = [float(_is_unwanted(file, question)) for file in files]
    columns["defines"] = [found.defining.get(file.id, 0.0) for file in files]
    columns["text"] = [float(file.is_text) for file in files]
    columns["lines"] = [log1p(file.lines) for file in files]
    columns["items"] = [log1p(file.items) for file in files]
    return columns | _past_columns(found)


def _is_unwanted(file: WholeFile, question: Question) -> bool:
    """Whether a file is test code and the query does not ask for tests."""
    return not question.wants_tests and is_test(file.path)


def _past_columns(found: Candidates) -> dict[str, list[float]]:
    """Return the signals of the git history for the candidate files."""
    known = found.past or {}
    past = [known.get(file.id, _NO_PAST) for file in found.files]
    return {
        "commits": [log1p(one.commits) for one in past],
        "age": [log1p(one.age) for one in past],
        "messages": _shares([one.messages for one in past]),
        "together": [one.together for one in past],
    }


def item_columns(
    found: Candidates, vector_scores: VectorScores, file_scores: Sequence[float]
) -> dict[str, list[float]]:
    """Return the signals of the hits, in the order of the hits.

    `file_scores` are the scores of the files.
    """
    hits = found.hits
    both = _both(hits, vector_scores.own or {})
    whole = dict(
        zip([file.id for file in found.files], _shares([f.score for f in found.files]), strict=True)
    )
    sizes = {file.id: log1p(file.items) for file in found.files}
    of_files = distance_behind_best(file_scores)
    position = {file.id: at for at, file in enumerate(found.files)}
    unwanted = not found.question.wants_tests
    return {
        "words": _shares([hit.score for hit in hits]),
        "coverage": [hit.coverage for hit in hits],
        "both": both,
        "place_in_file": _ranks_in_file(hits, both),
        **{
            name: [figures[position[hit.file_id]] for hit in hits]
            for name, figures in of_files.items()
        },
        "whole": [whole.get(hit.file_id, 0.0) for hit in hits],
        "items_in_file": [sizes.get(hit.file_id, 0.0) for hit in hits],
        "lines": [log1p(hit.end_line - hit.start_line + 1) for hit in hits],
        "kind": [_KINDS[hit.kind] for hit in hits],
        "test": [float(unwanted and hit.is_test) for hit in hits],
    }


def distance_behind_best(scores: Sequence[float]) -> dict[str, list[float]]:
    """Return how far each file is behind the best file, by score and by rank."""
    most = max(scores, default=0.0)
    ranks = [0.0] * len(scores)
    for rank, at in enumerate(sorted(range(len(scores)), key=lambda at: -scores[at])):
        ranks[at] = float(rank)
    return {"file": [score - most for score in scores], "file_rank": ranks}


def _both(hits: Sequence[Hit], own: Similarities) -> list[float]:
    words = _shares([hit.score for hit in hits])
    similar = _shares([hit.worth * own.get(hit.item_id, 0.0) for hit in hits])
    part = _SIMILARITY if own else 0.0
    return _shares([(1 - part) * one + part * two for one, two in zip(words, similar, strict=True)])


def _shares(scores: Sequence[float]) -> list[float]:
    most = max(scores, default=0.0)
    if most <= 0:
        return [0.0] * len(scores)
    return [score / most if score > 0 else 0.0 for score in scores]


def _best_of_each(
    indices: Iterable[Sequence[int]], scores: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return the best score of each file, and the sum of its next scores.

    `indices` has the positions of the items of each file.
    """
    best: list[float] = []
    following: list[float] = []
    for of_file in indices:
        if len(of_file) > 1:
            first, *rest = sorted([scores[at] for at in of_file], reverse=True)[: 1 + _NEXT_ITEMS]
            best.append(first)
            following.append(sum(rest))
        else:
            best.append(scores[of_file[0]] if of_file else 0.0)
            following.append(0.0)
    return best, following


def _ranks_in_file(hits: Sequence[Hit], scores: Sequence[float]) -> list[float]:
    """Return, for each item, how many items of its file have a better score."""
    indices = [0.0] * len(hits)
    seen: dict[int, int] = defaultdict(int)
    for at, _ in sorted(enumerate(scores), key=itemgetter(1), reverse=True):
        indices[at] = float(seen[hits[at].file_id])
        seen[hits[at].file_id] += 1
    return indices


def _path_shares(path: str, name_shares: "_NameShares") -> tuple[float, float, float]:
    """Return how well a path matches the query.

    The first value is the share of the terms of the file name that the query contains. The second
    value is the same share for the folder of the file. The third value is the number of folders on
    the path with a share of more than one half.
    """
    *folders, name = path.split("/")
    shares = [name_shares[folder] for folder in folders]
    return (
        name_shares[name.partition(".")[0]],
        shares[-1] if shares else 0.0,
        float(sum(share > 0.5 for share in shares)),
    )


class _NameShares(dict[str, float]):
    """A cache that maps a name to the share of its terms that the query contains, by weight."""

    def __init__(self, requested: Mapping[str, float]) -> None:
        super().__init__()
        self._weights = requested

    def __missing__(self, text: str) -> float:
        terms = terms_of_word(text)
        terms = terms[:-1] or terms
        name_shares = sum([self._weights.get(term, 0.0) for term in terms])
        self[text] = share = name_shares / len(terms) if terms else 0.0
        return share
