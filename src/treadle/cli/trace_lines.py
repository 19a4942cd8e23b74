"""A trace as lines of plain text: durations and offsets in columns, then the tree."""

from collections.abc import Iterator
from datetime import UTC, datetime

from treadle.cli.trace_tree import FAILURE_SYMBOLS, Row, Symbol, TraceView
from treadle.spans.totals import Totals
from treadle.traces.amounts import cost, duration, tokens
from treadle.visible import in_line


def trace_lines(view: TraceView, *, with_answer: bool = True) -> Iterator[str]:
    """The lines of `treadle traces show`: a header, the tree, the answer and the totals."""
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
    """One row: start and duration in columns, then the tree. Figures and notes follow."""
    took = duration(row.duration_us) if row.span_id else ""
    times = f"{_offset(row.offset_us):>10} {took:>8}  "
    indent = "  " * row.depth
    yield f"{times}{indent}{row.symbol} {row.name}  {row.detail}".rstrip()
    for note in (*filter(None, [_figures(row)]), *row.notes):
        yield f"{' ' * len(times)}{indent}    {note}"


def describe(totals: Totals) -> str:
    """The totals in one sentence. It names unknown figures."""
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


def failure_symbol(kind: str) -> Symbol:
    """The symbol of a failed call, by the kind of the failure."""
    return FAILURE_SYMBOLS.get(kind, Symbol.ERROR)


def _offset(microseconds: int | None) -> str:
    """Seconds since the start of the trace."""
    return "" if microseconds is None else f"{microseconds / 1e6:+.3f} s"


def _figures(row: Row) -> str:
    parts = [tokens(row.tokens)] if row.tokens is not None else []
    if row.cost is not None:
        parts.append(cost(row.cost))
    if row.time_to_first_token_us is not None:
        parts.append(f"first token {duration(row.time_to_first_token_us)}")
    return ", ".join(filter(None, parts))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
