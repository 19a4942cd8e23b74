"""Converts numbers with units, such as `250ms` and `1.5k`, to integers and back."""

import re
from collections.abc import Mapping
from decimal import Decimal

from treadle.traces.query.conditions import Field
from treadle.traces.query.moments import read_moment, write_moment

NANO = 1_000_000_000
_LARGEST = 1 << 62

_NUMBER = re.compile(r"(?P<sign>\$?)(?P<number>[0-9]{1,19}(?:\.[0-9]{1,12})?)(?P<unit>[A-Za-zµμ]*)")
_TIME_UNITS = {
    "us": 1, "µs": 1, "μs": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "min": 60_000_000,
    "h": 3_600_000_000,
}  # fmt: skip
_COUNT_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}
_DURATIONS = frozenset({Field.DURATION, Field.TTFT})


def read_amount(field: Field, text: str, now_us: int) -> int:
    """Read `text` as an integer in the unit of conditions on `field`.

    Raises ValueError with a message and a hint.

    """
    if field is Field.START:
        return read_moment(text, now_us)
    if field is Field.COST:
        return _scaled(text, {"": NANO}, "a cost in US dollars", "Write it like 0.01.", sign="$")
    if field in _DURATIONS:
        units: Mapping[str, int] = {**_TIME_UNITS, **({"": 1} if text == "0" else {})}
        return _scaled(text, units, "a duration with its unit", "Write it like 250ms, 2s or 5m.")
    return _scaled(text, _COUNT_UNITS, "a number of tokens", "Write it like 1000 or 1.5k.")


def write_amount(field: Field, amount: int) -> str:
    """Return the text that `read_amount` reads as `amount`."""
    if field is Field.START:
        return write_moment(amount)
    if field is Field.COST:
        return f"{Decimal(amount) / NANO:f}"
    return f"{amount}us" if field in _DURATIONS else str(amount)


def _scaled(text: str, units: Mapping[str, int], what: str, hint: str, *, sign: str = "") -> int:
    found = _NUMBER.fullmatch(text)
    if found is None or found["sign"] not in {"", sign} or found["unit"].lower() not in units:
        raise ValueError(f"{text!r} is not {what}.", hint)
    amount = Decimal(found["number"]) * units[found["unit"].lower()]
    return min(int(amount), _LARGEST)


_JSON_NUMBER = re.compile(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,2})?", re.ASCII)


def number_in(text: str) -> float | None:
    """Return a value of the metadata as a number, or None if it is not a number."""
    return float(text) if _JSON_NUMBER.fullmatch(text) else None
