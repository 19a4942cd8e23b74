"""Bring the index up to date: compare stats, read what changed, parse it, forget what is gone."""

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
    from treadle.code.storage.entries import Call, Entry

Progress = Callable[[int, int], None]

_RACY_NS = 2_000_000_000
"""Two changes within one tick of a file system's clock look like one, and the coarsest (FAT) ticks
every two seconds: a file read sooner than this after its last change is read once more."""
_BATCH_BYTES = 3_000_000
"""Source bytes of one transaction; bounds memory and the time that other writers wait."""
_POOL_BYTES = 3_000_000
"""From here the start of worker processes pays (measured on 2 cores, docs/context.md)."""
_TASK_BYTES = 200_000


class _Difference:
    """What the disk holds that the index does not, and the other way round.

    `settled`: files that had to be read to tell that they are the same, and when (ns).
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
    """Compare the tree with the index by stat, and by hash what was read right after a change."""
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
    """Make the index equal to the tree, as it was while this ran.

    `embedding` is asked for the folder of the model that makes vectors. A small change has none
    made of it where numpy would have to be loaded for that: a query by vectors has it anyway, and
    what names an item need not wait.
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
    parsed: "Iterable[tuple[Entry, int]]",
) -> "Iterator[list[tuple[Entry, int]]]":
    batch: list[tuple[Entry, int]] = []
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
) -> "Iterator[list[Call]]":
    """What `read_for_entry` takes, in lists of about `_TASK_BYTES`."""
    model = None if embedding is None else str(embedding)
    task: list[Call] = []
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
) -> "Iterator[tuple[Entry, int]]":
    """Parse all that changed in worker processes: in several if it is much.

    Only where no process can be started it is parsed in this one.
    """
    if not found.changed:
        return
    from treadle.code.sandbox.workers import answers_of_many, answers_of_one
    from treadle.code.storage.entries import failed_entry, read_entry, read_for_entry

    tasks = deque(_tasks(root, found, embedding, failures))
    many = sum(entry.size for entry in found.changed) >= _POOL_BYTES
    answered = answers_of_many if many else answers_of_one
    try:
        for task, answers in answered(read_entry, tasks, read_for_entry):
            for call, answer in zip(task, answers, strict=True):
                yield answer.value or failed_entry(root, call[1], answer.failure)
    except OSError:
        while tasks:
            for call in tasks.popleft():
                arguments, _ = read_for_entry(call)
                yield read_entry(*arguments)
