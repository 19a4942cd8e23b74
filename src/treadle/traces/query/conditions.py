"""What is asked of the recorded spans: one typed form for the page, the command line and tools."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Field(StrEnum):
    """What a condition is about. The values are the names in the query language."""

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
    COST = "cost"
    """Billionths of a US dollar."""
    DURATION = "duration"
    """Microseconds; what has no duration never matches."""
    TTFT = "ttft"
    """Microseconds to the first token."""
    TOKENS = "tokens"
    """Input and output together."""
    INPUT = "input"
    OUTPUT = "output"
    CACHED = "cached"
    START = "start"
    """When a span began, in Unix microseconds."""
    TEXT = "text"
    """The name, the input and the output, as people read them."""
    ERROR = "error"
    """Whether a span failed."""
    OWN = "own"
    """A switch, which every span fits: calls of Treadle's own analyst and experiments count too."""


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


class Operator(StrEnum):
    """How a field is compared with the values of a condition."""

    IS = "is"
    """Equal to one of the values."""
    LIKE = "like"
    """Matched by one of the patterns, in which `*` and `?` stand for anything; see `patterns`."""
    MORE = ">"
    AT_LEAST = ">="
    LESS = "<"
    AT_MOST = "<="
    CONTAINS = "contains"
    """Text: holds the words or the phrase, letter by letter, whatever the case."""
    BEGINS = "begins"
    """Text: holds a word that begins so."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that must hold, or with `negated` must not.

    `values` are strings, or integers for the fields of `NUMERIC`; one of them has to fit. `ERROR`
    takes none.
    """

    field: Field
    operator: Operator
    values: tuple[str | int, ...] = ()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """All conditions must hold; without any, everything is asked for."""

    conditions: tuple[Condition, ...] = ()

    def __and__(self, other: "Query") -> "Query":
        return Query(self.conditions + other.conditions)

    def of(self, *fields: Field) -> tuple[Condition, ...]:
        """The conditions about one of these fields."""
        return tuple(each for each in self.conditions if each.field in fields)


def any_of(field: Field, values: Iterable[str], *, negated: bool = False) -> Condition:
    """`field` is one of `values`, which are taken as they are."""
    return Condition(field, Operator.IS, tuple(values), negated)


class SortKey(StrEnum):
    """What a list is sorted by."""

    TIME = "time"
    DURATION = "duration"
    COST = "cost"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True)
class Sort:
    """The order of a list: by default the newest first. What is unknown comes last."""

    key: SortKey = SortKey.TIME
    ascending: bool = False

    def __str__(self) -> str:
        return f"{'' if self.ascending else '-'}{self.key.value}"


NEWEST = Sort()
"""The newest first."""


class GroupBy(StrEnum):
    """What spans are summed by."""

    TIME = "time"
    MODEL = "model"
    THREAD = "thread"
    RUN = "run"
    LABEL = "label"
    OPERATION = "operation"


class Rows(StrEnum):
    """What a list has a row for."""

    SPANS = "spans"
    RUNS = "runs"
    THREADS = "threads"
