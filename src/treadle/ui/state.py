"""The state of the page and the saved views, as the server saves them and pages mirror them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

MAX_COLLAPSED = 50_000
"""The maximum number of saved collapsed spans. The oldest are dropped first."""


class View(StrEnum):
    """The lists that labels can filter."""

    THREADS = "threads"
    RUNS = "runs"
    SPANS = "spans"


@dataclass(frozen=True, slots=True)
class UiState:
    """The state after `revision` changes.

    `location` is the last address of a page: path and query. `changed_by` is the page that made the
    last change, None for a tool or a program. Collapsed spans are in the order in which the person
    collapsed them.
    """

    revision: int = 0
    changed_by: str | None = None
    location: str = "/"
    experiment_id: str | None = None
    """The open experiment."""
    label_filters: Mapping[View, tuple[str, ...]] = field(default_factory=dict)
    """The labels by which each view is filtered. A row needs one of them."""
    collapsed_span_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenPage:
    """An open page, with the id that it chose."""

    id: str
    location: str
    used_us: int
    """The time of the last action of a person there, in Unix microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the state. Fields that are None or empty do not change.

    `label_filters` replaces the filters of the views that it names. An empty `experiment_id` closes
    the experiment.
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
