"""Every signal about the candidates of each task, so that rankings are tried without an index.

One `.npz` for each repository, below `signals/tuning` or `signals/test`. An array holds one column
of all candidates; those of query number q are rows `item_starts[q]` to `item_starts[q + 1]`, and
the same with `file_starts`. `offline` reads them.
"""

import json
import os
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from bench.retrieval.methods import Bm25
from bench.tasks.answers import Wording
from bench.tasks.asking import query_of
from bench.tasks.history import History
from bench.tasks.making import Task, tree_path
from bench.tasks.repositories import Repository
from bench.tasks.trees import Texts, by_anchor, cache_path, opened
from treadle.code.candidates import find_candidates
from treadle.code.connected import with_connected
from treadle.code.dense.embedder import own_embedding
from treadle.code.dense.own import OwnVectors
from treadle.code.fields import SCALE
from treadle.code.graph.tables import Graph
from treadle.code.languages import Language, language_of
from treadle.code.languages.markdown import MARKDOWN
from treadle.code.model import Kind, View
from treadle.code.postings import groups, postings_of_term
from treadle.code.questions import Question
from treadle.code.ranking import (
    COVERAGE,
    K1,
    NAMED,
    RARITY,
    Alike,
    Hit,
    definitions,
    items_of,
    rank_items,
)
from treadle.code.ranking_files import rank_files
from treadle.code.store import Store, store_path
from treadle.code.terms import query_terms, terms_in, terms_of_word

Floats = NDArray[numpy.float32]

ITEM_COLUMNS = (
    "item_id", "file", "start_byte", "end_byte", "start_line", "end_line", "kind", "is_test",
    "is_aside", "worth", "lexical", "coverage", "name_boost", "named", "name_count",
    "function_bm25", "dense", "product_words", "graph", "product_rank", "lexical_rank",
    "parent", "gold",
)  # fmt: skip
FILE_COLUMNS = (
    "file", "category", "is_test", "is_aside", "size", "lines", "items", "bm25", "lexical_best",
    "lexical_next", "dense_best", "dense_next", "function_bm25_best", "stem", "folder",
    "path_named", "defines_named", "commits", "age", "messages", "together", "product_rank",
    "lexical_rank", "gold",
)  # fmt: skip
CATEGORIES = ("source", "document", "settings", "text")
KINDS = tuple(Kind)

_HISTORY = 3_000
_MOST_PATHS = 30
_TOGETHER = 5
_MAX_TERMS = 32
_ITEMS = (("lexical", 300), ("dense", 200), ("function_bm25", 150))
_BEST_FILES = 15
_OF_BEST_FILE = 40
_FILES = 100


@dataclass(slots=True)
class Past:
    """What history says of the files of a tree, as of its commit."""

    commits: Counter[str] = field(default_factory=Counter)
    age: dict[str, int] = field(default_factory=dict)
    together: Counter[tuple[str, str]] = field(default_factory=Counter)
    files: list[str] = field(default_factory=list)
    messages: Bm25 | None = None

    @classmethod
    def read(cls, history: History, commit: str, paths: Iterable[str]) -> "Past":
        past = cls()
        known = set(paths)
        words: dict[str, Counter[str]] = defaultdict(Counter)
        for age, (made, changed) in enumerate(history.before(commit, _HISTORY)):
            here = sorted(known.intersection(changed)) if len(changed) <= _MOST_PATHS else []
            said = Counter(terms_in(f"{made.subject}\n{made.body[:2_000]}"))
            for path in here:
                past.commits[path] += 1
                past.age.setdefault(path, age)
                words[path].update(said)
            past.together.update((one, two) for one in here for two in here if one != two)
        past.files = sorted(words)
        past.messages = Bm25([words[path] for path in past.files], 1.2, 0.75) if words else None
        return past

    def message_scores(self, query: str) -> dict[str, float]:
        """BM25 of the query over the messages of the commits that changed each file."""
        scores = self.messages.scores(terms_in(query)) if self.messages else {}
        return {self.files[number]: score for number, score in scores.items()}

    def with_best(self, best: Sequence[str]) -> dict[str, float]:
        """How often files changed together with one of the best, by the cosine of commits."""
        found: dict[str, float] = {}
        for (one, two), count in self.together.items():
            if one in best:
                likeness = count / sqrt(self.commits[one] * self.commits[two])
                found[two] = max(likeness, found.get(two, 0.0))
        return found


class Indexed:
    """All items and files of an index as columns."""

    def __init__(self, connection: sqlite3.Connection, root: Path) -> None:
        self.connection = connection
        ids = [row[0] for row in connection.execute("SELECT id FROM items ORDER BY id")]
        parents = dict(connection.execute("SELECT id, parent_id FROM items").fetchall())
        hits = {hit.item_id: hit for hit in items_of(connection, ids)}
        self.hits: list[Hit] = [hits[item] for item in ids]
        self.place = {item: number for number, item in enumerate(ids)}
        self.parents = [self.place.get(parents[item] or -1, -1) for item in ids]
        self.key = {(hit.file, hit.start_byte, hit.kind): at for at, hit in enumerate(self.hits)}
        self.name_counts = Counter(hit.name.lower() for hit in self.hits)
        rows = connection.execute(
            "SELECT path, size, lines FROM files WHERE skipped IS NULL ORDER BY path"
        ).fetchall()
        self.paths = [os.fsdecode(row[0]) for row in rows]
        self.sizes = {os.fsdecode(path): (size, lines) for path, size, lines in rows}
        self.file_number = {path: number for number, path in enumerate(self.paths)}
        self.items_of_file: dict[str, list[int]] = defaultdict(list)
        for at, hit in enumerate(self.hits):
            self.items_of_file[hit.file].append(at)
        self.categories = {
            path: _category(path, (root / path).read_bytes()[:20_000]) for path in self.paths
        }

    @cached_property
    def file_groups(self) -> list[int]:
        return groups(self.connection)

    def lexical(self, query: str) -> tuple[Floats, Floats]:
        """The score of every item by the product's BM25, and the share of the query it has.

        The same formula as `treadle.code.ranking`, without the cut of its candidates.
        """
        scores = numpy.zeros(len(self.hits), numpy.float32)
        covered = numpy.zeros(len(self.hits), numpy.float32)
        terms = query_terms(query)
        rows = self.connection.execute(
            "SELECT id, documents, term FROM terms WHERE documents > 0"
            " AND term IN (SELECT value FROM json_each(?))",
            (json.dumps(list(terms)),),
        ).fetchall()
        rows.sort(key=lambda row: (-terms[row[2]], row[1], row[0]))
        everything = 0.0
        for term_id, documents, term in rows[:_MAX_TERMS]:
            rarity = log(1 + (len(self.hits) - documents + 0.5) / (documents + 0.5))
            weight = terms[term] * rarity**RARITY * (K1 + 1)
            everything += weight
            items, counts = postings_of_term(self.connection, term_id, self.file_groups)
            at = numpy.fromiter((self.place[item] for item in items), numpy.int64, len(items))
            count = numpy.array(counts, numpy.float32)
            scores[at] += weight * count / (count + K1 * SCALE)
            covered[at] += weight
        share = covered / (everything or 1.0)
        return scores * share**COVERAGE, share


def _category(path: str, data: bytes) -> int:
    language = language_of(path, data)
    if isinstance(language, Language):
        return 0
    return 3 if language is None else 1 if language is MARKDOWN else 2


def name_boost(name: str, terms: Mapping[str, float]) -> float:
    """More for a name the more of its parts the query says, as the product does."""
    parts = terms_of_word(name)
    parts = parts[:-1] or parts
    said = [terms[part] for part in parts if part in terms]
    return 1.0 + NAMED * sum(said) / len(parts) if said else 1.0


class Export:
    """The signals of one tree."""

    def __init__(self, indexed: Indexed, own: OwnVectors, texts: Texts, past: Past) -> None:
        self._indexed, self._own, self._texts, self._past = indexed, own, texts, past
        self._graph = Graph(indexed.connection)

    def rows(self, task: Task, query: str) -> tuple[list[list[float]], list[list[float]]]:
        """The rows of items and those of files for one query."""
        all_ = self._signals(query)
        items = self._item_rows(task, query, all_)
        return items, self._file_rows(task, query, all_)

    def _signals(self, query: str) -> "_Signals":
        indexed = self._indexed
        connection = indexed.connection
        lexical, coverage = indexed.lexical(query)
        question = Question.of(query)
        asked = self._own.ask(connection, question.gist)
        dense = numpy.zeros(len(indexed.hits), numpy.float32)
        nearest: Sequence[int] = ()
        if asked is not None:
            nearest = asked.nearest(50)
            for item, likeness in asked.similarities(list(indexed.place)).items():
                dense[indexed.place[item]] = likeness
        defined = definitions(connection, query)
        found = find_candidates(connection, question, nearest, View.ITEMS)
        found = found._replace(defined=defined)
        without = find_candidates(connection, question, (), View.ITEMS)._replace(defined=defined)
        alike = Alike()
        if not defined and found.hits:
            found = with_connected(connection, self._graph, found)
            without = with_connected(connection, self._graph, without)
            ids = [hit.item_id for hit in found.hits]
            alike = Alike(None if asked is None else asked.similarities(ids))
        functions = self._texts.function_scores(query)
        function_bm25 = numpy.zeros(len(indexed.hits), numpy.float32)
        for kind in (Kind.FUNCTION.value, Kind.METHOD.value):
            for (file, start), score in functions.items():
                at = indexed.key.get((file, start, kind))
                if at is not None:
                    function_bm25[at] = score
        return _Signals(
            lexical, coverage, dense, function_bm25, self._texts.file_scores(query),
            {hit.item_id: hit for hit in found.hits},
            {hit.item_id: rank for rank, hit in enumerate(rank_items(found, alike, 200), 1)},
            {hit.file: hit.rank for hit in rank_files(connection, found, alike, 50)},
            {hit.item_id: rank for rank, hit in enumerate(rank_items(without, Alike(), 200), 1)},
            {hit.file: hit.rank for hit in rank_files(connection, without, Alike(), 50)},
        )  # fmt: skip

    def _item_rows(self, task: Task, query: str, found: "_Signals") -> list[list[float]]:
        indexed = self._indexed
        worth = numpy.array([hit.worth for hit in indexed.hits], numpy.float32)
        columns: dict[str, NDArray[Any]] = {
            "lexical": found.lexical * worth,
            "dense": found.dense * worth,
            "function_bm25": found.function_bm25,
        }
        chosen: dict[int, None] = {}
        for name, limit in _ITEMS:
            column = columns[name]
            for at in numpy.argsort(-column, kind="stable")[:limit]:
                if column[at] > 0:
                    chosen[int(at)] = None
        for known in (found.words, found.item_ranks, found.lexical_item_ranks):
            chosen.update(dict.fromkeys(indexed.place[item] for item in known))
        for path in _best(found.file_bm25)[:_BEST_FILES]:
            of_file = indexed.items_of_file[path]
            best = sorted(of_file, key=lambda at: (-columns["lexical"][at], at))
            chosen.update(dict.fromkeys(best[:_OF_BEST_FILE]))
        terms = query_terms(query)
        words = set(re.findall(r"\w+", query))
        lowered = {word.lower() for word in words}
        gold = {(item.file, item.start_byte, item.kind) for item in task.items if not item.is_test}
        rows: list[list[float]] = []
        for at in sorted(chosen):
            hit = indexed.hits[at]
            word = found.words.get(hit.item_id)
            rows.append([
                hit.item_id, indexed.file_number[hit.file], hit.start_byte, hit.end_byte,
                hit.start_line, hit.end_line, KINDS.index(Kind(hit.kind)), hit.is_test,
                hit.is_aside, hit.worth, float(found.lexical[at]), float(found.coverage[at]),
                name_boost(hit.name, terms), _named(hit.name, words, lowered),
                indexed.name_counts[hit.name.lower()], float(found.function_bm25[at]),
                float(found.dense[at]), word.score if word else 0.0,
                bool(word and word.reason), found.item_ranks.get(hit.item_id, 0),
                found.lexical_item_ranks.get(hit.item_id, 0),
                indexed.hits[indexed.parents[at]].item_id if indexed.parents[at] >= 0 else 0,
                (hit.file, hit.start_byte, hit.kind) in gold,
            ])  # fmt: skip
        return rows

    def _file_rows(self, task: Task, query: str, found: "_Signals") -> list[list[float]]:
        indexed, past = self._indexed, self._past
        lexical, lexical_next = self._by_file(found.lexical)
        dense, dense_next = self._by_file(found.dense)
        functions, _ = self._by_file(found.function_bm25)
        messages = past.message_scores(query)
        together = past.with_best(_best(found.file_bm25)[:_TOGETHER])
        paths = {path: _path_shares(path, query) for path in indexed.paths}
        words = set(re.findall(r"\w+", query))
        names = Counter(hit.file for hit in indexed.hits if _named(hit.name, words, set()) == 1.0)
        chosen: set[str] = {*found.file_ranks, *found.lexical_file_ranks}
        stems = {path: sum(shares) for path, shares in paths.items() if sum(shares) > 0}
        for scores in (
            lexical,
            dense,
            functions,
            found.file_bm25,
            messages,
            together,
            stems,
            names,
        ):
            chosen.update(_best(scores)[:_FILES])
        rows: list[list[float]] = []
        for path in sorted(chosen.intersection(indexed.file_number)):
            first = (
                indexed.hits[indexed.items_of_file[path][0]]
                if indexed.items_of_file[path]
                else None
            )
            size, lines = indexed.sizes[path]
            stem, folder, named = paths[path]
            rows.append([
                indexed.file_number[path], indexed.categories[path],
                bool(first and first.is_test), bool(first and first.is_aside), size, lines,
                len(indexed.items_of_file[path]), found.file_bm25.get(path, 0.0),
                lexical.get(path, 0.0), lexical_next.get(path, 0.0), dense.get(path, 0.0),
                dense_next.get(path, 0.0), functions.get(path, 0.0), stem, folder, named,
                names[path], past.commits[path], past.age.get(path, _HISTORY),
                messages.get(path, 0.0), together.get(path, 0.0), found.file_ranks.get(path, 0),
                found.lexical_file_ranks.get(path, 0),
                path in task.files,
            ])  # fmt: skip
        return rows

    def _by_file(self, column: Floats) -> tuple[dict[str, float], dict[str, float]]:
        """The best item of each file, with its worth, and the sum of the next three."""
        best: dict[str, float] = {}
        following: dict[str, float] = {}
        values: dict[str, list[float]] = defaultdict(list)
        for at in numpy.flatnonzero(column > 0).tolist():
            hit = self._indexed.hits[at]
            values[hit.file].append(float(column[at]) * hit.worth)
        for path, scores in values.items():
            scores.sort(reverse=True)
            best[path], following[path] = scores[0], sum(scores[1:4])
        return best, following


@dataclass(frozen=True, slots=True)
class _Signals:
    lexical: Floats
    coverage: Floats
    dense: Floats
    function_bm25: Floats
    file_bm25: Mapping[str, float]
    words: Mapping[int, Hit]
    item_ranks: Mapping[int, int]
    file_ranks: Mapping[str, int]
    lexical_item_ranks: Mapping[int, int]
    lexical_file_ranks: Mapping[str, int]


def _best(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda path: (-scores[path], path))


def _named(name: str, words: set[str], lowered: set[str]) -> float:
    """1 where the query has the whole name of several parts, 0.5 for a name of one part."""
    if name in words and len(terms_of_word(name)) > 1:
        return 1.0
    return 0.5 if name.lower() in lowered else 0.0


def _path_shares(path: str, query: str) -> tuple[float, float, float]:
    """The share of the terms of the stem and of the folder that the query has; 1 for the path."""
    folder, _, name = path.rpartition("/")
    wanted = set(query_terms(query))
    shares = [
        len(wanted.intersection(terms)) / len(terms) if (terms := terms_of_word(text)) else 0.0
        for text in (name.partition(".")[0], folder.rpartition("/")[2])
    ]
    named = path in query or ("." in name and name in query)
    return shares[0], shares[1], float(named)


def export(repository: Repository, tasks: Sequence[Task], clones: Path, work: Path) -> None:
    """Write the signals of all tasks of a repository in both wordings."""
    history = History(repository.clone(clones))
    items: list[list[float]] = []
    files: list[list[float]] = []
    item_starts, file_starts, queries = [0], [0], []
    paths: dict[str, list[str]] = {}
    for anchor, group in by_anchor(tasks).items():
        root = tree_path(work, repository, anchor)
        with opened(work, repository, anchor):
            pass
        store = Store(store_path(cache_path(work), root.resolve()))
        own = OwnVectors(store, own_embedding, patience=None, monotonic=lambda: 0.0)
        with store.reading() as connection:
            indexed = Indexed(connection, root)
            paths[anchor] = indexed.paths
            past = Past.read(history, anchor, indexed.paths)
            exported = Export(indexed, own, Texts(root, cache_path(work)), past)
            for task in group:
                for wording in Wording:
                    query = query_of(task, wording)
                    item_rows, file_rows = exported.rows(task, query)
                    items += item_rows
                    files += file_rows
                    item_starts.append(len(items))
                    file_starts.append(len(files))
                    queries.append({
                        "task": task.identifier, "anchor": anchor, "wording": wording.value,
                        "query": query, "language": task.language, "is_long": task.is_long,
                        "asks_for_tests": Question.of(query).wants_tests,
                        "gold_files": len(task.files), "gold_functions": len(task.functions),
                    })  # fmt: skip
        own.close()
        store.close()
        print(f"{repository.name} {anchor[:12]}: {len(indexed.hits)} items", flush=True)
    if not queries:
        return
    target = work / "signals" / repository.part / f"{repository.folder}.npz"
    target.parent.mkdir(parents=True, exist_ok=True)
    columns = _columns("item", ITEM_COLUMNS, items) | _columns("file", FILE_COLUMNS, files)
    columns["item_starts"] = numpy.array(item_starts)
    columns["file_starts"] = numpy.array(file_starts)
    columns["queries"] = numpy.array(json.dumps(queries))
    columns["paths"] = numpy.array(json.dumps(paths))
    numpy.savez_compressed(target, allow_pickle=False, **columns)


def _columns(
    kind: str, names: Sequence[str], rows: Sequence[Sequence[float]]
) -> dict[str, NDArray[Any]]:
    return {
        f"{kind}_{name}": numpy.array([row[at] for row in rows], _type(name))
        for at, name in enumerate(names)
    }


def _type(name: str) -> type:
    return numpy.int64 if name in ("item_id", "parent") else numpy.float32
