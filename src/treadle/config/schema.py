"""The settings model as a tree of names, so that every layer is read by the same rules."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import get_args, get_origin

from pydantic.fields import FieldInfo

from treadle.config.model import Settings
from treadle.config.section import Joined, NeedsConsent, Section, UserOnly

Path = tuple[str, ...]
"""The names of a setting from the outermost table inwards: `("tools", "timeout")`."""


@dataclass(frozen=True, slots=True)
class NamedSections:
    """A table whose keys the user chooses, each with a section of its own."""

    section: type[Section]


Node = type[Section] | NamedSections | FieldInfo
"""A table with fixed keys, a table with the user's names, or a setting."""


class UnknownKeyError(Exception):
    """`path` is not a setting; `near` is the path of the most similar one."""

    def __init__(self, path: Path, near: Path | None) -> None:
        super().__init__(dotted(path))
        self.path = path
        self.near = near


class NotATableError(Exception):
    """The value at `path` is not a table of settings."""

    def __init__(self, path: Path) -> None:
        super().__init__(dotted(path))
        self.path = path


def dotted(path: Path) -> str:
    """A path in TOML syntax, on one line."""
    return ".".join(n if re.fullmatch(r"[A-Za-z0-9_-]+", n) else json.dumps(n) for n in path)


def child(node: type[Section] | NamedSections, path: Path) -> Node:
    """The node for the last name of `path` in `node`. Raises UnknownKeyError."""
    if isinstance(node, NamedSections):
        return node.section
    field = node.model_fields.get(path[-1])
    if field is None:
        near = difflib.get_close_matches(path[-1], node.model_fields, n=1, cutoff=0.5)
        raise UnknownKeyError(path, (*path[:-1], near[0]) if near else None)
    return _node(field)


def find(path: Path) -> Node:
    """The node for a whole path. Raises UnknownKeyError."""
    node: Node = Settings
    for depth in range(len(path)):
        if isinstance(node, FieldInfo):
            raise UnknownKeyError(path, path[:depth])
        node = child(node, path[: depth + 1])
    return node


def leaves(
    values: Mapping[str, object], node: type[Section] | NamedSections = Settings, at: Path = ()
) -> Iterator[tuple[Path, object]]:
    """Every setting in nested `values` with its path.

    Raises UnknownKeyError and NotATableError.
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
    """The inverse of `leaves`."""
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
    """Whether a repository may set this only when the user trusts it."""
    return _has_mark(path, NeedsConsent)


def only_user_may_set(path: Path) -> bool:
    """Whether a repository may never set this, not even a trusted one."""
    return _has_mark(path, UserOnly)


def is_joined(path: Path) -> bool:
    """Whether this is a list to which every layer adds."""
    return _has_mark(path, Joined)


def _has_mark(path: Path, mark: type) -> bool:
    node = find(path)
    return isinstance(node, FieldInfo) and any(isinstance(m, mark) for m in node.metadata)


def is_text(field: FieldInfo) -> bool:
    """Whether the setting may be text, or one word of a closed set."""
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
