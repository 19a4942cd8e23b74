"""Queries of recorded spans as typed values, for the page, the command line and the tools."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Field(StrEnum):
    """The field that a condition compares. The values are the names in the query language."""

    TRACE = "trace"
    SPAN = "span"
    PARENT = "parent"
    RUN = "run"
    THREAD = "thread"
    KIND = "kind"
    OPERATION = "operation"
    NAME = "name"
    LABEL = "label"
    STATUS = "status"
    MODEL = "model"
    PROVIDER = "provider"
    USER = "user"
    RELEASE = "release"
    METADATA = "metadata"
    """A value of the metadata. The condition names its key."""
    COST = "cost"
    """The cost in billionths of a US dollar."""
    DURATION = "duration"
    """The duration in microseconds. A span without a duration never matches."""
    TTFT = "ttft"
    """The time to the first token in microseconds."""
    TOKENS = "tokens"
    """The sum of input and output tokens."""
    INPUT = "input"
    OUTPUT = "output"
    CACHED = "cached"
    START = "start"
    """The start of a span, in Unix microseconds."""
    TEXT = "text"
    """The text of the name, the input and the output."""
    ERROR = "error"
    """Whether a span failed."""
    OWN = "own"
    """A switch, not a filter: it includes the calls of Treadle's analyst and experiments."""


METADATA_PREFIX = "metadata."
"""Precedes the key of a value of the metadata, as in `metadata.tenant:acme`."""

NUMERIC = frozenset(
    {
        Field.COST,
        Field.DURATION,
        Field.TTFT,
        Field.TOKENS,
        Field.INPUT,
        Field.OUTPUT,
        Field.CACHED,
        Field.START,
    }
)
"""Fields that are compared as integers."""


PROPERTIES = frozenset({Field.USER, Field.RELEASE, Field.METADATA})
"""Fields that a span inherits from the root of its trace, if it does not state them itself."""


class Operator(StrEnum):
    """How a field is compared with the values of a condition."""

    IS = "is"
    """The field equals one of the values."""
    LIKE = "like"
    """The field matches one of the patterns, which have the wildcards `*` and `?` (`patterns`)."""
    MORE = ">"
    AT_LEAST = ">="
    LESS = "<"
    AT_MOST = "<="
    CONTAINS = "contains"
    """The text contains the whole word or phrase of the value. The case is ignored."""
    BEGINS = "begins"
    """The text contains a word that begins with the value."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that a span must meet, or must not meet if `negated`.

    `values` are strings, or integers for the fields of `NUMERIC`. One of the values must match. The
    field `ERROR` takes no values. `key` is the key of the metadata for the field `METADATA`. Values
    of the metadata that are not numbers do not meet a comparison with a number.
    """

    field: Field
    operator: Operator
    values: tuple[str | int, ...] = ()
    negated: bool = False
    key: str = ""

    @property
    def about(self) -> "AnyField":
        """The compared field."""
        return MetadataKey(self.key) if self.field is Field.METADATA else self.field


@dataclass(frozen=True, slots=True)
class MetadataKey:
    """A key of the metadata, whose values are compared, counted or grouped."""

    key: str

    def __str__(self) -> str:
        return f"{METADATA_PREFIX}{self.key}"

    @property
    def value(self) -> str:
        """The name of the property in the store."""
        return str(self)

    @property
    def written(self) -> str:
        """The name of the field in the query language, with the key in quotes if necessary."""
        if _PLAIN_KEY.fullmatch(self.key):
            return str(self)
        escaped = re.sub(r'(["\\])', r"\\\1", self.key)
        return f'{METADATA_PREFIX}"{escaped}"'

    @classmethod
    def read(cls, written: str) -> "MetadataKey | None":
        """Return the key with this name in the query language, or None for another name."""
        key = written[len(METADATA_PREFIX) :]
        if not key or written[: len(METADATA_PREFIX)].lower() != METADATA_PREFIX:
            return None
        is_quoted = key.startswith('"') and key.endswith('"') and len(key) > 2
        return cls(re.sub(r'\\(["\\])', r"\1", key[1:-1]) if is_quoted else key)


_PLAIN_KEY = re.compile(r"[^\s\",:=<>]+")

AnyField = Field | MetadataKey
"""A field whose values can be compared, counted or grouped.

For the metadata, it is a `MetadataKey`, and never `Field.METADATA`.
"""


@dataclass(frozen=True, slots=True)
class Query:
    """A query matches the spans that meet all its conditions. An empty query matches all spans."""

    conditions: tuple[Condition, ...] = ()

    def __and__(self, other: "Query") -> "Query":
        return Query(self.conditions + other.conditions)

    def of(self, *fields: Field) -> tuple[Condition, ...]:
        """Return the conditions about one of these fields."""
        return tuple(each for each in self.conditions if each.field in fields)


def any_of(field: Field, values: Iterable[str], *, negated: bool = False) -> Condition:
    """Return the condition that `field` equals one of `values`, which are not patterns."""
    return Condition(field, Operator.IS, tuple(values), negated)


class SortKey(StrEnum):
    """The value by which a list is sorted."""

    TIME = "time"
    DURATION = "duration"
    COST = "cost"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True)
class Sort:
    """The order of a list, by default newest first. Rows with an unknown value come last."""

    key: SortKey = SortKey.TIME
    ascending: bool = False

    def __str__(self) -> str:
        return f"{'' if self.ascending else '-'}{self.key.value}"


NEWEST = Sort()
"""The default order: newest first."""


class GroupBy(StrEnum):
    """The property by which spans are grouped."""

    TIME = "time"
    MODEL = "model"
    THREAD = "thread"
    RUN = "run"
    LABEL = "label"
    OPERATION = "operation"
    USER = "user"
    RELEASE = "release"


Grouping = GroupBy | MetadataKey
"""The field whose value all spans of a group share, or `GroupBy.TIME`."""


def property_of(by: Grouping) -> str | None:
    """Return the name of the property by which spans are grouped, or None for other groupings."""
    is_property = isinstance(by, MetadataKey) or by in {GroupBy.USER, GroupBy.RELEASE}
    return by.value if is_property else None


def read_grouping(text: str) -> Grouping:
    """Return the grouping with this name, such as `model` or `metadata.tenant`.

    Raises ValueError for any other text.
    """
    return MetadataKey.read(text) or GroupBy(text)


class GroupSort(StrEnum):
    """The value by which groups are sorted. Unknown values come last."""

    GROUP = "group"
    """The value that the spans of a group share."""
    SPANS = "spans"
    CALLS = "calls"
    ERRORS = "errors"
    TOKENS = "tokens"
    COST = "cost"
    RUNS = "runs"
    FAILED_RUNS = "failed_runs"
    COST_PER_RUN = "cost_per_run"
    P50 = "p50"
    P95 = "p95"


class Rows(StrEnum):
    """The objects that a list shows, one in each row."""

    SPANS = "spans"
    RUNS = "runs"
    THREADS = "threads"
