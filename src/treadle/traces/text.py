"""A trace view as plain text: figures with units, then the tree, so that columns line up."""

from collections.abc import Iterator
from datetime import UTC, datetime

from treadle.events.types import Usage
from treadle.spans.span import Totals
from treadle.traces.tree import FAILURE_MARKS, Mark, Row, TraceView
from treadle.visible import in_line


def trace_lines(view: TraceView, *, with_answer: bool = True) -> Iterator[str]:
    """The lines of `treadle traces show`: what was asked, the tree, the answer, the totals."""
    started = datetime.fromtimestamp(view.start_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    outcome = view.status.value
    if view.stop_reason not in {None, "completed", outcome}:
        outcome = f"{outcome} ({view.stop_reason})"
    yield in_line(f"trace {view.trace_id}  {outcome}  {duration(view.duration_us)}  {started}")
    if view.thread_id:
        yield in_line(f"thread {view.thread_id}")
    yield ""
    for row in view.rows:
        yield from row_lines(row)
    if view.answer and with_answer:
        yield ""
        yield "answer:"
        yield from view.answer.splitlines()
    yield ""
    yield describe(view.totals)


def row_lines(row: Row) -> Iterator[str]:
    """One row: start and duration in columns, then the tree; figures and notes are below."""
    took = duration(row.duration_us) if row.span_id else ""
    times = f"{offset(row.offset_us):>10} {took:>8}  "
    indent = "  " * row.depth
    yield f"{times}{indent}{row.mark} {row.name}  {row.detail}".rstrip()
    for note in (*filter(None, [_figures(row)]), *row.notes):
        yield f"{' ' * len(times)}{indent}    {note}"


def describe(totals: Totals) -> str:
    """The totals in one sentence; what nobody knows is called unknown."""
    parts = [_count(totals.model_calls, "model call"), _count(totals.tool_calls, "tool call")]
    if totals.failed:
        parts.append(f"{totals.failed} failed")
    parts.append(tokens(totals.tokens) or "tokens unknown")
    if totals.unmetered and tokens(totals.tokens):
        parts[-1] += f" (without {_count(totals.unmetered, 'call')} of unknown size)"
    parts.append("cost unknown" if totals.cost is None else cost(totals.cost))
    if totals.unpriced and totals.cost is not None:
        parts[-1] += f" (without {_count(totals.unpriced, 'call')} of unknown price)"
    return ", ".join(parts)


def failure_mark(kind: str) -> str:
    """The sign of a call that failed so, wherever it is shown."""
    return FAILURE_MARKS.get(kind, Mark.ERROR)


def duration(microseconds: int | None) -> str:
    """Such as `12 ms`, `3.4 s` or `5 min 2 s`; a dash for unknown."""
    if microseconds is None:
        return "-"
    if microseconds < 1_000:
        return f"{microseconds} µs"
    if microseconds < 1_000_000:
        return f"{microseconds / 1e3:.0f} ms"
    if microseconds < 100_000_000:
        return f"{microseconds / 1e6:.2f} s"
    minutes, seconds = divmod(microseconds // 1_000_000, 60)
    return f"{minutes} min {seconds} s"


def offset(microseconds: int | None) -> str:
    """Seconds since the start of the trace."""
    return "" if microseconds is None else f"{microseconds / 1e6:+.3f} s"


def tokens(usage: Usage) -> str:
    """Such as `1,234 tokens in (1,000 cached), 56 out`; empty when nothing is known."""
    parts = []
    if usage.input is not None:
        cached = f" ({usage.cached:,} cached)" if usage.cached else ""
        parts.append(f"{usage.input:,} tokens in{cached}")
    if usage.output is not None:
        reasoning = f" ({usage.reasoning:,} reasoning)" if usage.reasoning else ""
        parts.append(f"{usage.output:,} out{reasoning}")
    return ", ".join(parts)


def cost(dollars: float) -> str:
    """US dollars to the hundredth of a cent; below a cent to the ten-thousandth of one."""
    return f"${dollars:.4f}" if dollars >= 0.01 or dollars == 0 else f"${dollars:.6f}"


def _figures(row: Row) -> str:
    parts = [tokens(row.tokens)] if row.tokens is not None else []
    if row.cost is not None:
        parts.append(cost(row.cost))
    if row.time_to_first_token_us is not None:
        parts.append(f"first token {duration(row.time_to_first_token_us)}")
    return ", ".join(filter(None, parts))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
