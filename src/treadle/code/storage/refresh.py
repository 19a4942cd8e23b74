"""Brings the index up to date: finds changed files, parses them, and removes deleted files."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.code.files.walk import FileEntry, content_hash, read_file, walk
from treadle.code.model import RefreshReport
from treadle.code.storage.store import Store, StoredFile

if TYPE_CHECKING:
    from treadle.code.storage.entries import FileRows, ReadRequest

Progress = Callable[[int, int], None]

_RACY_NS = 2_000_000_000
"""The time in ns within which a file may change twice with the same time stamp.

The coarsest clock of a file system (FAT) ticks every two seconds. If less than this time passed
between the last change of a file and its read, a later change may have the same time stamp.
Therefore such a file is read again.
"""
_BATCH_BYTES = 3_000_000
"""The number of source bytes in one transaction.

This number bounds memory and the time that other writers wait.
"""
_POOL_BYTES = 3_000_000
"""Several workers are used if the changed files have at least this many bytes.

From this size on, several workers are faster than one (2 cores, docs/context.md).
"""
_TASK_BYTES = 200_000


class _Difference:
    """The difference between the files of the tree and the index.

    `settled` lists files that were read and have not changed, with the time of the read in ns.
    """

    def __init__(self, known: dict[str, StoredFile]) -> None:
        self.known = known
        self.changed: list[FileEntry] = []
        self.settled: list[tuple[str, int]] = []
        self.added = 0
        self.removed: list[str] = []
        self.skipped: dict[str, str] = {}

    @property
    def empty(self) -> bool:
        return not self.changed and not self.removed


def difference(root: Path, known: dict[str, StoredFile]) -> _Difference:
    """Compare the files of the tree with the index by size, times and inode.

    Files that changed shortly before they were indexed are also compared by hash (see `_RACY_NS`).
    """
    found = _Difference(known)
    left = dict(found.known)
    for entry in walk(root, on_skip=found.skipped.__setitem__):
        before = left.pop(entry.path, None)
        if before is None:
            found.added += 1
            found.changed.append(entry)
            continue
        if entry[1:] != before[:4]:
            found.changed.append(entry)
            continue
        if max(entry.mtime_ns, entry.ctime_ns) > before.read_ns - _RACY_NS:
            read_ns = time.time_ns()
            if _same(root, entry, before):
                found.settled.append((entry.path, read_ns))
            else:
                found.changed.append(entry)
        if before.skipped:
            found.skipped[entry.path] = before.skipped
    found.removed = list(left)
    return found


def _same(root: Path, entry: FileEntry, known: StoredFile) -> bool:
    try:
        data, _ = read_file(root, entry.path)
    except OSError:
        return not known.hash
    return (b"" if data is None else content_hash(data)) == known.hash


def refresh_index(
    root: Path,
    store: Store,
    progress: Progress | None = None,
    embedding: Callable[[], Path | None] | None = None,
) -> RefreshReport:
    """Update the index to match the files of the tree.

    `embedding` returns the folder of the embedding model, or None. A small change gets no vectors
    unless numpy is already loaded. A later query by vectors computes the missing vectors, so that
    queries by name do not wait for them.
    """
    started = time.perf_counter()
    found = difference(root, store.files())
    changed = 0
    done = 0
    total = len(found.changed)
    pays = "numpy" in sys.modules or sum(entry.size for entry in found.changed) >= _TASK_BYTES
    folder = embedding() if embedding is not None and total and pays else None
    for batch in _batches(_parsed(root, found, folder, store.failures())):
        store.write(batch)
        for (file, *_), _ in batch:
            before = found.known.get(file.path)
            changed += before is not None and before.hash != file.content_hash
            if file.skipped:
                found.skipped[file.path] = file.skipped
        done += len(batch)
        if progress is not None:
            progress(done, total)
    if found.removed:
        store.remove(found.removed)
    if found.settled:
        store.settle(found.settled)
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
    parsed: "Iterable[tuple[FileRows, int]]",
) -> "Iterator[list[tuple[FileRows, int]]]":
    batch: list[tuple[FileRows, int]] = []
    size = 0
    for entry, read_ns in parsed:
        batch.append((entry, read_ns))
        size += entry.file.size
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _tasks(
    root: Path, found: _Difference, embedding: Path | None, failures: Mapping[bytes, str]
) -> "Iterator[list[ReadRequest]]":
    """Yield the requests for `read_for_rows`, in lists of about `_TASK_BYTES` bytes of source."""
    model = None if embedding is None else str(embedding)
    task: list[ReadRequest] = []
    size = 0
    for entry in found.changed:
        known = found.known.get(entry.path)
        task.append((str(root), entry.path, known.hash if known else b"", model, failures))
        size += entry.size
        if size >= _TASK_BYTES:
            yield task
            task, size = [], 0
    if task:
        yield task


def _parsed(
    root: Path, found: _Difference, embedding: Path | None, failures: Mapping[bytes, str]
) -> "Iterator[tuple[FileRows, int]]":
    """Parse all changed files in one worker process, or in several for a large change.

    If no process can be started, this process parses the files.
    """
    if not found.changed:
        return
    from treadle.code.sandbox.workers import answers_of_many, answers_of_one
    from treadle.code.storage.entries import failed_file_rows, parse_file_rows, read_for_rows

    tasks = deque(_tasks(root, found, embedding, failures))
    many = sum(entry.size for entry in found.changed) >= _POOL_BYTES
    answered = answers_of_many if many else answers_of_one
    try:
        for task, answers in answered(parse_file_rows, tasks, read_for_rows):
            for call, answer in zip(task, answers, strict=True):
                yield answer.value or failed_file_rows(root, call[1], answer.failure)
    except OSError:
        while tasks:
            for call in tasks.popleft():
                arguments, _ = read_for_rows(call)
                yield parse_file_rows(*arguments)
