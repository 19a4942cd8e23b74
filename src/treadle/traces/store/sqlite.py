"""The store of spans: a SQLite file, one writer thread with group commit, readers with a deadline.

A version of a span that is less complete than the stored one changes nothing, so spans may arrive
in any order and any number of times. Several processes may use one file at once.
"""

import os
import queue
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from treadle.errors import NotFoundError, StoreError, UsageError
from treadle.traces.span import Span, SpanStatus, Totals, Trace, more_complete, totals, true_root
from treadle.traces.store import rows
from treadle.traces.store.protocol import NOTHING, StoreBusyError
from treadle.traces.tool_stats import ToolStats, tool_stats

LAST = "LAST"
"""The reference of the trace that started last."""

PENDING_LIMIT = 20_000
"""Spans that may wait for the writer; further ones are refused, so that memory stays bounded."""

_GROUP_LIMIT = 1_000
_BUSY_SECONDS = 10.0
_CANDIDATES = 4


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of a list of runs. `question` is the beginning of the input of the root."""

    trace_id: str
    run_id: str | None
    thread_id: str | None
    name: str | None
    question: str | None
    status: SpanStatus
    start_us: int
    duration_us: int | None
    models: tuple[str, ...]
    totals: Totals


@dataclass(frozen=True, slots=True)
class _Request:
    spans: tuple[Span, ...]
    done: Future[None]


class SqliteTraceStore:
    """Spans in a SQLite file. All methods may be called from any thread."""

    def __init__(self, path: Path, read_seconds: float) -> None:
        """Use `open` instead; it prepares the file."""
        self.path = path
        self._read_seconds = read_seconds
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pending = 0
        self._writer: threading.Thread | None = None
        self._closed = False

    @classmethod
    def open(cls, path: Path, *, read_seconds: float = 10.0) -> Self:
        """The store in the file at `path`, made or brought to the present form if need be.

        The file is readable by its owner alone. A reading that takes more than `read_seconds` is
        given up. Raises StoreError when the file cannot be used.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            with closing(_connect(path)) as connection:
                rows.migrate(connection)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"The trace store {path} cannot be opened: {error}.",
                hint="Check the file's permissions, or move it aside to begin a new one.",
            ) from error
        return cls(path, read_seconds)

    def write(
        self,
        spans: Sequence[Span],
        *,
        redacted: Mapping[str, int] = NOTHING,  # noqa: ARG002  (counted by the new tables)
    ) -> Future[None]:
        """Hand over spans; returns at once. The future is done when they are safely on disk.

        Its exception is a StoreError when they could not be kept: the disk failed, the store is
        closed, or more than `PENDING_LIMIT` spans wait.
        """
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # nobody can take back what is handed over
        with self._lock:
            refusal = self._refusal(len(spans))
            if refusal is None:
                self._pending += len(spans)
                self._requests.put(_Request(tuple(spans), done))
                if self._writer is None:
                    self._writer = threading.Thread(
                        target=self._write_all, name="treadle-traces", daemon=True
                    )
                    self._writer.start()
        if refusal is not None:
            done.set_exception(refusal)
        return done

    def close(self) -> None:
        """Write what waits, then end the writer. May be called twice."""
        with self._lock:
            writer, self._writer, self._closed = self._writer, None, True
            self._requests.put(None)
        if writer is not None:
            writer.join()

    def runs(self, *, limit: int = 50, thread_id: str | None = None) -> list[RunSummary]:
        """The latest runs, newest first; of one thread only when `thread_id` is given."""
        with self.reader() as connection:
            recent = rows.recent_traces(connection, limit, thread_id)
            return [
                _summary(trace_id, rows.listed_spans(connection, trace_id)) for trace_id in recent
            ]

    def tool_stats(self, *, since_us: int = 0) -> list[ToolStats]:
        """How the calls of each tool went that began at that moment or later."""
        with self.reader() as connection:
            return tool_stats(connection, since_us)

    def trace(self, reference: str) -> Trace:
        """The trace with that id, with an id that begins so, or the one that started last (`LAST`).

        A UUID may be written with dashes. Raises NotFoundError when there is none, UsageError when
        several begin so, StoreError when reading fails or takes too long.
        """
        with self.reader() as connection:
            trace_id = _resolve(connection, reference.strip())
            return Trace(trace_id, tuple(rows.spans(connection, trace_id)))

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state of the file, for functions of `store.reading`.

        What is not done after `read_seconds` is broken off. Any failure becomes a StoreError.
        """
        deadline = time.monotonic() + self._read_seconds
        try:
            with closing(_connect(self.path)) as connection:
                connection.execute("PRAGMA query_only = 1")
                connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
                connection.execute("BEGIN")
                yield connection
        except sqlite3.Error as error:
            late = time.monotonic() > deadline
            reason = f"it took more than {self._read_seconds:g} s" if late else str(error)
            raise StoreError(
                f"The trace store {self.path} cannot be read: {reason}.",
                hint="Try again; if it stays so, move the file aside to begin a new one.",
            ) from error

    def _refusal(self, count: int) -> StoreError | None:
        if self._closed:
            return StoreError(f"The trace store {self.path} is closed.")
        if self._pending + count > PENDING_LIMIT:
            return StoreBusyError(
                f"The trace store {self.path} is too slow: {self._pending} spans wait.",
                hint="Look whether its disk is full or another process holds the file.",
            )
        return None

    def _write_all(self) -> None:
        connection: sqlite3.Connection | None = None
        going_on = True
        while going_on:
            group, going_on = self._next_group()
            try:
                connection = connection or _connect(self.path)
                self._commit(connection, group)
            except sqlite3.Error as error:
                self._fail(group, error)
            with self._lock:
                self._pending -= sum(len(request.spans) for request in group)
        if connection is not None:
            connection.close()

    def _next_group(self) -> tuple[list[_Request], bool]:
        """Everything that waits, up to a limit, and whether there may be more to come."""
        group: list[_Request] = []
        size = 0
        request = self._requests.get()
        while request is not None:
            group.append(request)
            size += len(request.spans)
            if size >= _GROUP_LIMIT or self._requests.empty():
                return group, True
            request = self._requests.get()
        return group, False

    def _commit(self, connection: sqlite3.Connection, group: list[_Request]) -> None:
        """One transaction for the group; one for each request when one of them spoils it."""
        try:
            with _transaction(connection):
                for request in group:
                    for span in request.spans:
                        _keep(connection, span)
        except sqlite3.OperationalError:
            raise
        except Exception as error:  # noqa: BLE001  (one ill span must not end the writer)
            if len(group) == 1:
                self._fail(group, error)
                return
            for request in group:
                self._commit(connection, [request])
            return
        for request in group:
            request.done.set_result(None)

    def _fail(self, group: list[_Request], error: Exception) -> None:
        for request in group:
            if not request.done.done():
                failure = StoreError(f"Spans could not be written to {self.path}: {error}.")
                failure.__cause__ = error
                request.done.set_exception(failure)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous = FULL")
    return connection


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _keep(connection: sqlite3.Connection, span: Span) -> None:
    """Store `span` unless a more complete version of it is there."""
    if not rows.insert_new(connection, span):
        stored = rows.span(connection, span.trace_id, span.span_id)
        if more_complete(stored, span) is stored:
            return
        rows.replace(connection, span)


def _resolve(connection: sqlite3.Connection, reference: str) -> str:
    if reference.upper() == LAST:
        recent = rows.recent_traces(connection, 1, None)
        if not recent:
            raise NotFoundError(
                "No trace has been recorded yet.", hint='Ask something first: treadle ask "…".'
            )
        return recent[0]
    for spelling in dict.fromkeys((reference, reference.replace("-", "").lower())):
        found = rows.traces_beginning(connection, spelling, _CANDIDATES + 1) if spelling else []
        if spelling in found or len(found) == 1:
            return spelling if spelling in found else found[0]
        if found:
            more = ", …" if len(found) > _CANDIDATES else ""
            raise UsageError(
                f"Several traces begin with {reference}: {', '.join(found[:_CANDIDATES])}{more}.",
                hint="Give more characters of the id.",
            )
    raise NotFoundError(
        f"There is no trace {reference or '(empty)'}.",
        hint="`treadle traces list` shows what was recorded.",
    )


def _summary(trace_id: str, spans: Sequence[Span]) -> RunSummary:
    root = true_root(spans)
    return RunSummary(
        trace_id=trace_id,
        run_id=next((span.run_id for span in spans if span.run_id), None),
        thread_id=next((span.thread_id for span in spans if span.thread_id), None),
        name=root.name if root else None,
        question=root.input if root else None,
        status=root.status if root else SpanStatus.UNFINISHED,
        start_us=min(span.start_us for span in spans),
        duration_us=root.duration_us if root else None,
        models=tuple(dict.fromkeys(span.model for span in spans if span.model)),
        totals=totals(spans),
    )
