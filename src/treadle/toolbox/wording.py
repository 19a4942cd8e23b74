"""Numbers with their nouns, for the one-line summaries that a person reads."""

from collections.abc import Mapping


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """For example "1 file", "1,812 files"."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def tallied(counts: Mapping[str, int]) -> str:
    """For example "1 error, 12 passed"; `counts` names its nouns in the plural."""
    return ", ".join(counted(n, _singular(name), name) for name, n in counts.items())


def _singular(name: str) -> str:
    return name if name.endswith("ss") else name.removesuffix("s")
