"""Amounts as people read them: durations, token counts and costs."""

from decimal import ROUND_HALF_UP, Decimal

from treadle.events.types import Usage
from treadle.spans.totals import Totals

_MILLISECOND = 1_000
_SECOND = 1_000_000
_SMALLEST = 0.000001


def duration(microseconds: int | None) -> str:
    """Return a duration such as `12.3 ms`, `3.40 s`, `5 min 2 s`, `3 h 7 min` or `4 d 2 h`.

    A duration from 1 ms to 1 minute has three significant digits. A longer one has two units, but
    100 days or more have only days. An unknown duration becomes a dash. `duration` in
    `web/src/format/numbers.ts` returns the same text.
    """
    if microseconds is None:
        return "-"
    if microseconds < _MILLISECOND:
        return f"{microseconds} µs"
    if microseconds < 999_500:
        return f"{_three_figures(microseconds, _MILLISECOND)} ms"
    if microseconds < 59_950_000:
        return f"{_three_figures(microseconds, _SECOND)} s"
    return _long_duration(_divided(microseconds, _SECOND))


def _long_duration(seconds: int) -> str:
    if seconds < 3_600:
        return f"{seconds // 60} min {seconds % 60} s"
    minutes = _divided(seconds, 60)
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = _divided(minutes, 60)
    if hours < 100 * 24:
        return f"{hours // 24} d {hours % 24} h"
    return f"{_divided(hours, 24):,} d"


def _three_figures(value: int, unit: int) -> str:
    digits = 2 if value * 1_000 < 9_995 * unit else 1 if value * 1_000 < 99_950 * unit else 0
    rounded = _divided(value * 10**digits, unit)
    whole, rest = divmod(rounded, 10**digits)
    return f"{whole}.{rest:0{digits}}" if digits else f"{whole}"


def _divided(value: int, by: int) -> int:
    """Divide and round. A half is rounded up, as in JavaScript."""
    return (value + by // 2) // by


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
    `<$0.000001`, since 0 would be wrong. `cost` in `web/src/format/numbers.ts` returns the same
    text.
    """
    if 0 < dollars < _SMALLEST:
        return f"<${_SMALLEST:.6f}"
    step = "0.0001" if dollars >= 0.01 or dollars == 0 else "0.000001"
    return f"${Decimal(dollars).quantize(Decimal(step), ROUND_HALF_UP)}"


def total_cost(totals: Totals, *, unknown: str) -> str:
    """Return the known cost of a sum as text, or `unknown` if no cost is known.

    A plus sign at the end states that the sum leaves out calls of unknown price.
    """
    if totals.cost is None:
        return unknown
    return f"{cost(totals.cost)}+" if totals.unpriced else cost(totals.cost)
