"""Compares two traces, runs, threads or spans step by step.

A step is a span. The steps of both sides are aligned by their order, their kind and their name, so
that an additional step on one side does not move the steps after it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from itertools import islice, zip_longest

from treadle.diagnosis.comparison_records import (
    Aspect,
    ComparedSide,
    ComparedSpan,
    ComparedStep,
    TextChange,
    ToolCount,
    TraceComparison,
)
from treadle.diagnosis.comparison_summary import SameTexts, summarize
from treadle.diagnosis.span_messages import Message, Role, messages_in, read, tool_name
from treadle.diagnosis.span_text import indented, message_lines, repeated_messages
from treadle.events.types import Usage
from treadle.spans.forest import arrange
from treadle.spans.span import Span, SpanKind, Trace
from treadle.spans.totals import Totals, totals
from treadle.traces.store.search_text import newest_text, search_text
from treadle.traces.subjects import Subject

_MAX_ALIGNED = 4_000_000
"""The maximum product of the lengths of two lists of steps that are aligned by kind and name.

Aligning lists of this size takes about a second. The steps of longer lists are paired by their
positions. Steps at the beginning and the end of the lists do not count if both lists have them.
"""

_MAX_LINES = 2_000
_MAX_DIFF_LINES = 200
_MAX_LINE = 4_000
"""The maximum number of characters of a line in a difference."""

_MAX_COMPARED = 400_000
"""The maximum number of lines of all steps whose differences are searched."""

_EXCERPT = 200
_READ = 4_000
"""The number of characters of a text from which its excerpt is taken."""


@dataclass(frozen=True, slots=True)
class _Step:
    span: Span
    name: str
    depth: int
    input: Sequence[str]
    output: Sequence[str]

    @property
    def key(self) -> tuple[SpanKind, str]:
        return self.span.kind, self.name


def compare(
    subject_a: Subject, traces_a: Sequence[Trace], subject_b: Subject, traces_b: Sequence[Trace]
) -> TraceComparison:
    """Return the differences between two lists of traces. Each list has at least one span."""
    steps_a, steps_b = list(_steps(traces_a)), list(_steps(traces_b))
    calls_a, calls_b = _tool_calls(steps_a), _tool_calls(steps_b)
    differ = _Differ()
    a, b = _side(subject_a, traces_a), _side(subject_b, traces_b)
    same = SameTexts(
        question=_same(_question(traces_a[0]), _question(traces_b[0])),
        instructions=_same(_instructions(traces_a), _instructions(traces_b)),
        answer=_same(_answer(traces_a[-1]), _answer(traces_b[-1])),
    )
    tools = tuple(
        ToolCount(name, calls_a[name], calls_b[name]) for name in sorted(calls_a | calls_b)
    )
    return TraceComparison(
        a=a,
        b=b,
        same_question=same.question,
        same_instructions=same.instructions,
        same_answer=same.answer,
        tools=tools,
        steps=tuple(_compared(one, other, differ) for one, other in _aligned(steps_a, steps_b)),
        summary=summarize(a, b, tools, same),
    )


def _side(subject: Subject, traces: Sequence[Trace]) -> ComparedSide:
    spans = [span for trace in traces for span in trace.spans]
    first = min(span.start_us for span in spans)
    last = max(max(span.start_us, span.end_us or span.start_us) for span in spans)
    return ComparedSide(
        subject=subject,
        question=" ".join(_question(traces[0]).split())[:_EXCERPT],
        status=traces[-1].status,  # a thread has the status of its last run
        start_us=first,
        last_us=last,
        duration_us=last - first,
        unfinished=sum(span.end_us is None for span in spans),
        models=tuple(
            dict.fromkeys(
                span.model for span in spans if span.kind is SpanKind.MODEL and span.model
            )
        ),
        releases=tuple(dict.fromkeys(span.release for span in spans if span.release)),
        totals=_added([totals(trace.spans, trace.same_calls) for trace in traces]),
    )


def _same(a: str, b: str) -> bool | None:
    return a == b if a and b else None


def _question(trace: Trace) -> str:
    """Return the question of a run, as lists show it."""
    asked = trace.root.input if trace.root else None
    if asked is None:
        calls = (span.input for span in trace.spans if span.kind is SpanKind.MODEL)
        asked = next(filter(None, calls), None)
    return newest_text(asked, search_text(asked))


def _instructions(traces: Sequence[Trace]) -> str:
    """Return the system messages of the first model call that has an input."""
    calls = (
        span
        for trace in traces
        for span in trace.spans
        if span.kind is SpanKind.MODEL and span.input
    )
    first = next(calls, None)
    if first is None:
        return ""
    return "\n".join(text.text for text in read(first).texts if text.role is Role.SYSTEM)


def _answer(trace: Trace) -> str:
    """Return the output of the root, or else the output of the last model call that has one."""
    answered = trace.root.output if trace.root else None
    if answered is None:
        calls = [span.output for span in trace.spans if span.kind is SpanKind.MODEL]
        answered = next(filter(None, reversed(calls)), None)
    return search_text(answered)


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
            history, reply = _messages(span, span.input), _messages(span, span.output)
            asked = history
            if span.kind is SpanKind.MODEL:
                asked = history[repeated_messages(earlier, history) :]
                earlier = history
            yield _Step(
                span,
                _name(span),
                node.depth,
                _lines(span.input, history, asked),
                _lines(span.output, reply, reply),
            )


def _messages(span: Span, text: str | None) -> Sequence[Message]:
    """Return the messages in a text of a span, or nothing if the text is not a list of messages.

    The lines of a text without messages are compared instead.
    """
    if span.kind is not SpanKind.MODEL and not (text or "").lstrip().startswith("["):
        return ()
    found = messages_in(text)
    return found if all(message.texts or message.calls for message in found) else ()


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


class _Differ:
    """Finds the differences of texts, until it has read `_MAX_COMPARED` lines."""

    def __init__(self) -> None:
        self._lines = 0

    def change(self, aspect: Aspect, a: Sequence[str], b: Sequence[str]) -> TextChange | None:
        """Return the difference of two texts, or None if they are equal."""
        if a == b:
            return None
        self._lines += min(len(a), _MAX_LINES) + min(len(b), _MAX_LINES)
        if self._lines > _MAX_COMPARED:
            return TextChange(aspect, (), cut=True)
        lines = unified_diff(a[:_MAX_LINES], b[:_MAX_LINES], n=2, lineterm="")
        shown = tuple(islice(lines, 2, 2 + _MAX_DIFF_LINES))  # the first two lines name files
        is_cut = (
            next(lines, None) is not None
            or max(len(a), len(b)) > _MAX_LINES
            or any(len(line) > _MAX_LINE for line in shown)
        )
        return TextChange(aspect, tuple(line[:_MAX_LINE] for line in shown), is_cut)


_FIGURES = (Aspect.STATUS, Aspect.ERROR, Aspect.MODEL, Aspect.TOKENS, Aspect.COST)


def _compared(a: _Step | None, b: _Step | None, differ: _Differ) -> ComparedStep:
    step = a or b
    assert step is not None  # a pair has at least one step
    changes: list[Aspect] = []
    texts: list[TextChange] = []
    if a is not None and b is not None:
        found = (
            differ.change(Aspect.INPUT, a.input, b.input),
            differ.change(Aspect.OUTPUT, a.output, b.output),
        )
        texts = [change for change in found if change is not None]
        changes = [each for each in _FIGURES if getattr(a.span, each) != getattr(b.span, each)]
        changes += [text.aspect for text in texts]
    return ComparedStep(
        kind=step.span.kind,
        name=step.name,
        depth=step.depth,
        a=_span(a),
        b=_span(b),
        changes=tuple(changes),
        texts=tuple(texts),
    )


def _span(step: _Step | None) -> ComparedSpan | None:
    if step is None:
        return None
    span = step.span
    shown = span.input if span.kind is SpanKind.TOOL else span.output or span.input
    return ComparedSpan(
        trace_id=span.trace_id,
        span_id=span.span_id,
        status=span.status,
        error=span.error,
        model=span.model,
        duration_us=span.duration_us,
        tokens=span.tokens,
        cost=span.cost,
        excerpt=" ".join(search_text((shown or "")[:_READ]).split())[:_EXCERPT],
    )
