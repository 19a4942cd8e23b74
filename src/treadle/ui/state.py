"""The state of the page and the saved views, as the server saves them and pages mirror them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

MAX_COLLAPSED = 50_000
"""The maximum number of saved collapsed spans.

The spans that were collapsed first are dropped first.
"""


class View(StrEnum):
    """The lists that labels can filter."""

    THREADS = "threads"
    RUNS = "runs"
    SPANS = "spans"


@dataclass(frozen=True, slots=True)
class UiState:
    """The state of the page after `revision` changes.

    `location` is the path and query of the last address. `changed_by` is the page that made the
    last change, or None if a tool or a program made it. `collapsed_span_ids` is in the order in
    which the person collapsed the spans.
    """

    revision: int = 0
    changed_by: str | None = None
    location: str = "/"
    experiment_id: str | None = None
    """The id of the open experiment, or None if no experiment is open."""
    label_filters: Mapping[View, tuple[str, ...]] = field(default_factory=dict)
    """The labels by which each list is filtered.

    A list shows the rows that have one of its labels.
    """
    collapsed_span_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenPage:
    """A page that is open in a browser. The page chooses its id."""

    id: str
    location: str
    used_us: int
    """The time of the person's last action on the page, in Unix microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the state.

    A field with its default value changes nothing. `label_filters` replaces the filters of the
    lists that it names. An empty string as `experiment_id` closes the experiment. `collapse` and
    `expand` are ids of spans.
    """

    location: str | None = None
    experiment_id: str | None = None
    label_filters: Mapping[View, tuple[str, ...]] = field(default_factory=dict)
    collapse: tuple[str, ...] = ()
    expand: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedView:
    """A named view of a list, with its filter and columns.

    The name is unique within the screen. `query` is a text of the trace query language. `search` is
    the query string of the address.
    """

    id: str
    screen: str
    name: str
    query: str
    search: str
    columns: Sequence[str]
    updated_us: int
