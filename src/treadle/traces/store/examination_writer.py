"""Examines spans that are newer than the last examination, and stores the results.

The caller passes the examiners. The store keeps their results as bytes that it does not interpret.
Each step reads some spans and examines them outside of any transaction. The writer then stores the
results of the spans that did not change meanwhile. Several processes may examine one file at once.
If the digest of an examiner changes, the old results are deleted and the spans are examined again.
"""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from treadle.database import Connection, Database, transaction
from treadle.spans.span import Span
from treadle.traces.store import connections, contents, statements
from treadle.traces.store.examinations import ExaminationTable, SpanExaminer

if TYPE_CHECKING:
    from treadle.traces.store.writer_thread import Writer

T = TypeVar("T")

_AT_ONCE = 200
_BYTES_AT_ONCE = 16_000_000
_DELETED_AT_ONCE = 2_000
_JOB_BYTES = 200_000
"""The approximate number of bytes that one transaction writes."""

_NEXT = """
    SELECT spans.id, revision, length(data) + coalesce((
        SELECT sum(size) FROM blob_uses JOIN blobs USING (hash) WHERE span = spans.id
    ), 0)
    FROM spans JOIN contents USING (id) WHERE revision > ? ORDER BY revision LIMIT ?"""

Reader = Callable[[], AbstractContextManager[Connection]]


@dataclass(frozen=True, slots=True)
class Progress:
    """The revision up to which an examiner has examined all spans.

    `digest` is None if the examiner has not begun.
    """

    digest: bytes | None
    revision: int


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch of spans by key, with their revisions. `last` is the highest of these revisions."""

    spans: Mapping[int, Span]
    revisions: Mapping[int, int]
    last: int


Results = Mapping[int, bytes | None]
"""The result for each span of a batch, by the key of the span."""


def progress(
    connection: Connection, examiners: Sequence[SpanExaminer]
) -> dict[ExaminationTable, Progress]:
    """Return the progress of each examiner. A stored progress with another digest is ignored."""
    found = {
        table: Progress(digest, revision)
        for table, digest, revision in connection.execute("SELECT * FROM examinations")
    }
    return {
        each.table: found[each.table]
        if found[each.table].digest == each.digest
        else Progress(None, 0)
        for each in examiners
    }


class ExaminationWriter:
    """Examines new spans, in one thread of a process at a time. Other threads wait."""

    def __init__(self, database: Database, reader: Reader, writer: "Writer") -> None:
        self._reader = reader
        self._writer = writer
        self._log = connections.LogKeeper(database)
        self._turn = threading.Lock()

    def catch_up(self, examiners: Sequence[SpanExaminer], *, most: int | None = None) -> int:
        """Examine up to `most` new spans. Returns the number of examined spans, 0 if none is left.

        Raises StoreError when the file cannot be read or changed.
        """
        number = 0
        while most is None or number < most:
            with self._turn:
                done = self._step(examiners, most=_AT_ONCE if most is None else most - number)
            if done == 0:
                break
            number += done
        return number

    def _step(self, examiners: Sequence[SpanExaminer], *, most: int) -> int:
        with self._reader() as connection:
            before = progress(connection, examiners)
        for each in examiners:
            if before[each.table].digest is None:
                self._start(each)
        with self._reader() as connection:
            before = progress(connection, examiners)
            batch = _next(connection, min(each.revision for each in before.values()), most)
        if not batch.spans:
            return 0
        results = [
            {
                key: each.examine(span)
                for key, span in batch.spans.items()
                if batch.revisions[key] > before[each.table].revision
            }
            for each in examiners
        ]
        self._do(lambda connection: _store(connection, batch, examiners, results, before))
        return len(batch.spans)

    def _start(self, examiner: SpanExaminer) -> None:
        """Delete results with another digest in steps, so that spans can be written in between."""
        while self._do(lambda connection: _delete_some(connection, examiner)):
            pass

    def _do(self, work: Callable[[Connection], T]) -> T:
        def job(connection: Connection) -> T:
            result = work(connection)
            self._log.keep_small(connection, _JOB_BYTES)
            return result

        return self._writer.do(job).result()


def _next(connection: Connection, after: int, most: int) -> _Batch:
    """Return the next spans with revisions above `after`.

    The total size of the spans is limited, but one span is always returned if there is one.
    """
    revisions: dict[int, int] = {}
    total, last = 0, after
    for key, revision, size in connection.execute(_NEXT, (after, min(most, _AT_ONCE))):
        total += size
        if revisions and total > _BYTES_AT_ONCE:
            break
        revisions[key] = last = revision
    return _Batch(contents.spans_by_key(connection, revisions), revisions, last)


def _store(
    connection: Connection,
    batch: _Batch,
    examiners: Sequence[SpanExaminer],
    results: Sequence[Results],
    before: Mapping[ExaminationTable, Progress],
) -> None:
    """Store the results of the spans whose revision is unchanged."""
    with transaction(connection):
        stored = set(
            statements.select(
                connection, "SELECT id, revision FROM spans WHERE id IN ({})", batch.revisions
            )
        )
        unchanged = {key for key, revision in batch.revisions.items() if (key, revision) in stored}
        now = progress(connection, examiners)
        for each, examined in zip(examiners, results, strict=True):
            table = each.table
            if now[table].digest is None or now[table].revision < before[table].revision:
                continue  # another process has restarted the examination meanwhile
            _replace(connection, table, examined, unchanged)
            connection.execute(
                "UPDATE examinations SET revision = max(revision, ?) WHERE kept_in = ?",
                (batch.last, table),
            )


def _replace(
    connection: Connection,
    table: ExaminationTable,
    results: Results,
    unchanged: Collection[int],
) -> None:
    keys = [key for key in results if key in unchanged]
    statements.run(connection, f"DELETE FROM {table} WHERE span IN ({{}})", keys)  # noqa: S608
    rows = [(key, result) for key in keys if (result := results[key]) is not None]
    if table is ExaminationTable.RULED:
        statements.insert(connection, "INSERT INTO ruled (span, told)", rows)
    else:
        head = "INSERT INTO examined (span, found_nothing, told)"
        statements.insert(connection, head, [(key, 0, result) for key, result in rows])


def _delete_some(connection: Connection, examiner: SpanExaminer) -> bool:
    """Delete some results with another digest. Returns whether more may be left."""
    table = examiner.table
    with transaction(connection):
        if progress(connection, [examiner])[table].digest is not None:
            return False  # another process with the same examiner has deleted the results
        deleted = connection.execute(
            f"DELETE FROM {table} WHERE span IN (SELECT span FROM {table} LIMIT ?)",  # noqa: S608
            (_DELETED_AT_ONCE,),
        ).rowcount
        connection.execute(
            "UPDATE examinations SET digest = ?, revision = 0 WHERE kept_in = ?",
            (None if deleted else examiner.digest, table),
        )
    return deleted > 0
