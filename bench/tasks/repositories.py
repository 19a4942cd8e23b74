"""The public repositories that tasks are taken from: a committed list, and where their clones are.

Each repository belongs to one part as a whole, so that nothing that is tuned on one part has seen
the code of the other.
"""

import csv
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

LIST = Path(__file__).with_name("repositories.tsv")


class Part(StrEnum):
    """The purpose of the tasks of a repository."""

    TUNING = "tuning"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as `owner/name`, and the commit that its history ends with."""

    part: Part
    language: str
    name: str
    licence: str
    commit: str

    @property
    def folder(self) -> str:
        """The name under which the data of the repository is stored."""
        return self.name.replace("/", "+")

    def clone(self, clones: Path) -> Path:
        """Its bare git directory below `clones`."""
        return clones / f"{self.folder}.git"


def listed(path: Path = LIST) -> list[Repository]:
    """All repositories of the list."""
    with path.open(newline="", encoding="utf-8") as stream:
        return [
            Repository(
                Part(row["part"]), row["language"], row["repository"], row["licence"], row["commit"]
            )
            for row in csv.DictReader(stream, delimiter="\t")
        ]
