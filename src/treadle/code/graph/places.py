"""What a name can mean: an item, a package, a crate, or nothing, with the reason."""

from dataclasses import dataclass
from enum import StrEnum

from treadle.code.graph.tables import Node


class Reason(StrEnum):
    """Why a reference has no target."""

    UNKNOWN_TYPE = "the type of the value is not known"
    OUTSIDE = "imported from outside of the repository"
    NOT_FOUND = "no definition in reach"


@dataclass(frozen=True, slots=True)
class Folder:
    """A package that is all files of a folder (Go)."""

    path: str
    package: str = ""


@dataclass(frozen=True, slots=True)
class CrateRoot:
    """The root of a Rust crate, by the folder or file that it is at."""

    root: str


Place = Node | Folder | CrateRoot
