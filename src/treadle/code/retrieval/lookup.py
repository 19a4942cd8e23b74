"""Finds items by name. If no name matches, finds the most similar names and paths."""

import os
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from typing import Any, Protocol, TypeVar

from treadle.code.model import TYPE_KINDS, FoundItem, Kind
from treadle.code.retrieval.hits import is_test


def nearest_paths(name: str, paths: Iterable[str], limit: int) -> tuple[str, ...]:
    """Return at most `limit` of `paths`, most similar first.

    The similarity is Dice over trigrams. The similarity of the file names counts twice as much as
    the similarity of the whole paths. Paths with hardly any similarity are left out. The time is
    linear in the number of paths.
    """
    path_trigrams = _trigrams(name.lower())
    name_trigrams = _trigrams(name.rpartition("/")[2].lower())
    scored: list[tuple[float, str]] = []
    for path in paths:
        lowered = path.lower()
        score = 2 * _dice(name_trigrams, _trigrams(lowered.rpartition("/")[2]))
        score += _dice(path_trigrams, _trigrams(lowered))
        if score > 0.6:
            scored.append((-score, path))
    return tuple(path for _, path in sorted(scored)[:limit])


def _trigrams(text: str) -> set[str]:
    padded = f"  {text[:500]} "
    return {padded[start : start + 3] for start in range(len(padded) - 2)}


def _dice(left: set[str], right: set[str]) -> float:
    return 2 * len(left & right) / (len(left) + len(right))


_SEPARATORS = re.compile(r"::|\\|[.#/ >]+|->")

_CASES = 2_000

_COLUMNS = (
    "i.id, i.name, i.canonical_path, i.kind, f.path, i.start_line, i.end_line, i.start_byte,"
    " i.end_byte, i.signature_start, i.signature_end"
)


@dataclass(frozen=True, slots=True)
class NamePattern:
    """The parts of a name, and the file and kind that an item must have."""

    parts: Sequence[str]
    file: str | None
    kind: str | None


def lookup(
    connection: sqlite3.Connection, name: str, *, file: str | None, kind: str | None, limit: int
) -> tuple[list[FoundItem], int]:
    """Return the items that `name` may mean, best first, and their number.

    The name must equal the canonical path or its end. Matches in the same letter case come before
    matches in another letter case. After that, whole paths come before ends of paths. Code comes
    before tests, and definitions come before other items.
    """
    stripped = name.strip().strip("`'\"").removesuffix("()")
    pattern = NamePattern([part for part in _SEPARATORS.split(stripped) if part], file, kind)
    if not pattern.parts:
        return [], 0
    names = dict.fromkeys([pattern.parts[-1], stripped])
    rows: list[Any] = []
    for text in names:
        rows += connection.execute(
            f"SELECT {_COLUMNS} FROM items AS i JOIN files AS f ON f.id = i.file_id"  # noqa: S608
            " WHERE i.name = ? LIMIT ?",
            (text, _CASES),
        ).fetchall()
    rows += _modules(connection, stripped)
    found: dict[int, tuple[tuple[object, ...], FoundItem]] = {}
    for row in rows:
        item = _found(row)
        tier = _tier(item, pattern, stripped)
        if tier is not None and _fits(item, pattern):
            order = (
                tier, is_test(item.file, item.canonical_path), _WEIGHT.get(item.kind, 1),
                item.canonical_path.count("."), item.file, item.start_line,
            )  # fmt: skip
            found[item.id] = (order, item)
    ordered = [item for _, item in sorted(found.values(), key=lambda entry: entry[0])]
    return ordered[:limit], len(ordered)


_WEIGHT: dict[str, int] = {
    Kind.MODULE: 2,
    Kind.IMPL: 2,
    Kind.SECTION: 3,
    Kind.KEY: 3,
    Kind.CHUNK: 4,
}


def _modules(connection: sqlite3.Connection, path: str) -> list[Any]:
    """Return the files with the canonical path `path` and a generic name, such as `index`."""
    return connection.execute(
        f"SELECT {_COLUMNS} FROM items AS i JOIN files AS f ON f.id = i.file_id"  # noqa: S608
        " WHERE i.name IN ('__init__', 'mod', 'lib', 'main', 'index') AND i.canonical_path = ?",
        (path,),
    ).fetchall()


def _found(row: tuple[Any, ...]) -> FoundItem:
    item_id, name, canonical_path, kind, path, *ranges = row
    return FoundItem(item_id, name, canonical_path, kind, os.fsdecode(path), *ranges)


class Named(Protocol):
    """An object with a name and a canonical path."""

    @property
    def name(self) -> str: ...

    @property
    def canonical_path(self) -> str: ...


N = TypeVar("N", bound=Named)


def meant(name: str, items: Iterable[N], *, any_case: bool = False) -> list[N]:
    """Return the items whose canonical path is `name`, or else those whose path ends with `name`.

    With `any_case`, an item in another letter case matches if no item has the same letter case.
    """
    stripped = name.strip().strip("`'\"").removesuffix("()")
    parts = [part for part in _SEPARATORS.split(stripped) if part]
    if not parts:
        return []
    pattern = NamePattern(parts, None, None)
    tiers = [(tier, item) for item in items if (tier := _tier(item, pattern, stripped)) is not None]
    best = min((tier for tier, _ in tiers), default=0)
    return [item for tier, item in tiers if tier == best and (any_case or tier < _OTHER_CASE)]


_OTHER_CASE = 2
"""The lowest result of `_tier` for a match in another letter case."""


def _fits(item: FoundItem, pattern: NamePattern) -> bool:
    if pattern.kind is not None and item.kind != pattern.kind:
        return False
    file = pattern.file
    return file is None or item.file == file or item.file.endswith(f"/{file.lstrip('./')}")


def _tier(item: Named, pattern: NamePattern, whole: str) -> int | None:
    """Return 0 if the whole path matches, or 1 if its end matches.

    The results 2 and 3 mean the same for matches in another letter case. The result is None if
    nothing matches.
    """
    if item.canonical_path == whole:
        return 0
    path = [part for part in _SEPARATORS.split(item.canonical_path) if part]
    parts = list(pattern.parts)
    if item.name == whole and len(parts) > 1:
        return 1
    tail = path[-len(parts) :]
    if len(parts) == 1:
        tail = [item.name]
    if tail == parts:
        return 0 if len(path) == len(parts) else 1
    if [part.lower() for part in tail] == [part.lower() for part in parts]:
        return 2 if len(path) == len(parts) else 3
    return None


def beginning_with(connection: sqlite3.Connection, text: str, limit: int) -> list[FoundItem]:
    """Return items whose name begins with the last part of `text`.

    Upper and lower case do not matter. The other parts of `text` must be the last parts of the
    canonical path before the name. Code comes before tests. Among names in the same letter case,
    types and functions come before other items.
    """
    *_, last = [None, *_SEPARATORS.finditer(text)]
    owner, name = ("", text) if last is None else (text[: last.start()], text[last.end() :])
    owners = [part for part in _SEPARATORS.split(owner) if part]
    any_case = [part.lower() for part in owners]
    if not name and not owners:
        return []
    condition, *values = ("i.name >= ? AND i.name < ?", name, name + _LAST_CHARACTER)
    if not name:
        condition, *values = ("i.canonical_path LIKE ? ESCAPE '!'", f"%{_escaped(owners[-1])}_%")
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM items AS i JOIN files AS f ON f.id = i.file_id"  # noqa: S608
        f" WHERE {condition} AND i.kind NOT IN ('chunk', 'section', 'key') LIMIT ?",
        (*values, _CASES),
    ).fetchall()
    items = map(_found, rows)
    found = [
        item for item in items if [part.lower() for part in _owners(item, len(owners))] == any_case
    ]

    def order(item: FoundItem) -> tuple[object, ...]:
        return (
            is_test(item.file, item.canonical_path),
            _owners(item, len(owners)) != owners,  # another letter case
            not item.name.startswith(name),
            _BEGINNING_WEIGHT.get(item.kind, 1),
            len(item.name),
            item.canonical_path,
            item.file,
            item.start_line,
        )

    return nsmallest(limit, found, key=order)


_BEGINNING_WEIGHT: dict[str, int] = {
    **dict.fromkeys(TYPE_KINDS | {Kind.FUNCTION}, 0),
    Kind.CONSTANT: 2,
}
_LAST_CHARACTER = "\U0010ffff"


def _escaped(text: str) -> str:
    return re.sub(r"[!%_]", r"!\g<0>", text)


def _owners(item: FoundItem, count: int) -> list[str]:
    """The last `count` parts of a canonical path before the name."""
    path = [part for part in _SEPARATORS.split(item.canonical_path) if part]
    return path[-1 - count : -1]


_MOST_NEAREST = 5


def nearest_items(
    connection: sqlite3.Connection, name: str, *, file: str | None, kind: str | None
) -> list[FoundItem]:
    """Return the items with the names most similar to `name`.

    The similarity is Dice over trigrams. The similarity rises by 0.3 if the canonical path contains
    the owner that `name` states.
    """
    parts = [part for part in _SEPARATORS.split(name.strip().lower()) if part]
    if not parts:
        return []
    pattern, owner = _trigrams(parts[-1]), parts[-2] if len(parts) > 1 else ""
    names = connection.execute(
        "SELECT DISTINCT name FROM items WHERE kind NOT IN ('chunk', 'section', 'key')"
    ).fetchall()
    likely = nlargest(50, ((_dice(pattern, _trigrams(row[0].lower())), row[0]) for row in names))
    scored: list[tuple[float, str, int, FoundItem]] = []
    for likeness, near in likely:
        if likeness < _MIN_SIMILARITY:
            continue
        for row in connection.execute(
            f"SELECT {_COLUMNS} FROM items AS i JOIN files AS f ON f.id = i.file_id"  # noqa: S608
            " WHERE i.name = ? LIMIT 50",
            (near,),
        ):
            item = _found(row)
            if _fits(item, NamePattern(parts, file, kind)):
                same_owner = bool(owner) and owner in item.canonical_path.lower()
                score = likeness + (0.3 if same_owner else 0.0)
                scored.append((-score, item.file, item.start_line, item))
    scored.sort(key=lambda entry: entry[:3])
    return [entry[3] for entry in scored[:_MOST_NEAREST]]


_MIN_SIMILARITY = 0.35
