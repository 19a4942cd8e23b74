"""Amounts as people read them: durations, token counts and costs."""

from treadle.events.types import Usage


def duration(microseconds: int | None) -> str:
    """Return a duration such as `12 ms`, `3.4 s` or `5 min 2 s`.

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
    return f"{minutes} min {seconds} s"


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

    An amount below one cent has two more digits.
    """
    return f"${dollars:.4f}" if dollars >= 0.01 or dollars == 0 else f"${dollars:.6f}"
