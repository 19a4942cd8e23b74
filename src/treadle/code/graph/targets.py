"""Targets of names: an item, a package or a crate, or the reason why a name has no target."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from treadle.code.graph.tables import Node


class Reason(StrEnum):
    """Why a reference has no target."""

    UNKNOWN_TYPE = "the type of the value is not known"
    OUTSIDE = "imported from outside of the repository"
    NOT_FOUND = "no reachable definition"
    BUILT_IN = "a name of the language itself"
    REPLACED = "calls what this overrides or implements"


class Folder(NamedTuple):
    """A package that consists of all files of a folder (Go)."""

    path: str
    package: str = ""


class CrateRoot(NamedTuple):
    """A Rust crate: the folder of its modules, and its root files.

    A crate has two root files if a library and a program share a folder. `alone` states that the
    other files of the folder are other crates.
    """

    folder: str
    files: tuple[str, ...]
    alone: bool = False


Target = Node | Folder | CrateRoot
FindMember = Callable[[Target, str, int], Target | None]
"""Finds a name in a module or a type. The integer is the current depth of the search."""
