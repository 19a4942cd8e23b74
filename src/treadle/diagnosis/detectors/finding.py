"""The findings of detectors: the fault, its confidence and its evidence."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from treadle.diagnosis.evidence import Evidence, SpanReference

QUOTE_CHARACTERS = 240
"""The most characters of a quote. The range of a finding is as long as its quote."""


class Severity(StrEnum):
    """The severity of a finding."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def weight(self) -> int:
        """3 for high, 2 for medium, 1 for low."""
        return {Severity.HIGH: 3, Severity.MEDIUM: 2, Severity.LOW: 1}[self]


class Layer(IntEnum):
    """The kind of evidence. A layer does not read a text in which another layer found a fault."""

    SIGNALS = 1
    """Structure: a status, a code, a flag."""
    PATTERNS = 2
    """Words in a position that indicates a fault."""
    RULES = 3
    """Patterns of the user's rules."""


class Kind(StrEnum):
    """The kinds of faults that a finding can have."""

    STATUS = "status"
    """The status of the span is an error."""
    EXCEPTION = "exception"
    """An event or a result contains an exception."""
    FAILED_RESULT = "failed_result"
    """The structure of a result states that the call failed."""
    HTTP_STATUS = "http_status"
    """An HTTP status of 400 or above."""
    EXIT_CODE = "exit_code"
    """A command ended with an exit code other than 0."""
    TRUNCATED = "truncated"
    """The reply was cut at a length limit."""
    FILTERED = "filtered"
    """A content filter stopped the reply."""
    PROVIDER_ERROR = "provider_error"
    """The provider returned an error instead of a reply, or interrupted the reply."""
    STOPPED = "stopped"
    """A limit ended the run before its answer."""
    REFUSAL = "refusal"
    """The model refused the request."""
    EMPTY_REPLY = "empty_reply"
    """A reply has neither text nor calls."""
    EMPTY_RESULT = "empty_result"
    """A tool or a retrieval found nothing, or returned nothing."""
    INVALID_ARGUMENTS = "invalid_arguments"
    """The arguments of a call are not JSON, or are JSON inside of JSON text."""
    SCHEMA_MISMATCH = "schema_mismatch"
    """The arguments of a call do not match the offered schema."""
    UNKNOWN_TOOL = "unknown_tool"
    """The model called a tool that was not offered."""
    UNANSWERED_CALL = "unanswered_call"
    """A history contains a call without its result."""
    DENIED = "denied"
    """A rule or a person denied a call."""
    # The kinds of layer 2, named after words as in the earlier system.
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
    """A rule of the user matches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault of one span, reported at its first occurrence.

    `confidence` is the detector's own estimate of its precision, 0 to 1. `message` is for a person
    and quotes recorded text. `count` is the number of lines in the field with the same fault.
    `also_in` are later spans, in order of time, that only repeat the message.
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
    """The tool whose call or result has the fault. Empty if no tool is involved."""
    count: int = 1
    also_in: tuple[SpanReference, ...] = ()

    @property
    def repeats(self) -> str:
        """Return text such as "also in 3 later requests", empty if no later request repeats it."""
        number = len(self.also_in)
        return f"also in {number} later request{'s'[: number != 1]}" if number else ""


def word_set(text: str) -> frozenset[str]:
    """Split a text of many words into a set of words."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Detector:
    """A detector. Its version changes with its rules."""

    name: str
    version: int
    layer: Layer


@dataclass(frozen=True, slots=True)
class Hit:
    """A fault in a text: characters `start` to `end` of the text at `path`.

    If `end` is None, the fault extends to the end of the text.
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
