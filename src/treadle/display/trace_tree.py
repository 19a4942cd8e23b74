"""Formats a trace as rows of a tree, as lines of text, and as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from treadle.diagnosis.record_faults import RecordFaultKind, record_faults
from treadle.diagnosis.span_messages import Message, Role, messages_in, read
from treadle.display.call_arguments import short_arguments
from treadle.display.lines import DETAIL_CHARACTERS, one_line
from treadle.events.types import Usage
from treadle.spans.forest import Node, arrange
from treadle.spans.span import (
    Attributes,
    JsonValue,
    SameCall,
    Span,
    SpanEvent,
    SpanKind,
    SpanStatus,
    Trace,
)
from treadle.spans.totals import Totals, totals
from treadle.traces.amounts import cost, duration, tokens, total_cost
from treadle.visible import in_line, printable


class Symbol(StrEnum):
    """The symbol in front of a row of the tree."""

    OK = "✓"
    ERROR = "✗"
    CANCELLED = "⊘"
    DENIED = "⊖"
    TIMEOUT = "◷"
    UNFINISHED = "…"
    EVENT = "•"
    MISSING = "?"


_SYMBOLS = {
    SpanStatus.OK: Symbol.OK,
    SpanStatus.ERROR: Symbol.ERROR,
    SpanStatus.CANCELLED: Symbol.CANCELLED,
    SpanStatus.DENIED: Symbol.DENIED,
    SpanStatus.UNFINISHED: Symbol.UNFINISHED,
}


FAILURE_SYMBOLS = {
    "timeout": Symbol.TIMEOUT,
    "cancelled": Symbol.CANCELLED,
    "denied": Symbol.DENIED,
}
"""Maps kinds of failures to symbols.

These are the failures whose reason is outside of the tool.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the tree. All its texts are safe to print on a terminal.

    `offset_us` is the time since the start of the trace. `notes` are further lines below the row,
    such as the sources of a retrieval. `span_id` is None if the row is an event of a span.
    """

    depth: int
    symbol: Symbol
    name: str
    detail: str
    notes: tuple[str, ...] = ()
    span_id: str | None = None
    offset_us: int | None = None
    duration_us: int | None = None
    tokens: Usage | None = None
    cost: float | None = None
    time_to_first_token_us: int | None = None


@dataclass(frozen=True, slots=True)
class TraceView:
    """A trace as the terminal shows it: its status, its answer, and the rows of its tree."""

    trace_id: str
    run_id: str | None
    thread_id: str | None
    status: SpanStatus
    stop_reason: str | None
    answer: str | None
    error: str | None
    start_us: int
    duration_us: int | None
    rows: tuple[Row, ...]
    totals: Totals
    user: str | None = None
    release: str | None = None

    @property
    def origin(self) -> str:
        """The user and the release of the root in one line. It is empty if both are unknown."""
        known = (("user", self.user), ("release", self.release))
        return "  ".join(f"{name} {one_line(value)}" for name, value in known if value)


def view_trace(trace: Trace) -> TraceView:
    """Build the view of a trace, which must have at least one span."""
    start_us = min(span.start_us for span in trace.spans)
    root = trace.root
    stop_reason = root.attributes.get("treadle.stop_reason") if root else None
    return TraceView(
        trace_id=trace.trace_id,
        run_id=next((span.run_id for span in trace.spans if span.run_id), None),
        thread_id=next((span.thread_id for span in trace.spans if span.thread_id), None),
        status=trace.status,
        stop_reason=str(stop_reason) if stop_reason else None,
        answer=_answer(root) if root else None,
        error=printable(root.error) if root and root.error is not None else None,
        start_us=start_us,
        duration_us=trace.duration_us,
        rows=tuple(_rows(arrange(trace.spans), start_us, trace.same_calls)),
        totals=totals(trace.spans, trace.same_calls),
        user=root.user if root else None,
        release=root.release if root else None,
    )


def trace_to_json(trace: Trace) -> dict[str, JsonValue]:
    """Convert a trace into JSON values, with its totals and with all spans in full."""
    view = view_trace(trace)
    return {
        "trace_id": view.trace_id,
        "run_id": view.run_id,
        "thread_id": view.thread_id,
        "user": view.user,
        "release": view.release,
        "status": view.status.value,
        "stop_reason": view.stop_reason,
        "question": trace.root.input if trace.root else None,
        "answer": trace.root.output if trace.root else None,
        "error": trace.root.error if trace.root else None,
        "start_us": view.start_us,
        "duration_us": view.duration_us,
        "totals": asdict(view.totals),
        "marks": {
            span.span_id: [fault.kind.value for fault in found]
            for span in trace.spans
            if (found := record_faults(span))
        },
        "same_calls": {span_id: asdict(same) for span_id, same in trace.same_calls.items()},
        "spans": [span.to_json() for span in trace.spans],
    }


def _rows(
    nodes: list[Node[Span]], start_us: int, same_calls: Mapping[str, SameCall]
) -> Iterator[Row]:
    """Yield the rows of the nodes.

    The rows of the events of a span are between the rows of its children, in the order of time.
    """
    waiting: list[tuple[int, list[SpanEvent]]] = []
    for node in nodes:
        until = node.span.start_us if node.span else None
        while waiting and waiting[-1][0] >= node.depth:
            depth, events = waiting.pop()
            yield from _event_rows(events, depth, start_us)
        if waiting and until is not None:
            depth, events = waiting[-1]
            yield from _event_rows(
                [event for event in events if event.at_us <= until], depth, start_us
            )
            events[:] = [event for event in events if event.at_us > until]
        yield _row(node, start_us, same_calls.get(node.span_id))
        if node.span:
            shown = [event for event in node.span.events if not _is_error_of(event, node.span)]
            waiting.append((node.depth, sorted(shown, key=lambda event: event.at_us)))
    for depth, events in reversed(waiting):
        yield from _event_rows(events, depth, start_us)


def _is_error_of(event: SpanEvent, span: Span) -> bool:
    """Return whether an event only repeats the error of its span, which the row already shows."""
    message = event.attributes.get("exception.message")
    return event.name == "exception" and bool(message) and str(message) in (span.error or "")


def _event_rows(events: list[SpanEvent], depth: int, start_us: int) -> Iterator[Row]:
    for event in events:
        yield Row(
            depth=depth + 1,
            symbol=Symbol.EVENT,
            name=event.name.replace("_", " "),
            detail=_event_detail(event),
            offset_us=event.at_us - start_us,
        )


def _row(node: Node[Span], start_us: int, same_call: SameCall | None) -> Row:
    span = node.span
    if span is None:
        return Row(
            depth=node.depth,
            symbol=Symbol.MISSING,
            name="missing parent",
            detail=f"span {one_line(node.span_id)} was never recorded",
        )
    notes = [*_sources(span.attributes), *_index(span.attributes), *_estimate(span)]
    if same_call is not None:
        counts = "this span counts" if same_call.counted else "the other span counts"
        other = f"trace {same_call.other.trace_id}, span {same_call.other.span_id}"
        notes.append(f"same call as {one_line(other, 2 * DETAIL_CHARACTERS)}: {counts}")
    if node.cycle:
        notes.append("cycle: this span is its own ancestor, so it is shown as a root")
    notes += [
        one_line(fault.message, 2 * DETAIL_CHARACTERS)
        for fault in record_faults(span)
        if not (node.cycle and fault.kind is RecordFaultKind.OWN_PARENT)
    ]
    if span.error is not None:
        notes.append(f"error: {one_line(span.error, 2 * DETAIL_CHARACTERS)}")
    hint = span.attributes.get("treadle.hint") or span.attributes.get("treadle.error.hint")
    if hint:
        notes.append(f"hint: {one_line(str(hint), 2 * DETAIL_CHARACTERS)}")
    if span.attributes.get("treadle.error.effect") == "unknown":
        notes.append("effect unknown: it may have changed something")
    failure = str(span.attributes.get("error.type"))
    return Row(
        depth=node.depth,
        symbol=FAILURE_SYMBOLS.get(failure, _SYMBOLS[span.status]),
        name=_NAMES.get(span.kind) or one_line(_tool_name(span)),
        detail=_detail(span),
        notes=tuple(notes),
        span_id=span.span_id,
        offset_us=span.start_us - start_us,
        duration_us=span.duration_us,
        tokens=span.tokens if span.tokens != Usage() else None,
        cost=span.cost,
        time_to_first_token_us=span.time_to_first_token_us,
    )


_NAMES = {
    SpanKind.RUN: "run",
    SpanKind.MODEL: "model",
    SpanKind.RETRIEVAL: "retrieval",
    SpanKind.APPROVAL: "approval",
}


def _tool_name(span: Span) -> str:
    return str(span.attributes.get("gen_ai.tool.name") or span.name)


def _detail(span: Span) -> str:
    match span.kind:
        case SpanKind.RUN | SpanKind.AGENT:
            detail = one_line(_question(span))
        case SpanKind.MODEL:
            outcome = _reply(span)
            model = one_line(span.model or "unknown model")
            if span.attributes.get("treadle.purpose") == "summary":
                model += " (to sum up the conversation)"
            detail = f"{model} {outcome}".rstrip()
        case SpanKind.TOOL:
            detail = _tool_detail(span)
        case SpanKind.RETRIEVAL:
            detail = _retrieval_detail(span)
        case SpanKind.APPROVAL:
            answer = f" → {span.output}" if span.output else ""
            detail = one_line(f"{span.input or ''}{answer}")
        case _:
            detail = ""
    return detail


def _tool_detail(span: Span) -> str:
    arguments = span.input or ""
    detail = one_line(short_arguments(arguments), 80)
    if arguments.lstrip()[:1] in {"{", "["} and _json(arguments) is None:
        detail += " (invalid JSON)"
    outcome = span.attributes.get("treadle.summary") or span.attributes.get("error.type")
    return f"{detail} → {one_line(str(outcome))}".lstrip() if outcome else detail


def _retrieval_detail(span: Span) -> str:
    found = span.attributes.get("treadle.retrieval.sources")
    sources = len(found) if isinstance(found, list) else 0
    figure = _figures(span.attributes)
    parts = [
        f"“{one_line(span.input or '', 80)}”",
        "1 source" if sources == 1 else f"{sources} sources",
    ]
    if figure.get("omitted", "0") != "0":
        parts.append(f"{figure['omitted']} left out")
    if "tokens" in figure and "budget" in figure:
        parts.append(f"{figure['tokens']} of {figure['budget']} tokens")
    return ", ".join(parts)


def _index(attributes: Attributes) -> Iterator[str]:
    figure = _figures(attributes)
    if "files" in figure and "items" in figure:
        yield f"searched an index of {figure['files']} files, {figure['items']} items"


def _estimate(span: Span) -> Iterator[str]:
    """Yield notes about the error of the token estimate, and about unknown token counts."""
    estimated = span.attributes.get("treadle.estimated_tokens")
    error = span.attributes.get("treadle.estimate_error")
    # An error above 100 % means that the two counts refer to different texts. This happens with the
    # small model that Treadle contains.
    if isinstance(estimated, int) and isinstance(error, float) and abs(error) <= 1:
        yield f"estimated at {estimated:,} tokens in, {error:+.0%} off"
    if span.kind is SpanKind.MODEL and span.status is SpanStatus.CANCELLED:
        yield "its tokens are unknown: it was interrupted"


def _figures(attributes: Attributes) -> dict[str, str]:
    """Map the last part of the name of each integer attribute to its formatted value."""
    return {
        name.rpartition(".")[2]: f"{value:,}"
        for name, value in attributes.items()
        if isinstance(value, int)
    }


def _sources(attributes: Attributes) -> Iterator[str]:
    sources = attributes.get("treadle.retrieval.sources")
    for source in sources if isinstance(sources, list) else []:
        if isinstance(source, Mapping):
            lines = f"{source.get('start_line')}-{source.get('end_line')}"
            name = source.get("name") or ""
            yield one_line(f"{source.get('file')}:{lines} {name}")


def _reply(span: Span) -> str:
    """Describe a reply of a model by its tool calls. Without calls, use the start of its text."""
    if span.output is None:
        return ""
    messages = _reply_messages(span)
    if not messages:
        return f"→ {one_line(span.output, 80)}"
    calls = [call.name for message in messages for call in message.calls]
    if calls:
        return f"→ calls {one_line(', '.join(calls))}"
    return f"→ {one_line(_reply_text(messages) or '(no text)', 80)}"


def _answer(root: Span) -> str | None:
    """Return the answer of a trace.

    If the output of the root is a list of messages with text, the answer is this text. Otherwise
    the answer is the whole output. If the root is a model call whose reply has no text, the answer
    is empty.
    """
    is_model = root.kind is SpanKind.MODEL
    is_list = (root.output or "").lstrip()[:1] == "["
    messages = _reply_messages(root) if is_model else messages_in(root.output) if is_list else ()
    text = _reply_text(messages)
    answer = text if text or (messages and is_model) else root.output
    return None if answer is None else printable(answer)


def _question(span: Span) -> str:
    """Return the last text of the user in the input of a span, or else the whole input."""
    messages = messages_in(span.input)
    texts = [text.text for message in messages for text in message.texts if text.role is Role.USER]
    return texts[-1] if texts else span.input or ""


def _reply_messages(span: Span) -> tuple[Message, ...]:
    return read(replace(span, input=None)).reply


def _reply_text(messages: Sequence[Message]) -> str:
    texts = (text for message in messages for text in message.texts)
    return "\n".join(text.text for text in texts if text.role is Role.ASSISTANT)


def _event_detail(event: SpanEvent) -> str:
    values = event.attributes
    match event.name:
        case "prompt":
            detail = (
                f"{values.get('messages')} messages, about {values.get('estimated_tokens')}"
                f" of {values.get('budget_tokens')} tokens"
            )
            if values.get("left_out"):
                detail += f", {values.get('left_out')} left out"
                detail += f": {values['reason']}" if "reason" in values else ""
        case "retry":
            when = f"attempt {values.get('attempt')} in {values.get('delay')} s"
            detail = f"{when}: {values.get('reason')}"
        case "fallback":
            detail = f"{values.get('change')}: {values.get('reason')}"
        case "compaction":
            saved = f"from {values.get('tokens_before')} to {values.get('tokens_after')} tokens"
            detail = f"the first {values.get('messages')} messages summed up, {saved}"
        case "steering":
            detail = str(values.get("text"))
        case "notice":
            detail = f"{values.get('level')}: {values.get('text')}"
        case name if name.startswith("edit_"):
            reason = f": {values['reason']}" if "reason" in values else ""
            detail = f"{values.get('files')}{reason}"
        case "late_result":
            detail = f"{values.get('outcome')} after the call had been answered"
        case _:
            detail = _attributes_detail(values)
    return one_line(detail, 2 * DETAIL_CHARACTERS)


def _attributes_detail(values: Attributes) -> str:
    raised = [values.get(f"exception.{part}") for part in ("type", "message")]
    if any(raised):
        return ": ".join(str(each) for each in raised if each)
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def trace_lines(view: TraceView) -> Iterator[str]:
    """Yield the lines of `treadle traces show`: a header, the tree, the answer and the totals."""
    started = datetime.fromtimestamp(view.start_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    outcome = view.status.value
    if view.stop_reason not in {None, "completed", outcome}:
        outcome = f"{outcome} ({view.stop_reason})"
    yield in_line(f"trace {view.trace_id}  {outcome}  {duration(view.duration_us)}  {started}")
    if view.thread_id:
        yield in_line(f"thread {view.thread_id}")
    if view.origin:
        yield view.origin
    yield ""
    for row in view.rows:
        yield from row_lines(row)
    if view.answer:
        yield ""
        yield "answer:"
        yield from view.answer.splitlines()
    yield ""
    yield describe(view.totals)


def row_lines(row: Row) -> Iterator[str]:
    """Yield the lines of a row.

    The first line has the start, the duration, the name and the detail. The lines below it have the
    tokens, the cost and the notes.
    """
    took = duration(row.duration_us) if row.span_id else ""
    times = f"{_offset(row.offset_us):>10} {took:>8}  "
    indent = "  " * row.depth
    yield f"{times}{indent}{row.symbol} {row.name}  {row.detail}".rstrip()
    for note in (*filter(None, [_row_figures(row)]), *row.notes):
        yield f"{' ' * len(times)}{indent}    {note}"


def describe(totals: Totals) -> str:
    """Describe the totals in one line.

    The line states how many calls have unknown tokens or an unknown cost.
    """
    parts = [_count(totals.model_calls, "model call"), _count(totals.tool_calls, "tool call")]
    if totals.failed:
        parts.append(f"{totals.failed} failed")
    parts.append(tokens(totals.tokens) or "tokens unknown")
    if totals.unmetered and tokens(totals.tokens):
        parts[-1] += f" (without {_count(totals.unmetered, 'call')} of unknown size)"
    parts.append(total_cost(totals, unknown="cost unknown"))
    if totals.unpriced and totals.cost is not None:
        parts[-1] += f" (without {_count(totals.unpriced, 'call')} of unknown price)"
    return ", ".join(parts)


def failure_symbol(kind: str) -> Symbol:
    """Return the symbol of a failed call for the kind of its failure."""
    return FAILURE_SYMBOLS.get(kind, Symbol.ERROR)


def _offset(microseconds: int | None) -> str:
    """Format the time since the start of the trace in seconds."""
    return "" if microseconds is None else f"{microseconds / 1e6:+.3f} s"


def _row_figures(row: Row) -> str:
    parts = [tokens(row.tokens)] if row.tokens is not None else []
    if row.cost is not None:
        parts.append(cost(row.cost))
    if row.time_to_first_token_us is not None:
        parts.append(f"first token {duration(row.time_to_first_token_us)}")
    return ", ".join(filter(None, parts))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
