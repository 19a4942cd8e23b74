"""Tables of what tools answered, in Markdown; recorded text in them is quoted."""

from collections.abc import Mapping, Sequence
from typing import Any

from treadle.traces.fencing import inline

_CHANGE = (
    "The change is that of the last label against the first; it is left empty where the first is "
    "unknown or 0."
)
_FIGURES = (
    ("spans", "total_spans"),
    ("duration (ms)", "total_duration_ms"),
    ("busy (ms)", "busy_ms"),
    ("cost (US dollars)", "total_cost"),
    ("input tokens", "total_input_tokens"),
    ("output tokens", "total_output_tokens"),
    ("cached tokens", "cached_tokens"),
)


def label_table(known: Mapping[str, Any]) -> str:
    """The result of list_labels."""
    rows = known["data"]
    if not rows:
        return (
            "No span has a label. Labels come with the header `x-label` of the gateway, or "
            "with the attributes of an OpenTelemetry exporter."
        )
    lines = [f"| {_cell(row['name'])} | {row['count']:,} |" for row in rows]
    rest = known["total"] - len(rows)
    more = [f"\n{rest:,} more are recorded."] if rest > 0 else []
    return "\n".join(["| label | spans |", "|---|---:|", *lines, *more])


def comparison_table(labels: Sequence[str], summaries: Sequence[Mapping[str, Any]]) -> str:
    """The results of fetch_spans_summary for several labels, side by side."""
    heads = " | ".join(map(_cell, labels))
    lines = [f"| | {heads} | change |", f"|---|{'---:|' * len(labels)}---:|"]
    lines += [
        _row(name, [each["summary"].get(key) for each in summaries]) for name, key in _FIGURES
    ]
    lines += [
        _row(f"latency {name} (ms)", [each["latency"].get(name) for each in summaries])
        for name in ("p50", "p95", "p99", "max")
    ]
    errors = [each["summary"]["by_status"].get("error", 0) for each in summaries]
    lines.insert(3, _row("errors", errors))
    return "\n".join(
        [
            f"## Comparison of {' and '.join(map(inline, labels))}",
            "",
            *lines,
            "",
            _CHANGE,
        ]
    )


def _row(name: str, values: Sequence[float | None]) -> str:
    first, last = values[0], values[-1]
    change = f"{100 * (last - first) / first:+.1f} %" if first and last is not None else ""
    cells = " | ".join("unknown" if value is None else f"{value:,.10g}" for value in values)
    return f"| {name} | {cells} | {change} |"


def _cell(text: str) -> str:
    return inline(text).replace("|", "\\|")
