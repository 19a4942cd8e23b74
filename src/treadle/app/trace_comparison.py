"""Compares two recorded traces, runs, threads or spans."""

from collections.abc import Sequence

from treadle.diagnosis.comparison import compare
from treadle.diagnosis.comparison_records import TraceComparison
from treadle.errors import NotFoundError, UsageError
from treadle.spans.span import Trace
from treadle.traces import TraceStore
from treadle.traces.subjects import Subject, find_subject, traces_of

_MAX_SPANS = 10_000
"""The maximum number of spans of one side.

The number is limited because both sides are in memory.
"""


def compare_recorded(store: TraceStore, a: str, b: str) -> TraceComparison:
    """Return the differences between the traces, runs, threads or spans with the ids `a` and `b`.

    Raises NotFoundError and UsageError as `find_subject` does, and UsageError for a side with too
    many spans.
    """
    subject_a, traces_a = _read(store, "A", a)
    subject_b, traces_b = _read(store, "B", b)
    return compare(subject_a, traces_a, subject_b, traces_b)


def _read(store: TraceStore, side: str, reference: str) -> tuple[Subject, Sequence[Trace]]:
    try:
        subject = find_subject(store, reference)
        traces: list[Trace] = []
        spans = 0
        for trace in traces_of(store, subject):
            spans += len(trace.spans)
            if spans > _MAX_SPANS:
                raise UsageError(
                    f"The {subject} has more than {_MAX_SPANS:,} spans, which is too long to "
                    "compare.",
                    hint="Compare single runs of it.",
                )
            traces.append(trace)
    except NotFoundError as error:
        raise NotFoundError(
            f"{side} does not exist: nothing is recorded under {reference}.",
            hint="It was deleted, or the id is incomplete.",
        ) from error
    return subject, traces
