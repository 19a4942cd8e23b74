"""Runs the queries of a repository's tasks with all methods, tree by tree."""

import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from bench.tasks.answers import (
    Answer,
    Method,
    Wording,
    answer_of,
    bm25,
    grep,
    held_by_contexts,
    semble_answers,
    treadle,
)
from bench.tasks.repositories import Repository
from bench.tasks.task_set import Task, tree_path
from bench.tasks.trees import Texts, by_anchor, cache_path, opened
from treadle.code import CodeIndex

OWN = frozenset({Method.TREADLE, Method.LEXICAL})


def query_of(task: Task, wording: Wording) -> str:
    return task.plain if wording is Wording.PLAIN else task.named


def ask(
    repository: Repository, tasks: Sequence[Task], work: Path, methods: Collection[Method]
) -> Iterator[Answer]:
    """The answers of the methods to all tasks in both wordings."""
    for anchor, group in by_anchor(tasks).items():
        started = time.perf_counter()
        with opened(work, repository, anchor) as index:
            built = time.perf_counter()
            if Method.TREADLE in methods:
                yield from _ask_treadle(index, group, Method.TREADLE)
            files = index.status().files
        if Method.LEXICAL in methods:
            with opened(work, repository, anchor, dense=False) as index:
                yield from _ask_treadle(index, group, Method.LEXICAL)
        asked = time.perf_counter()
        root = tree_path(work, repository, anchor)
        yield from _ask_others(root, cache_path(work), group, methods)
        print(
            f"{repository.name} {anchor[:12]}: {files} files, index {built - started:.1f} s,"
            f" Treadle {asked - built:.1f} s, others {time.perf_counter() - asked:.1f} s",
            flush=True,
        )


def _ask_treadle(index: CodeIndex, tasks: Sequence[Task], method: Method) -> Iterator[Answer]:
    for task in tasks:
        for wording in Wording:
            query = query_of(task, wording)
            plain = wording is Wording.PLAIN
            held = held_by_contexts(index, query, task.functions) if plain else ()
            yield answer_of(task, wording, method, treadle(index, query), held)


def _ask_others(
    root: Path, cache: Path, tasks: Sequence[Task], methods: Collection[Method]
) -> Iterator[Answer]:
    asked = [(task, wording, query_of(task, wording)) for task in tasks for wording in Wording]
    if not {Method.BM25, Method.GREP}.isdisjoint(methods):
        texts = Texts(root, cache)
        for method, run in ((Method.BM25, bm25), (Method.GREP, grep)):
            if method in methods:
                for task, wording, query in asked:
                    yield answer_of(task, wording, method, run(texts, query))
    peer = (
        semble_answers(root, [query for *_, query in asked]) if Method.SEMBLE in methods else None
    )
    if peer is not None:
        for task, wording, query in asked:
            yield answer_of(task, wording, Method.SEMBLE, peer(query))
