"""Saved views: what a list is narrowed to and which columns it shows, under a name."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SavedView:
    """A view of a screen; its name is the only one of that screen.

    `query` is a text of the query language, `search` the rest of the address behind `?`.
    """

    id: str
    screen: str
    name: str
    query: str
    search: str
    columns: Sequence[str]
    updated_us: int
