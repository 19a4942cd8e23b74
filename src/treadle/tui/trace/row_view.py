"""Draws a row of a trace: its name, its figures and its time as a bar."""

from textual.content import Content

from treadle.display.trace_tree import Row, Symbol
from treadle.traces.amounts import cost, duration
from treadle.tui.screens.row_list import fields
from treadle.tui.text import foreign_line

_BAR_COLUMNS = 12
_MAX_INDENT = 10
"""The maximum number of levels that indent a row. Deeper rows have the same indent."""
_STYLES = {
    Symbol.OK: "$text-success",
    Symbol.ERROR: "$text-error",
    Symbol.CANCELLED: "$text-muted",
    Symbol.DENIED: "$text-warning",
    Symbol.TIMEOUT: "$text-error",
    Symbol.UNFINISHED: "$text-primary",
    Symbol.MISSING: "$text-warning",
}


def draw_row(row: Row, columns: int, *, total_us: int, mark: str) -> Content:
    """Return one line.

    `total_us` is the duration of the trace. `mark` shows whether the row is folded.
    """
    text_columns = max(8, columns)
    main = Content.assemble(
        "  " * min(row.depth, _MAX_INDENT),
        f"{mark} ",
        (f"{row.symbol} ", _STYLES.get(row.symbol, "$text-muted")),
        foreign_line(row.name, "bold", columns=text_columns),
        "  ",
        foreign_line(row.detail, "$text-muted", columns=text_columns),
    )
    took = duration(row.duration_us) if row.span_id and row.duration_us is not None else ""
    return fields(
        columns,
        main,
        (Content(took), 9),
        (Content.styled(_bar(row, total_us), "$text-primary"), _BAR_COLUMNS),
        (Content.styled(_offset(row), "$text-muted"), 9),
        (Content.styled(_tokens(row), "$text-muted"), 13),
        (Content.styled("" if row.cost is None else cost(row.cost), "$text-muted"), 9),
    )


def _offset(row: Row) -> str:
    """The start of a row, counted from the start of the trace."""
    return "" if row.offset_us is None else f"{row.offset_us / 1e6:+.2f} s"


def _tokens(row: Row) -> str:
    if row.tokens is None:
        return ""
    known = [
        f"{sign}{_short(count)}"
        for sign, count in (("↑", row.tokens.input), ("↓", row.tokens.output))
        if count is not None
    ]
    return " ".join(known)


def _short(count: int) -> str:
    return f"{count / 1_000:.1f}k" if count >= 10_000 else f"{count:,}"


def _bar(row: Row, total_us: int) -> str:
    """The time of a row within the trace. An event is one dot."""
    if row.offset_us is None or total_us <= 0:
        return ""
    first = min(_BAR_COLUMNS - 1, max(0, row.offset_us * _BAR_COLUMNS // total_us))
    if row.span_id is None:
        return f"{'·' * first}•".ljust(_BAR_COLUMNS, "·")
    took = row.duration_us
    until = total_us if took is None else row.offset_us + took
    last = min(_BAR_COLUMNS, max(first + 1, round(until * _BAR_COLUMNS / total_us)))
    fill = "━" if took is not None else "╌"
    return f"{'·' * first}{fill * (last - first)}".ljust(_BAR_COLUMNS, "·")
