"""The names of the query language, with their values and their meaning.

The parser uses this vocabulary, and search bars complete names from it.
"""

from dataclasses import dataclass
from enum import StrEnum

from treadle.spans.span import REPOSITORY_LABEL, SpanKind, SpanStatus
from treadle.traces.query.conditions import (
    NUMERIC,
    AnyField,
    Field,
    MetadataKey,
    Operator,
)
from treadle.traces.query.moments import Period


class Takes(StrEnum):
    """The kind of value that follows a name."""

    CHOICE = "choice"
    """One of a few fixed words."""
    PATTERN = "pattern"
    """A name, in which `*` and `?` are wildcards unless they are quoted."""
    ID = "id"
    """A whole id."""
    TEXT = "text"
    COST = "cost"
    """An amount in US dollars."""
    DURATION = "duration"
    """A time with its unit, such as `250ms`."""
    COUNT = "count"
    """A whole number, such as `1000` or `1.5k`."""
    MOMENT = "moment"
    """A date, a time, or an age such as `2h`."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name that may precede a colon. `choices` contains its values if only these are possible.

    A `short` name is a brief form of another name, and takes one value. The parser puts `prefix` in
    front of the value that the user writes. After a `keyed` name, the user writes a dot and a key.
    """

    name: str
    field: Field
    takes: Takes
    description: str
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    short: bool = False
    prefix: str = ""
    keyed: bool = False

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators that may follow the name."""
        if self.field in NUMERIC and not self.short:
            ordered = (Operator.MORE, Operator.AT_LEAST, Operator.LESS, Operator.AT_MOST)
            return (":", *(each.value for each in ordered))
        return (":",)


def _words(choices: type[StrEnum]) -> tuple[str, ...]:
    return tuple(each.value for each in choices)


_ID, _PATTERN, _COUNT = Takes.ID, Takes.PATTERN, Takes.COUNT

VOCABULARY = (
    Name("status", Field.STATUS, Takes.CHOICE, "how it ended", _words(SpanStatus)),
    Name("kind", Field.KIND, Takes.CHOICE, "what kind of step it is", _words(SpanKind)),
    Name("model", Field.MODEL, _PATTERN, "the model that was called"),
    Name("provider", Field.PROVIDER, _PATTERN, "the provider of the model"),
    Name("label", Field.LABEL, _PATTERN, "a label that it has", aliases=("labels",)),
    Name(
        "repository",
        Field.LABEL,
        _PATTERN,
        "the repository in which Treadle recorded it, by the id in its label",
        prefix=REPOSITORY_LABEL,
    ),
    Name("user", Field.USER, _PATTERN, "the user for whom it ran"),
    Name("release", Field.RELEASE, _PATTERN, "the version of the application"),
    Name(
        "metadata",
        Field.METADATA,
        _PATTERN,
        "a value that the application attached, such as metadata.tenant:acme",
        keyed=True,
    ),
    Name("operation", Field.OPERATION, _PATTERN, "what was done, such as chat", aliases=("op",)),
    Name(
        "name", Field.NAME, _PATTERN, "the name of the span; for a tool call, the name of the tool"
    ),
    Name("thread", Field.THREAD, _ID, "the thread that it belongs to"),
    Name("run", Field.RUN, _ID, "the run that it belongs to"),
    Name("trace", Field.TRACE, _ID, "the trace that it belongs to"),
    Name("span", Field.SPAN, _ID, "the span itself"),
    Name("parent", Field.PARENT, _ID, "its parent span"),
    Name("cost", Field.COST, Takes.COST, "US dollars"),
    Name("duration", Field.DURATION, Takes.DURATION, "how long it took"),
    Name("ttft", Field.TTFT, Takes.DURATION, "time to the first token", aliases=("first_token",)),
    Name("tokens", Field.TOKENS, _COUNT, "tokens of input and output together"),
    Name("input", Field.INPUT, _COUNT, "tokens of input"),
    Name("output", Field.OUTPUT, _COUNT, "tokens of output"),
    Name("cached", Field.CACHED, _COUNT, "tokens of input that were read from a cache"),
    Name("start", Field.START, Takes.MOMENT, "when it began"),
    Name("since", Field.START, Takes.MOMENT, "began then or later", short=True),
    Name("until", Field.START, Takes.MOMENT, "began before that", short=True),
    Name("period", Field.START, Takes.CHOICE, "began in that time", _words(Period), short=True),
    Name(
        "has", Field.ERROR, Takes.CHOICE, "has:error matches failed spans", ("error",), short=True
    ),
    Name(
        "own",
        Field.OWN,
        Takes.CHOICE,
        "own:include adds calls of Treadle's own analyst and experiments",
        ("include",),
    ),
    Name("text", Field.TEXT, Takes.TEXT, "a text that its name, input or output contains"),
)
"""All names, the most used ones first."""

NAMES = {name: each for each in VOCABULARY for name in (each.name, *each.aliases)}
"""Maps each name and each alias to its `Name`."""


def find_field(written: str) -> AnyField | None:
    """Return the field with a name of the query language, such as `model` or `metadata.tenant`."""
    if key := MetadataKey.read(written):
        return key
    name = NAMES.get(written.lower())
    return None if name is None or name.keyed else name.field
