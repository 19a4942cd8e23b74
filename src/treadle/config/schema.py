"""Finds settings by their paths in the settings model. All layers are read with these functions."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args, get_origin

from pydantic.fields import FieldInfo

from treadle.config.model import Settings
from treadle.config.section import Joined, NeedsConsent, Section, ServerWide, UserOnly

Path = tuple[str, ...]
"""The names of a setting from the outermost table inwards, such as `("tools", "timeout")`."""


@dataclass(frozen=True, slots=True)
class NamedSections:
    """A table whose keys the user chooses. The value of each key is a table of type `section`."""

    section: type[Section]


_SERVER_TABLES = frozenset({"bus", "logs", "server", "store", "terminal"})
"""The tables whose settings apply to all projects of a server."""

Node = type[Section] | NamedSections | FieldInfo
"""A table with fixed keys, a table whose keys the user chooses, or a setting."""


class UnknownKeyError(Exception):
    """`path` is not a setting.

    `near` is the path of a similar setting, or None if there is none.
    """

    def __init__(self, path: Path, near: Path | None) -> None:
        super().__init__(dotted(path))
        self.path = path
        self.near = near


class NotATableError(Exception):
    """The value at `path` is not a table, although `path` is a table of settings."""

    def __init__(self, path: Path) -> None:
        super().__init__(dotted(path))
        self.path = path


def dotted(path: Path) -> str:
    """Format a path in TOML syntax, on one line."""
    return ".".join(n if re.fullmatch(r"[A-Za-z0-9_-]+", n) else json.dumps(n) for n in path)


def child(node: type[Section] | NamedSections, path: Path) -> Node:
    """Return the node for the last name of `path` in the table `node`. Raises UnknownKeyError."""
    if isinstance(node, NamedSections):
        return node.section
    field = node.model_fields.get(path[-1])
    if field is None:
        near = difflib.get_close_matches(path[-1], node.model_fields, n=1, cutoff=0.5)
        raise UnknownKeyError(path, (*path[:-1], near[0]) if near else None)
    return _node(field)


def find(path: Path) -> Node:
    """Return the node for a whole path. Raises UnknownKeyError."""
    node: Node = Settings
    for depth in range(len(path)):
        if isinstance(node, FieldInfo):
            raise UnknownKeyError(path, path[:depth])
        node = child(node, path[: depth + 1])
    return node


def leaves(
    values: Mapping[str, object], node: type[Section] | NamedSections = Settings, at: Path = ()
) -> Iterator[tuple[Path, object]]:
    """Yield the path and the value of every setting in the nested `values`.

    `at` is the path of `values` itself. Raises UnknownKeyError and NotATableError.
    """
    for name, value in values.items():
        path = (*at, name)
        below = child(node, path)
        if isinstance(below, FieldInfo):
            yield path, value
        elif isinstance(value, Mapping):
            yield from leaves(value, below, path)
        else:
            raise NotATableError(path)


def nest(flat: Mapping[Path, object]) -> dict[str, object]:
    """Convert values by path to nested tables. This function is the inverse of `leaves`."""
    nested: dict[str, object] = {}
    for path, value in flat.items():
        table = nested
        for name in path[:-1]:
            inner = table.setdefault(name, {})
            assert isinstance(inner, dict)  # a path leads to a setting, so its parents are tables
            table = inner
        table[path[-1]] = value
    return nested


def needs_consent(path: Path) -> bool:
    """Whether a repository may set the setting at `path` only if the user trusts the repository."""
    return _has_mark(path, NeedsConsent)


def only_user_may_set(path: Path) -> bool:
    """Whether a repository may never set the setting at `path`, even if the user trusts it."""
    return _has_mark(path, UserOnly)


def is_server_wide(path: Path) -> bool:
    """Whether the setting at `path` applies to all projects of a server."""
    return path[0] in _SERVER_TABLES or _has_mark(path, ServerWide)


def is_joined(path: Path) -> bool:
    """Whether the setting at `path` is a list to which every layer adds."""
    return _has_mark(path, Joined)


def _has_mark(path: Path, mark: type) -> bool:
    node = find(path)
    return isinstance(node, FieldInfo) and any(isinstance(m, mark) for m in node.metadata)


def is_text(field: FieldInfo) -> bool:
    """Whether the value of the setting may be text. A choice of fixed words counts as text."""
    kinds = get_args(field.annotation) or (field.annotation,)
    return get_origin(field.annotation) not in (tuple, dict) and any(
        getattr(kind, "__origin__", kind) is str or isinstance(kind, str) for kind in kinds
    )


def _node(field: FieldInfo) -> Node:
    annotation = field.annotation
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    if get_origin(annotation) is dict:
        value = get_args(annotation)[1]
        if isinstance(value, type) and issubclass(value, Section):
            return NamedSections(value)
    return field
