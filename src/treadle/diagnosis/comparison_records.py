"""The records of a comparison of two traces, runs, threads or spans. Its JSON has the same form."""

from dataclasses import dataclass
from enum import StrEnum

from treadle.events.types import Usage
from treadle.spans.span import SpanKind, SpanStatus
from treadle.spans.totals import Totals
from treadle.traces.subjects import Subject


class Aspect(StrEnum):
    """A property in which the two spans of a step can differ."""

    STATUS = "status"
    ERROR = "error"
    MODEL = "model"
    INPUT = "input"
    OUTPUT = "output"
    TOKENS = "tokens"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class ComparedSpan:
    """The figures of one span of a step."""

    trace_id: str
    span_id: str
    status: SpanStatus
    error: str | None
    model: str | None
    duration_us: int | None
    tokens: Usage
    cost: float | None
    excerpt: str
    """The beginning of the reply, of the arguments of a tool, or of another text of the span."""


@dataclass(frozen=True, slots=True)
class TextChange:
    """The difference of a text, as lines of a unified diff.

    `cut` is true if the text or the difference is too long to be shown in full.
    """

    aspect: Aspect
    lines: tuple[str, ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class ComparedStep:
    """A step of the aligned lists. `a` or `b` is None if that side does not have the step.

    `depth` is the number of ancestors of the step in the tree of A, or of B if A lacks the step.
    `changes` does not include the duration, which differs nearly always. The input of a model call
    is compared without the messages that repeat those of the previous model call.
    """

    kind: SpanKind
    name: str
    depth: int
    a: ComparedSpan | None
    b: ComparedSpan | None
    changes: tuple[Aspect, ...]
    texts: tuple[TextChange, ...]


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """The figures of one side.

    `question` is the beginning of the question of the first trace, as lists show it. `duration_us`
    is the time from the first start to the last known end. `unfinished` is the number of spans that
    have no end.
    """

    subject: Subject
    question: str
    status: SpanStatus
    start_us: int
    last_us: int
    duration_us: int
    unfinished: int
    models: tuple[str, ...]
    releases: tuple[str, ...]
    totals: Totals


@dataclass(frozen=True, slots=True)
class ToolCount:
    """The number of calls of a tool on both sides."""

    name: str
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class TraceComparison:
    """The differences between two traces, runs, threads or spans.

    `same_question`, `same_instructions` and `same_answer` are None if one side does not have that
    text. The instructions are the system messages of the first model call.
    """

    a: ComparedSide
    b: ComparedSide
    same_question: bool | None
    same_instructions: bool | None
    same_answer: bool | None
    tools: tuple[ToolCount, ...]
    steps: tuple[ComparedStep, ...]
    summary: str
    """The most important differences in one line."""
