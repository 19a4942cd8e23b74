"""Computes where the time of a trace was spent: own times of spans, and the critical path."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from treadle.diagnosis.evidence import SpanReference
from treadle.spans.forest import TreeSpan, arrange


class Timed(TreeSpan, Protocol):
    """A span with its position in a trace and its times in Unix microseconds."""

    @property
    def trace_id(self) -> str: ...
    @property
    def end_us(self) -> int | None: ...


T = TypeVar("T", bound=Timed)


def reference(span: Timed) -> SpanReference:
    """Return the identity of a span."""
    return SpanReference(span.trace_id, span.span_id)


def self_times(spans: Iterable[Timed]) -> Mapping[SpanReference, int]:
    """Return how many microseconds each span ran while none of its children ran.

    Concurrent children count once, and only within the time of their parent. A span without an end,
    or with an end before its start, has no own time. It does not reduce the own time of its parent.
    """
    known = {reference(span): span for span in spans}
    below: dict[SpanReference, list[tuple[int, int]]] = defaultdict(list)
    for span in known.values():
        if span.parent_id is None or span.parent_id == span.span_id or span.end_us is None:
            continue
        parent = known.get(SpanReference(span.trace_id, span.parent_id))
        if parent is None or parent.end_us is None:
            continue
        start, end = max(span.start_us, parent.start_us), min(span.end_us, parent.end_us)
        if start < end:
            below[reference(parent)].append((start, end))
    return {
        key: span.end_us - span.start_us - _covered(below[key])
        for key, span in known.items()
        if span.end_us is not None and span.end_us >= span.start_us
    }


def _covered(intervals: list[tuple[int, int]]) -> int:
    """Return the time that the intervals cover together. Overlaps count once."""
    covered, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached:
            covered += end - start
            reached = end
        elif end > reached:
            covered += end - reached
            reached = end
    return covered


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """The time in microseconds that a trace waited for a span, but not for its children.

    If `span` is None, no span ran during this time.
    """

    span: T | None
    own_us: int


@dataclass(slots=True)
class _Frame(Generic[T]):
    """A span on the stack of `critical_path`.

    The time from `at` to the end of the span is already assigned to steps.
    """

    span: T | None
    start: int
    at: int
    children: Sequence[T]
    """The children of the span. The child that ends last comes first."""
    place: int = 0


@dataclass(slots=True)
class _Walk(Generic[T]):
    owns: dict[SpanReference | None, int] = field(default_factory=dict)
    spans: dict[SpanReference | None, T | None] = field(default_factory=dict)

    def add(self, span: T | None, microseconds: int) -> None:
        if microseconds > 0:
            key = reference(span) if span is not None else None
            self.spans.setdefault(key, span)
            self.owns[key] = self.owns.get(key, 0) + microseconds


def critical_path(spans: Sequence[T]) -> tuple[Step[T], ...]:
    """Return the steps that a trace waited for, in order of time.

    Pass the spans of one trace. The times of the steps add up to the duration of the trace.

    The algorithm goes back in time from the end of the trace. At each moment, the parent waited for
    the child that ended last among the children that had begun. The algorithm takes linear time
    after sorting, and does not use recursion.
    """
    ended = [span for span in spans if span.end_us is not None and span.end_us > span.start_us]
    if not ended:
        return ()
    roots, children = _tree(ended)
    start, end = min(span.start_us for span in ended), max(_end(span) for span in ended)
    walk = _Walk[T]()
    frames = [_Frame[T](None, start, end, roots)]
    while frames:
        frame = frames[-1]
        child = _awaited(frame)
        if child is None:
            walk.add(frame.span, frame.at - frame.start)
            frames.pop()
            continue
        until = min(_end(child), frame.at)
        walk.add(frame.span, frame.at - until)
        frame.at = max(child.start_us, frame.start)
        below = children[reference(child)]
        frames.append(_Frame(child, frame.at, until, below))
    steps = [Step(walk.spans[key], own) for key, own in walk.owns.items()]
    return tuple(reversed(steps))


def _tree(spans: Sequence[T]) -> tuple[list[T], Mapping[SpanReference, list[T]]]:
    """Return the roots, and the children of each span.

    In each list, the last to end comes first.
    """
    roots: list[T] = []
    children: dict[SpanReference, list[T]] = defaultdict(list)
    for node in arrange(spans):
        if node.span is None:
            continue
        above = node.span.parent_id
        if node.depth and above is not None:
            children[SpanReference(node.span.trace_id, above)].append(node.span)
        else:
            roots.append(node.span)
    missing = children.keys() - {reference(span) for span in spans}
    for parent_id in sorted(missing):
        roots += children.pop(parent_id)
    for each in (roots, *children.values()):
        each.sort(key=lambda span: (-_end(span), span.start_us, span.span_id))
    return roots, children


def _awaited(frame: _Frame[T]) -> T | None:
    """Return the next child that the span waited for before `frame.at`, or None."""
    while frame.place < len(frame.children):
        child = frame.children[frame.place]
        frame.place += 1
        if frame.start < _end(child) and child.start_us < frame.at:
            return child
    return None


def _end(span: Timed) -> int:
    return span.end_us if span.end_us is not None else span.start_us
