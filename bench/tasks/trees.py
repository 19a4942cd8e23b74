"""The trees that tasks are searched in: their indexes, and their texts for simpler methods."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.retrieval.methods import Bm25
from bench.tasks.repositories import Repository
from bench.tasks.task_set import Task, tree_path
from treadle.code import CodeIndex
from treadle.code.dense import own_embedding
from treadle.code.languages import Language, language_of
from treadle.code.model import FUNCTION_KINDS
from treadle.code.storage.store import Store, store_path
from treadle.code.terms import terms_in

FunctionKey = tuple[str, int]
"""A function by its file and its first byte."""


def by_anchor(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    """Tasks that are searched in the same tree."""
    found: dict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        found[task.anchor].append(task)
    return found


def cache_path(work: Path) -> Path:
    return work / "cache"


@contextmanager
def opened(
    work: Path, repository: Repository, anchor: str, *, dense: bool = True
) -> Iterator[CodeIndex]:
    """The index of an anchor's tree, built if needed."""
    with CodeIndex.open(
        tree_path(work, repository, anchor),
        cache_dir=cache_path(work),
        static=own_embedding if dense else None,
        patience=None,
        history=lambda: True,
    ) as index:
        if dense:
            index.refresh()
            index.complete_history()
        yield index


def functions_by_file(root: Path, cache: Path) -> dict[str, list[tuple[str, int, int]]]:
    """The functions of each indexed file: canonical path, first byte, and the end."""
    store = Store(store_path(cache, root.resolve()))
    try:
        with store.reading() as connection:
            rows = connection.execute(
                "SELECT f.path, i.kind, i.canonical_path, i.start_byte, i.end_byte"
                " FROM files AS f LEFT JOIN items AS i ON i.file_id = f.id"
                " WHERE f.skipped IS NULL ORDER BY f.path, i.id"
            ).fetchall()
    finally:
        store.close()
    found: dict[str, list[tuple[str, int, int]]] = {}
    for path, kind, *function in rows:
        functions = found.setdefault(os.fsdecode(path), [])
        if kind in FUNCTION_KINDS:
            canonical_path, start, end = function
            functions.append((canonical_path, start, end))
    return found


class Texts:
    """The source files of a tree and their functions, as bags of terms."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.files: list[str] = []
        self.functions: list[FunctionKey] = []
        bags: list[Counter[str]] = []
        function_bags: list[Counter[str]] = []
        for path, functions in functions_by_file(root, cache).items():
            data = (root / path).read_bytes()
            if not isinstance(language_of(path, data), Language):
                continue
            self.files.append(path)
            bags.append(Counter(terms_in(f"{path}\n{data.decode('utf-8', 'replace')}")))
            for canonical_path, start, end in functions:
                self.functions.append((path, start))
                code = data[start:end].decode("utf-8", "replace")
                function_bags.append(Counter(terms_in(f"{canonical_path}\n{code}")))
        self._bags = bags
        self._of_files = Bm25(bags, 1.2, 0.75) if bags else None
        self._of_functions = Bm25(function_bags, 1.2, 0.75) if function_bags else None

    def file_scores(self, query: str) -> dict[str, float]:
        """BM25 with its common k1 1.2 and b 0.75 over whole source files and their paths."""
        scores = self._of_files.scores(terms_in(query)) if self._of_files else {}
        return {self.files[number]: score for number, score in scores.items()}

    def function_scores(self, query: str) -> dict[FunctionKey, float]:
        """The same over functions and their canonical paths."""
        scores = self._of_functions.scores(terms_in(query)) if self._of_functions else {}
        return {self.functions[number]: score for number, score in scores.items()}

    def rarest_words(self, query: str, count: int = 5) -> dict[str, float]:
        """Like grep: files by how many of the rarest terms they have, and how often."""
        frequencies = {
            term: frequency
            for term in dict.fromkeys(terms_in(query))
            if (frequency := sum(term in bag for bag in self._bags))
        }
        rarest = sorted(frequencies, key=lambda term: (frequencies[term], term))[:count]
        scores: dict[str, float] = {}
        for path, bag in zip(self.files, self._bags, strict=True):
            counts = [bag[term] for term in rarest if term in bag]
            if counts:
                scores[path] = 10_000 * len(counts) + min(sum(counts), 9_999)
        return scores
