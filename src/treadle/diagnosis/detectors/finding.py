"""What a detector says: what is wrong, how sure it is, and where that stands, word for word."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from treadle.diagnosis.evidence import Evidence, SpanReference

QUOTE_CHARACTERS = 240
"""The longest quote; the range of a finding is as long as its quote."""


class Severity(StrEnum):
    """How bad a finding is."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def weight(self) -> int:
        """3 for high, 2 for medium, 1 for low."""
        return {Severity.HIGH: 3, Severity.MEDIUM: 2, Severity.LOW: 1}[self]


class Layer(IntEnum):
    """Which kind of evidence a finding rests on. What the one before found, the next leaves."""

    SIGNALS = 1
    """Structure: a status, a code, a field that says so."""
    PATTERNS = 2
    """Words at a place where they are meant."""
    RULES = 3
    """Patterns of the user's own."""


class Kind(StrEnum):
    """What is wrong. The closed vocabulary of findings."""

    STATUS = "status"
    """The span says of itself that it failed."""
    EXCEPTION = "exception"
    """An exception was recorded, or is in a result."""
    FAILED_RESULT = "failed_result"
    """A result says in its structure that the call failed."""
    HTTP_STATUS = "http_status"
    """A status of 400 or above."""
    EXIT_CODE = "exit_code"
    """A command ended with another code than 0."""
    TRUNCATED = "truncated"
    """The reply was cut at a limit of length."""
    FILTERED = "filtered"
    """A filter of content stopped the reply."""
    PROVIDER_ERROR = "provider_error"
    """The provider gave an error in the place of a reply, or broke one off."""
    STOPPED = "stopped"
    """A limit ended the run before its answer."""
    REFUSAL = "refusal"
    """The model would not do what was asked."""
    EMPTY_REPLY = "empty_reply"
    """A reply with neither text nor calls."""
    EMPTY_RESULT = "empty_result"
    """A tool or a retrieval found nothing, or answered with nothing."""
    INVALID_ARGUMENTS = "invalid_arguments"
    """Arguments of a call that are no JSON, or JSON inside of JSON."""
    SCHEMA_MISMATCH = "schema_mismatch"
    """Arguments that do not fit the schema that was offered."""
    UNKNOWN_TOOL = "unknown_tool"
    """A call of a tool that was not offered."""
    UNANSWERED_CALL = "unanswered_call"
    """A call whose result is missing from the history that holds it."""
    DENIED = "denied"
    """A rule or a person did not allow a call."""
    # The words of line_shapes_of patterns, as the earlier system named them.
    ERROR = "error"
    FAILED_TO = "failed to"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not found"
    DOES_NOT_EXIST = "does not exist"
    TIMEOUT = "timeout"
    RATE_LIMIT = "rate limit"
    INVALID = "invalid"
    MISSING = "missing"
    UNDEFINED = "undefined"
    NULL = "null"
    RULE = "rule"
    """A rule of the user's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault of one span, reported at its first occurrence.

    `confidence` is the detector's share of right findings by its own estimate, 0 to 1. `message`
    is for a person; what it repeats of a trace is quoted. `count` is how often the same is said in
    that field. `also_in` are later spans, in order of time, that merely repeat the message.
    """

    detector: str
    version: int
    layer: Layer
    kind: Kind
    severity: Severity
    confidence: float
    message: str
    evidence: Evidence
    tool: str = ""
    """The tool whose call or result it is about; empty where it is about none."""
    count: int = 1
    also_in: tuple[SpanReference, ...] = ()

    @property
    def span_ids(self) -> tuple[str, ...]:
        """The span that shows it first, then those that repeat it."""
        return (self.evidence.span.span_id, *(span.span_id for span in self.also_in))

    @property
    def repeats(self) -> str:
        """Such as "also in 3 later requests"; empty when no later one repeats it."""
        number = len(self.also_in)
        return f"also in {number} later request{'s'[: number != 1]}" if number else ""


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as text."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Detector:
    """The name of a detector, and the version of what it looks for."""

    name: str
    version: int
    layer: Layer


@dataclass(frozen=True, slots=True)
class Hit:
    """Something found in a text: characters `start` to `end` of what stands at `path`.

    `end` None is the end of the text.
    """

    detector: Detector
    kind: Kind
    severity: Severity
    confidence: float
    message: str
    path: str
    start: int = 0
    end: int | None = None
    count: int = 1
