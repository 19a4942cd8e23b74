"""Compares two traces, runs or threads step by step.

A step is a span. The steps of both sides are aligned by their order, their kind and their name, so
that an additional step on one side does not move the steps after it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from enum import StrEnum
from itertools import islice, zip_longest

from treadle.diagnosis.span_messages import Message, read, tool_name
from treadle.diagnosis.span_text import indented, message_lines, repeated_messages
from treadle.events.types import Usage
from treadle.spans.forest import arrange
from treadle.spans.span import Span, SpanKind, SpanStatus, Trace
from treadle.spans.totals import Totals, totals

_MAX_ALIGNED = 4_000_000
"""The maximum product of the lengths of two lists of steps that are aligned by kind and name.

Aligning the largest allowed lists takes about a second. The steps of longer lists are paired by
their positions. The common steps at both ends are removed from the lists first.
"""

_MAX_LINES = 2_000
_MAX_DIFF_LINES = 200


class Aspect(StrEnum):
    """A property in which the two spans of a step can differ."""

    STATUS = "status"
    ERROR = "error"
    MODEL = "model"
    INPUT = "input"
    OUTPUT = "output"
    TOKENS = "tokens"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class ComparedSpan:
    """The figures of one span of a step."""

    trace_id: str
    span_id: str
    status: SpanStatus
    error: str | None
    model: str | None
    duration_us: int | None
    tokens: Usage
    cost: float | None


@dataclass(frozen=True, slots=True)
class TextChange:
    """The difference of a text, as lines of a unified diff.

    `cut` is true if the text or the difference is too long to be shown in full.
    """

    aspect: Aspect
    lines: tuple[str, ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class ComparedStep:
    """A step of the aligned lists. `a` or `b` is None if that side does not have the step.

    `changes` does not include the duration, which differs nearly always. The input of a model call
    is compared without the messages that repeat those of the previous model call.
    """

    kind: SpanKind
    name: str
    a: ComparedSpan | None
    b: ComparedSpan | None
    changes: tuple[Aspect, ...]
    texts: tuple[TextChange, ...]


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """The figures of one side.

    `duration_us` is the time from the first start to the last known end.
    """

    name: str
    status: SpanStatus
    duration_us: int
    totals: Totals


@dataclass(frozen=True, slots=True)
class ToolCount:
    """The number of calls of a tool on both sides."""

    name: str
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class TraceComparison:
    """The differences between two traces, runs or threads."""

    a: ComparedSide
    b: ComparedSide
    tools: tuple[ToolCount, ...]
    steps: tuple[ComparedStep, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    span: Span
    name: str
    input: Sequence[str]
    output: Sequence[str]

    @property
    def key(self) -> tuple[SpanKind, str]:
        return self.span.kind, self.name


def compare(
    name_a: str, traces_a: Sequence[Trace], name_b: str, traces_b: Sequence[Trace]
) -> TraceComparison:
    """Return the differences between two lists of traces. Each list has at least one span."""
    steps_a, steps_b = list(_steps(traces_a)), list(_steps(traces_b))
    calls_a, calls_b = _tool_calls(steps_a), _tool_calls(steps_b)
    return TraceComparison(
        _side(name_a, traces_a),
        _side(name_b, traces_b),
        tuple(ToolCount(name, calls_a[name], calls_b[name]) for name in sorted(calls_a | calls_b)),
        tuple(_compared(a, b) for a, b in _aligned(steps_a, steps_b)),
    )


def _side(name: str, traces: Sequence[Trace]) -> ComparedSide:
    spans = [span for trace in traces for span in trace.spans]
    last = max(max(span.start_us, span.end_us or span.start_us) for span in spans)
    found = _added([totals(trace.spans, trace.same_calls) for trace in traces])
    # A thread has the status of its last run.
    return ComparedSide(name, traces[-1].status, last - min(span.start_us for span in spans), found)


def _added(every: Sequence[Totals]) -> Totals:
    costs = [each.cost for each in every if each.cost is not None]

    def tokens(name: str) -> int | None:
        known = [n for each in every if (n := getattr(each.tokens, name)) is not None]
        return sum(known) if known else None

    return Totals(
        spans=sum(each.spans for each in every),
        model_calls=sum(each.model_calls for each in every),
        tool_calls=sum(each.tool_calls for each in every),
        failed=sum(each.failed for each in every),
        tokens=Usage(
            input=tokens("input"),
            output=tokens("output"),
            cached=tokens("cached"),
            reasoning=tokens("reasoning"),
            cache_write=tokens("cache_write"),
        ),
        cost=sum(costs) if costs else None,
        unmetered=sum(each.unmetered for each in every),
        unpriced=sum(each.unpriced for each in every),
    )


def _steps(traces: Sequence[Trace]) -> Iterator[_Step]:
    """Yield the steps in the order of the trees."""
    earlier: Sequence[Message] = ()
    for trace in traces:
        for node in arrange(trace.spans):
            span = node.span
            if span is None:
                continue
            reading = read(span)
            asked = reading.history
            if span.kind is SpanKind.MODEL:
                asked = asked[repeated_messages(earlier, asked) :]
                earlier = reading.history
            yield _Step(
                span,
                _name(span),
                _lines(span.input, reading.history, asked),
                _lines(span.output, reading.reply, reading.reply),
            )


def _name(span: Span) -> str:
    """Return the name by which a step is aligned. It omits the model, which may differ."""
    match span.kind:
        case SpanKind.MODEL | SpanKind.EMBEDDING:
            return span.operation
        case SpanKind.TOOL:
            return tool_name(span)
        case _:
            return span.name


def _lines(
    text: str | None, messages: Sequence[Message], shown: Sequence[Message]
) -> Sequence[str]:
    if text is None:
        return ()
    return list(message_lines(shown)) if messages else indented(text).splitlines()


def _tool_calls(steps: Sequence[_Step]) -> Counter[str]:
    return Counter(step.name for step in steps if step.span.kind is SpanKind.TOOL)


def _aligned(
    steps_a: Sequence[_Step], steps_b: Sequence[_Step]
) -> Iterator[tuple[_Step | None, _Step | None]]:
    """Yield the pairs of steps. A step without a counterpart is paired with None."""
    start = 0
    shortest = min(len(steps_a), len(steps_b))
    while start < shortest and steps_a[start].key == steps_b[start].key:
        start += 1
    end = 0
    while end < shortest - start and steps_a[-1 - end].key == steps_b[-1 - end].key:
        end += 1
    yield from zip(steps_a[:start], steps_b[:start], strict=True)
    middle_a = steps_a[start : len(steps_a) - end]
    middle_b = steps_b[start : len(steps_b) - end]
    if len(middle_a) * len(middle_b) > _MAX_ALIGNED:
        yield from _by_position(middle_a, middle_b)
    else:
        yield from _by_name(middle_a, middle_b)
    yield from zip(steps_a[len(steps_a) - end :], steps_b[len(steps_b) - end :], strict=True)


def _by_name(
    steps_a: Sequence[_Step], steps_b: Sequence[_Step]
) -> Iterator[tuple[_Step | None, _Step | None]]:
    matcher = SequenceMatcher(
        None, [step.key for step in steps_a], [step.key for step in steps_b], autojunk=False
    )
    for operation, a0, a1, b0, b1 in matcher.get_opcodes():
        if operation == "equal":
            yield from zip(steps_a[a0:a1], steps_b[b0:b1], strict=True)
        else:
            yield from ((step, None) for step in steps_a[a0:a1])
            yield from ((None, step) for step in steps_b[b0:b1])


def _by_position(
    steps_a: Sequence[_Step], steps_b: Sequence[_Step]
) -> Iterator[tuple[_Step | None, _Step | None]]:
    for a, b in zip_longest(steps_a, steps_b):
        if a is None or b is None or a.key == b.key:
            yield a, b
        else:
            yield a, None
            yield None, b


def _compared(a: _Step | None, b: _Step | None) -> ComparedStep:
    step = a or b
    assert step is not None  # a pair has at least one step
    found_a, found_b = _span(a), _span(b)
    changes: list[Aspect] = []
    texts: list[TextChange] = []
    if a is not None and b is not None:
        texts = [
            change
            for aspect, one, other in (
                (Aspect.INPUT, a.input, b.input),
                (Aspect.OUTPUT, a.output, b.output),
            )
            if (change := _text_change(aspect, one, other)) is not None
        ]
        changes = [
            aspect
            for aspect in (
                Aspect.STATUS,
                Aspect.ERROR,
                Aspect.MODEL,
                Aspect.TOKENS,
                Aspect.COST,
            )
            if getattr(a.span, aspect) != getattr(b.span, aspect)
        ]
        changes += [text.aspect for text in texts]
    return ComparedStep(step.span.kind, step.name, found_a, found_b, tuple(changes), tuple(texts))


def _span(step: _Step | None) -> ComparedSpan | None:
    if step is None:
        return None
    span = step.span
    return ComparedSpan(
        trace_id=span.trace_id,
        span_id=span.span_id,
        status=span.status,
        error=span.error,
        model=span.model,
        duration_us=span.duration_us,
        tokens=span.tokens,
        cost=span.cost,
    )


def _text_change(aspect: Aspect, a: Sequence[str], b: Sequence[str]) -> TextChange | None:
    if a == b:
        return None
    lines = unified_diff(a[:_MAX_LINES], b[:_MAX_LINES], n=2, lineterm="")
    shown = tuple(islice(lines, 2, 2 + _MAX_DIFF_LINES))  # the first two lines name files
    is_cut = next(lines, None) is not None or max(len(a), len(b)) > _MAX_LINES
    return TextChange(aspect, shown, is_cut)
