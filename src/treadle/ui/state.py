"""The state of the page and the saved views, as the server saves them and pages mirror them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

MOST_COLLAPSED = 50_000
"""Collapsed spans that are kept; of more, those that were collapsed first are forgotten."""


class View(StrEnum):
    """The lists whose rows can be filtered by labels."""

    THREADS = "threads"
    RUNS = "runs"
    SPANS = "spans"


@dataclass(frozen=True, slots=True)
class UiState:
    """The state after `revision` changes.

    `location` is the address (path and query) where a page was last, `changed_by` the page that
    made the last change, None where a tool or a program did. Collapsed spans are in the order in
    which they were collapsed.
    """

    revision: int = 0
    changed_by: str | None = None
    location: str = "/"
    experiment_id: str | None = None
    """The experiment that is open."""
    label_filters: Mapping[View, tuple[str, ...]] = field(default_factory=dict)
    """The labels of which a row of the view has one; a view without a filter is not named."""
    collapsed_span_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A page that is open in a browser, by the id that it gave itself."""

    id: str
    location: str
    used_us: int
    """When a person last did something there, in Unix microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is to be different; what is None or empty stays.

    `label_filters` replaces the filters of the views that it names; `experiment_id` is the empty
    string to have none open.
    """

    location: str | None = None
    experiment_id: str | None = None
    label_filters: Mapping[View, tuple[str, ...]] = field(default_factory=dict)
    collapse: tuple[str, ...] = ()
    expand: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedView:
    """A named view of a list: its filter and its columns. The name is unique within the screen.

    `query` is a text of the query language, `search` the query string of the address.
    """

    id: str
    screen: str
    name: str
    query: str
    search: str
    columns: Sequence[str]
    updated_us: int
