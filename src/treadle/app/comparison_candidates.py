"""Finds the runs or threads with which a person may want to compare a run, trace or thread."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from treadle.spans.span import SpanStatus
from treadle.traces import TraceStore
from treadle.traces.own_spans import without_own
from treadle.traces.query import Condition, Field, Operator, Query, Sort, any_of
from treadle.traces.store.results import RunSummary, ThreadSummary
from treadle.traces.subjects import Subject, SubjectKind, find_subject

_OF_EACH_REASON = 5
_READ = 50
"""The maximum number of rows that are read to find the candidates of one reason."""
_SEARCHED = 200
"""The store is searched for this many characters at the beginning of a question."""


class CandidateReason(StrEnum):
    """Why a run or a thread is a candidate."""

    PREVIOUS = "previous"
    """The previous run of the thread."""
    NEXT = "next"
    """The next run of the thread."""
    SAME_QUESTION = "same_question"
    SAME_NAME = "same_name"
    RECENT = "recent"


@dataclass(frozen=True, slots=True)
class ComparisonCandidate:
    """A run or a thread, as the page offers it for a comparison.

    `status` is None for a thread.
    """

    reason: CandidateReason
    subject: Subject
    title: str
    start_us: int
    status: SpanStatus | None
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparisonCandidates:
    """The candidates for a subject, the most similar first."""

    subject: Subject
    data: tuple[ComparisonCandidate, ...]


def comparison_candidates(store: TraceStore, reference: str) -> ComparisonCandidates:
    """Return the candidates for the trace, run or thread with the id `reference`.

    Raises NotFoundError and UsageError as `find_subject` does.
    """
    subject = find_subject(store, reference)
    if subject.kind is SubjectKind.THREAD:
        found = _threads(store, subject.id)
    else:
        field = Field.TRACE if subject.kind is SubjectKind.TRACE else Field.RUN
        runs = store.runs(Query((any_of(field, [subject.id]),)), limit=1).data
        found = _runs(store, runs[0]) if runs else iter(())
    return ComparisonCandidates(subject, tuple(_distinct(found)))


def _distinct(candidates: Iterable[ComparisonCandidate]) -> Iterator[ComparisonCandidate]:
    """Yield each subject once, with its first reason."""
    known: set[Subject] = set()
    for candidate in candidates:
        if candidate.subject not in known:
            known.add(candidate.subject)
            yield candidate


def _runs(store: TraceStore, run: RunSummary) -> Iterator[ComparisonCandidate]:
    def found(reason: CandidateReason, runs: Iterable[RunSummary]) -> list[ComparisonCandidate]:
        others = [_of_run(reason, each) for each in runs if each.run_id != run.run_id]
        return others[: 1 if reason in _NEIGHBOURS else _OF_EACH_REASON]

    in_thread = Query((any_of(Field.THREAD, [run.thread_id]),))
    before = Query((Condition(Field.START, Operator.LESS, (run.start_us,)),))
    after = Query((Condition(Field.START, Operator.MORE, (run.start_us,)),))
    earlier = store.runs(in_thread & before, limit=2).data
    yield from found(CandidateReason.PREVIOUS, earlier)
    later = store.runs(in_thread & after, sort=Sort(ascending=True), limit=_READ).data
    yield from found(CandidateReason.NEXT, (each for each in later if each.start_us > run.start_us))
    if run.question:
        alike = store.runs(_containing(run.question), limit=_READ).data
        same = (each for each in alike if each.question == run.question)
        yield from found(CandidateReason.SAME_QUESTION, same)
    named = store.runs(without_own(Query((any_of(Field.NAME, [run.name]),))), limit=_READ).data
    yield from found(CandidateReason.SAME_NAME, (each for each in named if each.name == run.name))
    recent = store.runs(without_own(Query()), limit=_OF_EACH_REASON + 1).data
    yield from found(CandidateReason.RECENT, recent)


_NEIGHBOURS = (CandidateReason.PREVIOUS, CandidateReason.NEXT)


def _threads(store: TraceStore, thread_id: str) -> Iterator[ComparisonCandidate]:
    own = store.threads(Query((any_of(Field.THREAD, [thread_id]),)), limit=1).data
    title = own[0].title if own else None
    if title:
        alike = store.threads(_containing(title), limit=_READ).data
        same = [each for each in alike if each.title == title and each.thread_id != thread_id]
        for thread in same[:_OF_EACH_REASON]:
            yield _of_thread(CandidateReason.SAME_QUESTION, thread)
    for thread in store.threads(without_own(Query()), limit=_OF_EACH_REASON + 1).data:
        if thread.thread_id != thread_id:
            yield _of_thread(CandidateReason.RECENT, thread)


def _containing(question: str) -> Query:
    words = question[:_SEARCHED]
    if len(question) > _SEARCHED:
        words = words.rpartition(" ")[0] or words
    return without_own(Query((Condition(Field.TEXT, Operator.CONTAINS, (words,)),)))


def _of_run(reason: CandidateReason, run: RunSummary) -> ComparisonCandidate:
    return ComparisonCandidate(
        reason,
        Subject(SubjectKind.RUN, run.run_id),
        run.question or run.name,
        run.start_us,
        run.status,
        run.models,
    )


def _of_thread(reason: CandidateReason, thread: ThreadSummary) -> ComparisonCandidate:
    subject = Subject(SubjectKind.THREAD, thread.thread_id)
    title = thread.title or thread.thread_id
    return ComparisonCandidate(reason, subject, title, thread.start_us, None, thread.models)
