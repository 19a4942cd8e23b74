"""Tasks from the history of a repository: the query is a message, the answer is its change.

Few trees are searched, the anchors. A task is a commit soon after an anchor whose changed items are
in the anchor's tree byte for byte as in the commit's parent. So the answer exists in the searched
tree, and the change does not.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from bench.tasks.gold import (
    Source,
    changed_items,
    counterpart,
    is_source,
    is_test_file,
    read_source,
)
from bench.tasks.history import Commit, History, evenly
from bench.tasks.messages import (
    LONG_WORDS,
    MIN_WORDS,
    informative_words,
    is_routine,
    query_of,
    without_names,
)
from bench.tasks.repositories import Part, Repository
from treadle.code.model import FUNCTION_KINDS, Origin
from treadle.code.parse.file import origin_of, parse_file
from treadle.code.retrieval.hits import is_test

ANCHORS = 4
PER_REPOSITORY = 60
_EARLIEST = 0.4
_LATEST = 0.96
"""Anchors are between these shares of the mainline: young trees are small."""
_WINDOW = 400
"""Commits of the mainline after an anchor that may become tasks."""
FEWEST_SOURCES = 60
_MAX_SOURCES = 4_000
"""Larger trees mostly have copies of other projects."""
_MAX_FILES = 8
_MAX_ITEMS = 20
_MAX_TOUCHED = 40
"""Changed files of any sort beyond which a commit is not a single task."""


class GoldItem(BaseModel):
    """A changed item, as it is in the searched tree."""

    model_config = ConfigDict(frozen=True)

    file: str
    name: str
    canonical_path: str
    kind: str
    start_byte: int
    end_byte: int
    is_test: bool

    @property
    def is_function(self) -> bool:
        return self.kind in FUNCTION_KINDS


class Task(BaseModel):
    """A query and its answer. `named` is the message as written, `plain` without changed names."""

    model_config = ConfigDict(frozen=True)

    repository: str
    part: Part
    language: str
    anchor: str
    commit: str
    named: str
    plain: str
    files: tuple[str, ...]
    test_files: tuple[str, ...]
    items: tuple[GoldItem, ...]

    @property
    def identifier(self) -> str:
        return f"{self.repository}@{self.commit[:12]}"

    @property
    def is_long(self) -> bool:
        """Whether the message is as informative as a written issue."""
        return informative_words(self.named) >= LONG_WORDS

    @property
    def functions(self) -> tuple[GoldItem, ...]:
        """The changed functions and methods that are not tests."""
        return tuple(item for item in self.items if item.is_function and not item.is_test)


class Tree:
    """An anchor's tree on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._sources: dict[str, Source | None] = {}

    def source(self, path: str) -> Source | None:
        """A source file as the index reads it; None if it leaves the file out."""
        if path not in self._sources:
            read = parse_file(self.root, path)
            own = read.skipped is None and read.origin is Origin.OWN and is_source(path)
            data = (self.root / path).read_bytes() if own else b""
            self._sources[path] = (
                Source(data, [indexed.item for indexed in read.items]) if own else None
            )
        return self._sources[path]


def make_tasks(
    repository: Repository, clones: Path, work: Path, *, count: int, anchors: int, fewest: int
) -> Iterator[Task]:
    """Tasks of one repository, by anchor; the anchors' trees are left below `work`."""
    history = History(repository.clone(clones))
    mainline = history.mainline(repository.commit)
    seen: set[str] = set()
    missing = count
    chosen = list(dict.fromkeys(evenly(mainline, anchors, _EARLIEST, _LATEST)))
    for place, anchor in enumerate(chosen):
        sources = sum(map(is_source, history.paths(anchor)))
        if not fewest <= sources <= _MAX_SOURCES:
            print(f"{repository.name}: {anchor[:12]} has {sources} sources", file=sys.stderr)
            continue
        root = tree_path(work, repository, anchor)
        if not root.is_dir():
            history.check_out(anchor, root)
        at = mainline.index(anchor)
        end = mainline[min(at + _WINDOW, len(mainline) - 1)]
        wanted = -(-missing // (len(chosen) - place))
        for task in _tasks_after(repository, history, anchor, end, Tree(root)):
            if task.plain.lower() in seen:
                continue
            seen.add(task.plain.lower())
            yield task
            missing -= 1
            wanted -= 1
            if wanted <= 0:
                break


def tree_path(work: Path, repository: Repository, anchor: str) -> Path:
    return work / "trees" / repository.folder / anchor[:12]


def _tasks_after(
    repository: Repository, history: History, anchor: str, end: str, tree: Tree
) -> Iterator[Task]:
    for commit in history.between(anchor, end):
        query = "" if is_routine(commit) else query_of(commit)
        if informative_words(query) >= MIN_WORDS:
            task = task_of(repository, history, anchor, commit, query, tree)
            if task is not None:
                yield task


def task_of(
    repository: Repository, history: History, anchor: str, commit: Commit, query: str, tree: Tree
) -> Task | None:
    """The task of a commit; None if it is too large, or not completely in the searched tree."""
    changes = history.changes(commit.identifier)
    sources = [file for file in changes.changed if is_source(file.path)]
    code = [file for file in sources if not is_test_file(file.path)]
    touched = len(changes.changed) + len(changes.added)
    if not 1 <= len(code) <= _MAX_FILES or touched > _MAX_TOUCHED:
        return None
    items: list[GoldItem] = []
    test_files: list[str] = []
    for file in sources:
        searched = tree.source(file.path)
        data = history.content(f"{commit.identifier}^", file.path)
        before = None if data is None else read_source(file.path, data)
        in_tests = is_test_file(file.path)
        if searched is None or before is None:
            if in_tests or (data is not None and origin_of(file.path, data) is not Origin.OWN):
                continue
            return None
        test_files += [file.path] if in_tests else []
        for item in changed_items(before, file.hunks):
            same = counterpart(item, before, searched)
            if same is None and not in_tests:
                return None
            if same is not None:
                items.append(
                    GoldItem(
                        file=file.path, name=same.name, canonical_path=same.canonical_path,
                        kind=same.kind.value, start_byte=same.start_byte, end_byte=same.end_byte,
                        is_test=in_tests or is_test(file.path, same.canonical_path),
                    )
                )  # fmt: skip
    files = tuple(file.path for file in code if tree.source(file.path) is not None)
    own = [item for item in items if not item.is_test]
    if not files or len(own) > _MAX_ITEMS or not any(item.is_function for item in own):
        return None
    names = [item.name for item in items]
    plain = without_names(query, names, [file.path for file in sources])
    if informative_words(plain) < MIN_WORDS:
        return None
    return Task(
        repository=repository.name, part=repository.part, language=repository.language,
        anchor=anchor, commit=commit.identifier, named=query, plain=plain,
        is_long=informative_words(query) >= LONG_WORDS, files=files,
        test_files=tuple(test_files), items=tuple(items),
    )  # fmt: skip
