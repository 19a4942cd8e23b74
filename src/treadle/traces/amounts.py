"""Amounts as people read them: durations, token counts and costs."""

from treadle.events.types import Usage
from treadle.spans.totals import Totals

_HOURS = 48
"""Longer durations are given in days."""
_SMALLEST = 0.000001


def duration(microseconds: int | None) -> str:
    """Return a duration such as `12 ms`, `3.4 s`, `5 min 2 s`, `3 h 7 min` or `4 d 2 h`.

    An unknown duration becomes a dash.
    """
    if microseconds is None:
        return "-"
    if microseconds < 1_000:
        return f"{microseconds} µs"
    if microseconds < 1_000_000:
        return f"{microseconds / 1e3:.0f} ms"
    if microseconds < 100_000_000:
        return f"{microseconds / 1e6:.2f} s"
    minutes, seconds = divmod(microseconds // 1_000_000, 60)
    hours = minutes // 60
    if not hours:
        return f"{minutes} min {seconds} s"
    return f"{hours} h {minutes % 60} min" if hours < _HOURS else f"{hours // 24} d {hours % 24} h"


def tokens(usage: Usage) -> str:
    """Return token counts such as `1,234 tokens in (1,000 cached), 56 out`.

    Unknown counts are left out.
    """
    parts = []
    if usage.input is not None:
        cached = f" ({usage.cached:,} cached)" if usage.cached else ""
        parts.append(f"{usage.input:,} tokens in{cached}")
    if usage.output is not None:
        reasoning = f" ({usage.reasoning:,} reasoning)" if usage.reasoning else ""
        parts.append(f"{usage.output:,} out{reasoning}")
    return ", ".join(parts)


def cost(dollars: float) -> str:
    """Return US dollars as text, to a hundredth of a cent.

    An amount below one cent has two more digits. A positive amount below $0.000001 becomes
    `<$0.000001`, since 0 would be wrong.
    """
    if 0 < dollars < _SMALLEST:
        return f"<${_SMALLEST:.6f}"
    return f"${dollars:.4f}" if dollars >= 0.01 or dollars == 0 else f"${dollars:.6f}"


def total_cost(totals: Totals, *, unknown: str) -> str:
    """Return the known cost of a sum as text, or `unknown` if no cost is known.

    A plus sign at the end states that the sum leaves out calls of unknown price.
    """
    if totals.cost is None:
        return unknown
    return f"{cost(totals.cost)}+" if totals.unpriced else cost(totals.cost)
