"""Formats counts with their nouns, for the one-line summaries that a person reads."""

from collections.abc import Mapping


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, such as "1 file" or "1,812 files"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def tallied(counts: Mapping[str, int]) -> str:
    """Join counts, such as "1 error, 12 passed". `counts` maps plural nouns to numbers."""
    return ", ".join(counted(n, _singular(name), name) for name, n in counts.items())


def _singular(name: str) -> str:
    return name if name.endswith("ss") else name.removesuffix("s")
