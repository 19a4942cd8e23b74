"""Paths that look like a given one, by the three-letter runs that they share."""

from collections.abc import Iterable


def nearest(name: str, paths: Iterable[str], limit: int) -> tuple[str, ...]:
    """At most `limit` of `paths`, most alike first, none that has hardly anything in common.

    Likeness (Dice) of the file names counts twice that of the whole paths; linear in the paths.
    """
    wanted_path = _trigrams(name.lower())
    wanted_name = _trigrams(name.rpartition("/")[2].lower())
    scored: list[tuple[float, str]] = []
    for path in paths:
        lowered = path.lower()
        score = 2 * _dice(wanted_name, _trigrams(lowered.rpartition("/")[2]))
        score += _dice(wanted_path, _trigrams(lowered))
        if score > 0.6:
            scored.append((-score, path))
    return tuple(path for _, path in sorted(scored)[:limit])


def _trigrams(text: str) -> set[str]:
    padded = f"  {text[:500]} "
    return {padded[start : start + 3] for start in range(len(padded) - 2)}


def _dice(left: set[str], right: set[str]) -> float:
    return 2 * len(left & right) / (len(left) + len(right))
