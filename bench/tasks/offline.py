"""Rankings tried on exported signals alone: all tasks of a part in seconds, without an index.

A ranking is a function from a `Query` to scores: of its files, or of its items.

    queries = load(work / "signals" / "tuning")
    print(table([("files by BM25", answers(queries, files=lambda query: query.files["bm25"]))],
                RANKING.items()))
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
from numpy.typing import NDArray

from bench.tasks.answers import Answer, Method, Wording
from bench.tasks.signals import FILE_COLUMNS, ITEM_COLUMNS, KINDS
from treadle.code.model import FUNCTION_KINDS

Column = NDArray[numpy.float32]
Ranking = Callable[["Query"], Column]

_FUNCTIONS = [KINDS.index(kind) for kind in FUNCTION_KINDS]


@dataclass(frozen=True, slots=True)
class Query:
    """One query, with the columns of its candidates."""

    repository: str
    language: str
    task: str
    anchor: str
    wording: Wording
    text: str
    is_long: bool
    asks_for_tests: bool
    gold_files: int
    gold_functions: int
    items: Mapping[str, Column]
    files: Mapping[str, Column]


def load(folder: Path) -> list[Query]:
    """All queries of a part, in the order of repositories and trees."""
    return [query for path in sorted(folder.glob("*.npz")) for query in _read(path)]


def _read(path: Path) -> Iterator[Query]:
    with numpy.load(path) as archive:
        items = {name: archive[f"item_{name}"] for name in ITEM_COLUMNS}
        files = {name: archive[f"file_{name}"] for name in FILE_COLUMNS}
        item_starts, file_starts = archive["item_starts"], archive["file_starts"]
        queries = json.loads(str(archive["queries"]))
    for at, query in enumerate(queries):
        of_items = slice(item_starts[at], item_starts[at + 1])
        of_files = slice(file_starts[at], file_starts[at + 1])
        yield Query(
            repository=path.stem.replace("+", "/", 1), language=query["language"],
            task=query["task"], anchor=query["anchor"], wording=Wording(query["wording"]),
            text=query["query"], is_long=query["is_long"], asks_for_tests=query["asks_for_tests"],
            gold_files=query["gold_files"], gold_functions=query["gold_functions"],
            items={name: column[of_items] for name, column in items.items()},
            files={name: column[of_files] for name, column in files.items()},
        )  # fmt: skip


def by_rank(name: str) -> tuple[Ranking, Ranking]:
    """The product's own order of files and of items, by the column that holds its ranks."""

    def reciprocal(ranks: Column) -> Column:
        return numpy.where(ranks > 0, 1 / numpy.maximum(ranks, 1), 0).astype(numpy.float32)

    return lambda query: reciprocal(query.files[name]), lambda query: reciprocal(query.items[name])


def answers(
    queries: Sequence[Query],
    *,
    files: Ranking | None = None,
    items: Ranking | None = None,
    method: Method = Method.TREADLE,
) -> list[Answer]:
    """Answers as `measures` scores them; a candidate counts only with a score above 0."""
    return [
        Answer(
            task=query.task, repository=query.repository, language=query.language,
            is_long=query.is_long, wording=query.wording, method=method,
            file_ranks=_file_ranks(query, files(query)) if files else (None,) * query.gold_files,
            function_ranks=_function_ranks(query, items(query)) if items else (),
        )
        for query in queries
    ]  # fmt: skip


def _file_ranks(query: Query, scores: Column) -> tuple[int | None, ...]:
    found = _gold_ranks(scores, query.files["gold"] > 0)
    return (*found, *(None,) * (query.gold_files - len(found)))


def _function_ranks(query: Query, scores: Column) -> tuple[int | None, ...]:
    functions = numpy.isin(query.items["kind"], _FUNCTIONS)
    found = _gold_ranks(scores[functions], query.items["gold"][functions] > 0)
    return (*found, *(None,) * (query.gold_functions - len(found)))


def _gold_ranks(scores: Column, gold: NDArray[numpy.bool_]) -> tuple[int, ...]:
    """Ranks from 1 of the right candidates; of equal scores the first candidate comes first."""
    order = numpy.argsort(-scores, kind="stable")
    found = gold[order] & (scores[order] > 0)
    return tuple(int(rank) + 1 for rank in numpy.flatnonzero(found))


def known_answers(queries: Sequence[Query]) -> list[Answer]:
    """The answers of the methods whose rankings were exported."""
    found: list[Answer] = []
    for method, name in (
        (Method.TREADLE, "product_rank"),
        (Method.LEXICAL, "lexical_rank"),
    ):
        files, items = by_rank(name)
        found += answers(queries, files=files, items=items, method=method)
    found += answers(
        queries,
        files=lambda query: query.files["bm25"],
        items=lambda query: query.items["function_bm25"],
        method=Method.BM25,
    )
    return found
