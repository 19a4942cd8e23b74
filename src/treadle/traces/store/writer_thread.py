"""The thread that writes spans: it commits waiting spans in groups, and then notifies callers.

Callers prepare their spans. The thread mostly runs SQLite, which lets other threads run. The queue
and each group are limited in count and size. A request is committed in parts: while the writer
commits one part, the caller prepares the next. The request is done after its last part.

If the connection to a server is lost, the writer connects again and repeats the commit for a
limited time. The lost commit may have succeeded. Repeating it is safe: the merge changes nothing
for stored spans, and the writer does not count the redactions of a committed transaction again.
"""

import logging
import sqlite3
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from treadle.database import Connection, Database
from treadle.errors import StoreError
from treadle.spans.span import JsonValue, Span
from treadle.spans.span_writer import StoreBusyError
from treadle.traces.store import connections, segment_builder, span_merge
from treadle.traces.store.engines import engine_for
from treadle.traces.store.outage import Outage, Timing
from treadle.traces.store.revisions import request_newest_revision
from treadle.traces.store.span_merge import PreparedSpan, SpanKeys, most_complete, prepare

PENDING_LIMIT = 20_000
"""The maximum number of spans that may wait. Further requests are refused to limit memory."""
PENDING_BYTES = 128_000_000
"""The maximum number of bytes of the waiting spans."""

T = TypeVar("T")

_log = logging.getLogger(__name__)

_SWITCH_SECONDS = 0.0001
_GROUP_LIMIT = 1_000
_SHARE = 250
_GROUP_BYTES = 8_000_000
_SPAN_BYTES = 1_000
_SEGMENT_CHECK_SPANS = 2_048
"""After this many written spans, the writer updates segments even if further spans wait."""
_SEGMENT_BYTES = 500_000


@dataclass(slots=True)
class _Ticket:
    """One request to write spans. Its caller waits until all parts are committed."""

    done: Future[None]
    parts: int
    failure: StoreError | None = None


@dataclass(slots=True)
class _Part:
    prepared: Sequence[PreparedSpan]
    spans: int
    """The number of received spans, including several versions of one span."""
    size: int
    ticket: _Ticket
    redacted: Mapping[str, int] = field(default_factory=dict)
    counted_in: str | None = None
    """The id of the last transaction that counted the redactions, if a server can get lost."""


@dataclass(frozen=True, slots=True)
class _Job(Generic[T]):
    """A function that the writer runs with its connection between two commits."""

    work: Callable[[Connection], T]
    done: Future[T]

    def fail(self, error: Exception, hint: str | None = None) -> None:
        if not isinstance(error, StoreError):
            failure = StoreError(f"The trace store cannot be changed: {error}.", hint=hint)
            failure.__cause__ = error
            error = failure
        self.done.set_exception(error)


_Group = list[_Part]
"""The parts of one commit."""


class _Pause:
    """Takes the place of a request if the writer should update segments now."""


_PAUSE = _Pause()


class Writer:
    """Writes to the database in a thread that starts with the first request."""

    def __init__(self, database: Database, timing: Timing) -> None:
        self._database = database
        self._engine = engine_for(database)
        self._outage = Outage(self._engine.outage_seconds, timing)
        self._keys = SpanKeys()
        self._parts: deque[_Part] = deque()
        self._jobs: deque[_Job[Any]] = deque()
        self._job_next = False
        self._waiting = threading.Condition()
        self._spans = 0
        self._bytes = 0
        self._thread: threading.Thread | None = None
        self._closed = False
        self._listeners: list[Callable[[int], None]] = []
        self._newest = 0
        self._log = connections.LogKeeper(database)
        self._segments_due = True
        """Whether a segment may be missing. It is true at first: an upgrade removes segments."""
        self._spans_since_segment = 0

    def listen(self, listener: Callable[[int], None]) -> None:
        """Call `listener` with the newest revision after every commit."""
        self._listeners.append(listener)

    def write(self, spans: Sequence[Span], redacted: Mapping[str, int]) -> Future[None]:
        """Queue spans for writing, as described in `TraceStore.write`.

        The calling thread prepares the spans.
        """
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # a request in the queue cannot be cancelled
        try:
            shares = _shares(spans)
        except RecursionError:
            done.set_exception(StoreError("A span's attributes are nested too deeply to be kept."))
            return done
        size = sum(size for _, size in shares)
        with self._waiting:
            refusal = self._refusal(len(spans), size)
            if refusal is None:
                self._spans += len(spans)
                self._bytes += size
        if refusal is not None:
            done.set_exception(refusal)
            return done
        ticket = _Ticket(done, len(shares))
        for number, (some, size) in enumerate(shares, 1):
            redactions = redacted if number == len(shares) else {}
            self._hand_over(some, size, ticket, redactions)
        return done

    def _hand_over(
        self, spans: Sequence[Span], size: int, ticket: _Ticket, redacted: Mapping[str, int]
    ) -> None:
        failure: BaseException | None = None
        prepared: Sequence[PreparedSpan] = ()
        try:
            prepared = prepare(spans, self._engine)
        except Exception as error:  # noqa: BLE001  (the future reports it)
            failure = error
        part = _Part(prepared, len(spans), size, ticket, redacted)
        with self._waiting:
            if failure is None and self._closed:
                failure = StoreError("it is closed")
            if failure is None:
                self._parts.append(part)
                self._start()
                self._waiting.notify_all()
                return
            self._spans -= part.spans
            self._bytes -= part.size
        self._settle([part], failure)

    def do(self, work: Callable[[Connection], T]) -> Future[T]:
        """Run `work` with the writer's connection between two commits. `work` must be short.

        The future's exception is a StoreError if the file could not be changed.
        """
        done: Future[T] = Future()
        done.set_running_or_notify_cancel()
        with self._waiting:
            if self._closed:
                raise StoreError("The trace store is closed.")
            self._jobs.append(_Job(work, done))
            self._start()
            self._waiting.notify_all()
        return done

    def edit(self, make: Callable[[Connection], Iterable[Span]]) -> Future[int]:
        """Write the new versions of stored spans that `make` returns.

        `make` reads the stored spans in the same transaction. The result of the future is the
        number of written spans.
        """

        def work(connection: Connection) -> int:
            with self._database.write(connection):
                prepared = prepare(make(connection), self._engine)
                span_merge.merge(connection, prepared, self._keys)
                read_newest = request_newest_revision(connection)
            self._announce(read_newest())
            return len(prepared)

        return self.do(work)

    def close(self) -> None:
        """Write the waiting spans, then end the thread. A second call does nothing."""
        with self._waiting:
            thread, self._thread, self._closed = self._thread, None, True
            self._waiting.notify_all()
        if thread is not None:
            thread.join()

    def _refusal(self, count: int, size: int) -> StoreError | None:
        if self._closed:
            return StoreError("The trace store is closed.")
        full = self._spans + count > PENDING_LIMIT or self._bytes + size > PENDING_BYTES
        if (
            full and self._spans
        ):  # if no span waits, a request of any size is accepted: it is already in memory
            return StoreBusyError(
                f"The trace store is too slow: {self._spans} spans wait.",
                hint="Try again in a second. If the error remains, check whether its disk is"
                " full, or another process has the file open.",
            )
        return None

    def _start(self) -> None:
        if self._thread is None:
            # Each statement and each compression releases the interpreter lock. While another
            # thread is busy with Python, the writer would wait 5 ms each time.
            sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_SECONDS))
            self._thread = threading.Thread(
                target=self._write_all, name="treadle-traces", daemon=True
            )
            self._thread.start()

    def _write_all(self) -> None:
        connection: Connection | None = None
        while (work := self._next()) is not None:
            taken = tuple(work) if isinstance(work, list) else ()
            done = False
            while not done:
                try:
                    if connection is not None and not self._database.is_usable(connection):
                        connection.close()
                        connection = None
                    connection = connection or self._connect()
                    self._do_work(connection, work)
                    done = True
                except Exception as error:  # noqa: BLE001  (the writer must serve later requests)
                    done = not self._can_repeat(connection, work, error)
                    if done:
                        self._fail(work, error)
                    if connection is not None:  # it may be in any state, so it is replaced
                        connection.close()
                        connection = None
            if taken:
                self._forget(taken)
        if connection is not None:
            self._log.empty(connection)
            connection.close()

    def _can_repeat(
        self, connection: Connection | None, work: _Group | _Job[Any] | _Pause, error: Exception
    ) -> bool:
        """Whether to repeat the work, because the connection is lost. Waits before that.

        After a loss, the server can hold the lock of the lost connection for a while.
        """
        if not isinstance(work, list) or not work or not isinstance(error, sqlite3.Error):
            return False
        blocked = self._outage.is_active and isinstance(error, sqlite3.OperationalError)
        lost = blocked or connection is None or not self._database.is_usable(connection)
        return lost and self._outage.wait()

    def _fail(self, work: _Group | _Job[Any] | _Pause, error: Exception) -> None:
        if isinstance(work, _Pause):
            self._segments_due = False  # further spans lead to the next attempt
            _log.error("The segments of the trace store were not updated", exc_info=error)
        elif isinstance(work, _Job):
            work.fail(error, self._database.error(error).hint)
        else:
            self._settle(work, error)

    def _connect(self) -> Connection:
        connection = self._database.connect()
        try:
            self._engine.prepare_writer(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _forget(self, group: Sequence[_Part]) -> None:
        with self._waiting:
            self._spans -= sum(part.spans for part in group)
            self._bytes -= sum(part.size for part in group)
        self._spans_since_segment += sum(part.spans for part in group)
        self._segments_due |= self._spans_since_segment >= _SEGMENT_CHECK_SPANS

    def _do_work(self, connection: Connection, work: _Group | _Job[Any] | _Pause) -> None:
        if isinstance(work, list):
            size = sum(part.size for part in work)
            self._commit(connection, work)
            self._log.keep_small(connection, size)
            self._engine.maintain(connection)
            return
        self._database.check_version(connection)
        if isinstance(work, _Pause):
            self._segments_due = segment_builder.advance(connection)
            self._log.keep_small(connection, _SEGMENT_BYTES * self._segments_due)
        else:
            work.done.set_result(work.work(connection))

    def _next(self) -> _Group | _Job[Any] | _Pause | None:
        """Return the next waiting spans up to a limit, the next job, or a pause.

        A pause is returned if a segment may be due, and either nothing waits or many spans were
        written. After `close`, the result is None as soon as nothing waits.
        """
        with self._waiting:
            if self._segments_due and self._spans_since_segment >= _SEGMENT_CHECK_SPANS:
                self._spans_since_segment = 0
                return _PAUSE
            while not self._parts and not self._jobs and not self._closed:
                if self._segments_due:
                    return _PAUSE
                self._waiting.wait()
            if self._jobs and (self._job_next or not self._parts):
                self._job_next = False
                return self._jobs.popleft()
            self._job_next = True
            group: _Group = []
            count = size = 0
            while self._parts:
                part = self._parts[0]
                count += part.spans
                size += part.size
                if group and (count > _GROUP_LIMIT or size > _GROUP_BYTES):
                    break
                group.append(self._parts.popleft())
            return group or None

    def _commit(self, connection: Connection, group: _Group) -> None:
        """Commit the group in one transaction. If that fails, commit each part separately.

        Afterwards, the group is empty. If the method raises an error, the group has the parts that
        are not settled.
        """
        try:
            arrivals = (arrival for part in group for arrival in part.prepared)
            prepared = most_complete(arrivals, self._engine)
            # An upgrade may add sums that this version of Treadle does not update.
            with self._database.write(connection):
                span_merge.merge(connection, prepared, self._keys)
                self._count_redactions(connection, group)
                read_newest = request_newest_revision(connection)
            newest = read_newest()
        except sqlite3.OperationalError:
            raise
        except Exception as error:
            if isinstance(error, sqlite3.Error) and not self._database.is_usable(connection):
                raise
            if len(group) == 1:
                self._settle(group, error)
                return
            while group:
                self._commit(connection, group[:1])
                del group[0]
            return
        self._outage.end()
        self._settle(group, None)
        self._announce(newest)

    def _count_redactions(self, connection: Connection, group: _Group) -> None:
        """Count the redactions of the parts, except those that a lost commit has counted."""
        for part in group:
            if not part.redacted:
                continue
            if part.counted_in and self._engine.is_committed(connection, part.counted_in):
                continue
            part.counted_in = self._engine.transaction_id(connection)
            span_merge.add_redactions(connection, part.redacted)

    def _announce(self, newest: int) -> None:
        if newest == self._newest:
            return
        self._newest = newest
        for listener in self._listeners:
            try:
                listener(newest)
            except Exception:  # noqa: BLE001  (the spans are already stored)
                _log.exception("A listener to the trace store failed")

    def _settle(self, group: _Group, error: BaseException | None) -> None:
        """Record the result of these parts, and empty the group.

        The request of a part is done when all its parts are settled.
        """
        while group:
            part = group.pop(0)
            ticket = part.ticket
            with self._waiting:  # the calling thread settles a part that it could not prepare
                if error is not None and ticket.failure is None:
                    ticket.failure = StoreError(
                        f"Spans could not be written to the trace store: {error}.",
                        hint=self._database.error(error).hint,
                    )
                    ticket.failure.__cause__ = error
                ticket.parts -= 1
                last = ticket.parts == 0
            if last and ticket.failure is None:
                ticket.done.set_result(None)
            elif last:
                ticket.done.set_exception(ticket.failure)


def _shares(spans: Sequence[Span]) -> list[tuple[Sequence[Span], int]]:
    """Split a request into batches that each fit into a commit. Returns each batch with its size.

    The result has at least one batch.

    """
    shares: list[tuple[Sequence[Span], int]] = []
    some: list[Span] = []
    size = 0
    for span in spans:
        more = _size(span)
        if some and (len(some) == _SHARE or size + more > _GROUP_BYTES):
            shares.append((some, size))
            some, size = [], 0
        some.append(span)
        size += more
    shares.append((some, size))
    return shares


def _size(span: Span) -> int:
    """Return the approximate size of a waiting span in memory."""
    events = sum(_size_of(event.attributes) for event in span.events)
    return _SPAN_BYTES + sum(
        map(_size_of, (span.input, span.output, span.attributes, span.resource)), start=events
    )


def _size_of(value: JsonValue) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(_size_of(item) for item in value.values()) + 100 * len(value)
    if isinstance(value, Sequence):
        return sum(map(_size_of, value)) + 100 * len(value)
    return 0
