"""Finds the trace, the run or the thread that an id names, and reads its traces."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from treadle.errors import NotFoundError
from treadle.ids import is_last
from treadle.spans.span import Trace
from treadle.traces.query import Field, Query, Sort, any_of
from treadle.traces.store.sqlite_store import SqliteTraceStore

_PAGE = 100


class SubjectKind(StrEnum):
    """The kind of a subject."""

    TRACE = "trace"
    RUN = "run"
    THREAD = "thread"


@dataclass(frozen=True, slots=True)
class Subject:
    """A trace, a run or a thread, by its whole id."""

    kind: SubjectKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


def find_subject(store: SqliteTraceStore, reference: str) -> Subject:
    """Return the subject that `reference` names.

    `reference` is LAST for the trace that started last, a whole id, or a prefix of the id of a
    trace. If a trace, a run and a thread have the same whole id, the trace is returned, or else the
    run. Raises NotFoundError if nothing matches, and UsageError if several traces have the prefix.
    """
    if not is_last(reference):
        if store.spans(Query((any_of(Field.TRACE, [reference]),)), limit=1).data:
            return Subject(SubjectKind.TRACE, reference)
        if store.runs(Query((any_of(Field.RUN, [reference]),)), limit=1).data:
            return Subject(SubjectKind.RUN, reference)
        if store.threads(Query((any_of(Field.THREAD, [reference]),)), limit=1).data:
            return Subject(SubjectKind.THREAD, reference)
    return Subject(SubjectKind.TRACE, store.trace(reference).trace_id)


def traces_of(store: SqliteTraceStore, subject: Subject) -> Iterator[Trace]:
    """Yield the trace, or the run, or each run of the thread in order of time.

    Each run is one `Trace` with the spans of all its traces. Raises NotFoundError if the subject
    does not exist.
    """
    match subject.kind:
        case SubjectKind.TRACE:
            yield store.trace(subject.id)
        case SubjectKind.RUN:
            yield store.run(subject.id)
        case SubjectKind.THREAD:
            yield from _runs_of(store, subject.id)


def _runs_of(store: SqliteTraceStore, thread_id: str) -> Iterator[Trace]:
    query = Query((any_of(Field.THREAD, [thread_id]),))
    cursor: str | None = None
    found = False
    while True:
        page = store.runs(query, sort=Sort(ascending=True), limit=_PAGE, cursor=cursor)
        for run in page.data:
            found = True
            yield store.run(run.run_id)
        cursor = page.pagination.next_cursor
        if cursor is None:
            break
    if not found:
        raise NotFoundError(
            f"There is no thread {thread_id}.", hint="`treadle traces list --threads` lists them."
        )
