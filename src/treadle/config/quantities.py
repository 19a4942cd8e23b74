"""Ages and sizes as a person writes them, in settings and on the command line: `30d`, `2GB`."""

import re

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_MOST = 10**15


def age_us(text: str) -> int:
    """Convert an age such as `12h`, `30d` or `4w` to microseconds. Raises ValueError."""
    return _number(text, _SECONDS, "should be an age such as 12h, 30d or 4w") * 1_000_000


def size_bytes(text: str) -> int:
    """Convert a size such as `500MB` or `2GB` to bytes. Raises ValueError."""
    return _number(text, _BYTES, "should be a size such as 500MB or 2GB")


def shown_size(count: int) -> str:
    """Format a number of bytes for people, such as `1.2 GB`."""
    unit, factor = next((pair for pair in reversed(_BYTES.items()) if count >= pair[1]), ("B", 1))
    return f"{count / factor:.1f} {unit}" if factor > 1 else f"{count} B"


def _number(text: str, units: dict[str, int], otherwise: str) -> int:
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?) ?([A-Za-z]{1,2})", text.strip(), re.ASCII)
    named = {unit.lower(): factor for unit, factor in units.items()}
    factor = named.get(match[2].lower()) if match else None
    if match is None or factor is None or not 0 < (number := float(match[1]) * factor) <= _MOST:
        raise ValueError(otherwise)
    return round(number)
