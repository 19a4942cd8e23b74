"""Bring the index up to date: compare stats, read what changed, parse it, forget what is gone."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.code.files import FileEntry, walk
from treadle.code.model import RefreshReport
from treadle.code.store import Store, StoredFile

if TYPE_CHECKING:
    from treadle.code.parse import ParsedFile
    from treadle.code.workers import Task

Progress = Callable[[int, int], None]

_RACY_NS = 50_000_000
"""A file changed this shortly before it was read may change again within one clock tick."""
_BATCH_BYTES = 4_000_000
"""Source bytes of one transaction; bounds memory and the time that other writers wait."""
_POOL_BYTES = 3_000_000
"""From here the start of worker processes pays (measured on 2 cores, docs/context.md)."""
_TASK_BYTES = 200_000


@dataclass(slots=True)
class _Difference:
    """What the disk holds that the index does not, and the other way round."""

    changed: list[FileEntry] = field(default_factory=list)
    added: int = 0
    removed: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    known: dict[str, StoredFile] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        return not self.changed and not self.removed


def difference(root: Path, store: Store) -> _Difference:
    """Compare the tree with the index by stat alone."""
    found = _Difference(known=store.files())
    left = dict(found.known)
    for entry in walk(root, on_skip=found.skipped.__setitem__):
        known = left.pop(entry.path, None)
        if known is None:
            found.added += 1
            found.changed.append(entry)
        elif _touched(entry, known):
            found.changed.append(entry)
        elif known.skipped:
            found.skipped[entry.path] = known.skipped
    found.removed = list(left)
    return found


def _touched(entry: FileEntry, known: StoredFile) -> bool:
    same = (entry.size, entry.mtime_ns, entry.inode) == (known.size, known.mtime_ns, known.inode)
    return not same or entry.mtime_ns > known.read_ns - _RACY_NS


def refresh(root: Path, store: Store, progress: Progress | None = None) -> RefreshReport:
    """Make the index equal to the tree, as it was while this ran."""
    started = time.perf_counter()
    found = difference(root, store)
    changed = 0
    done = 0
    total = len(found.changed)
    for batch in _batches(_parsed(root, found)):
        store.write(batch)
        for file, _ in batch:
            known = found.known.get(file.path)
            changed += known is not None and known.hash != file.content_hash
            if file.skipped:
                found.skipped[file.path] = file.skipped
        done += len(batch)
        if progress is not None:
            progress(done, total)
    if found.removed:
        store.remove(found.removed)
    files, items, _ = store.counts()
    return RefreshReport(
        added=found.added,
        changed=changed,
        removed=len(found.removed),
        files=files,
        items=items,
        seconds=time.perf_counter() - started,
        skipped=dict(sorted(found.skipped.items())),
    )


def _batches(
    parsed: "Iterable[tuple[ParsedFile, int]]",
) -> "Iterator[list[tuple[ParsedFile, int]]]":
    batch: list[tuple[ParsedFile, int]] = []
    size = 0
    for file, read_ns in parsed:
        batch.append((file, read_ns))
        size += file.size
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _tasks(root: Path, found: _Difference) -> "Iterator[Task]":
    files: list[tuple[str, bytes]] = []
    size = 0
    for entry in found.changed:
        known = found.known.get(entry.path)
        files.append((entry.path, known.hash if known else b""))
        size += entry.size
        if size >= _TASK_BYTES:
            yield str(root), files
            files, size = [], 0
    if files:
        yield str(root), files


def _parsed(root: Path, found: _Difference) -> "Iterator[tuple[ParsedFile, int]]":
    """Parse all that changed, in worker processes if it is much and they can be started."""
    if not found.changed:
        return
    from treadle.code.workers import parse_task, parsed_by_workers  # parsers load slowly

    tasks = deque(_tasks(root, found))
    if sum(entry.size for entry in found.changed) >= _POOL_BYTES:
        yield from parsed_by_workers(tasks)
    while tasks:
        yield from parse_task(tasks.popleft())
