"""The findings of detectors: the fault, its confidence and its evidence."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from treadle.diagnosis.evidence import Evidence, SpanReference

QUOTE_CHARACTERS = 240
"""The maximum length of a quote in characters.

The text range in the evidence of a finding is as long as the quote.
"""


class Severity(StrEnum):
    """The severity of a finding."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def weight(self) -> int:
        """The severity as a number: 3 for high, 2 for medium, 1 for low."""
        return {Severity.HIGH: 3, Severity.MEDIUM: 2, Severity.LOW: 1}[self]


class Layer(IntEnum):
    """A group of detectors that use the same kind of evidence.

    `PATTERNS` skips a result in which `SIGNALS` found a fault.
    """

    SIGNALS = 1
    """Detectors that read structure, such as a status, a code or a flag."""
    PATTERNS = 2
    """Detectors that search for certain words, at positions where these words indicate a fault."""
    RULES = 3
    """The patterns of the user's rules."""


class Kind(StrEnum):
    """The kinds of faults that a finding can have."""

    STATUS = "status"
    """The status of the span is an error."""
    EXCEPTION = "exception"
    """An event or a result contains an exception."""
    FAILED_RESULT = "failed_result"
    """A key of a JSON result states that the call failed."""
    HTTP_STATUS = "http_status"
    """A call ended with an HTTP status of 400 or above, or with an error status of gRPC."""
    EXIT_CODE = "exit_code"
    """A command ended with an exit code other than 0."""
    TRUNCATED = "truncated"
    """The reply was cut at a length limit."""
    FILTERED = "filtered"
    """A content filter stopped the reply."""
    PROVIDER_ERROR = "provider_error"
    """The provider returned an error instead of a reply, or interrupted the reply."""
    STOPPED = "stopped"
    """A limit ended a run before the run had an answer."""
    REFUSAL = "refusal"
    """The model refused the request."""
    EMPTY_REPLY = "empty_reply"
    """A reply has neither text nor tool calls."""
    EMPTY_RESULT = "empty_result"
    """A tool or a retrieval found nothing, or returned nothing."""
    INVALID_ARGUMENTS = "invalid_arguments"
    """The arguments of a tool call are not a JSON object or list, or are JSON within JSON text."""
    SCHEMA_MISMATCH = "schema_mismatch"
    """The arguments of a tool call do not match the schema of the tool."""
    UNKNOWN_TOOL = "unknown_tool"
    """The model called a tool that the request did not offer."""
    UNANSWERED_CALL = "unanswered_call"
    """A history contains a tool call without its result."""
    DENIED = "denied"
    """A rule or a person denied a tool call."""
    # The kinds of failures whose names occur as words in a text.
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

    `confidence` is the estimated precision of the detector, from 0 to 1. `message` is written for a
    person and quotes recorded text. `count` is the number of lines of the quoted field that have
    the same fault, or the number of matches of a user's rule. `also_in` contains the later spans
    that repeat the faulty text, in order of time.
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
    """The tool whose call or result has the fault. It is empty if no tool is involved."""
    count: int = 1
    also_in: tuple[SpanReference, ...] = ()

    @property
    def repeats(self) -> str:
        """A text such as "also in 3 later requests".

        It is empty if no request repeats the fault.
        """
        number = len(self.also_in)
        return f"also in {number} later request{'s'[: number != 1]}" if number else ""


def word_set(text: str) -> frozenset[str]:
    """Return the words of `text`, which white space separates."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Detector:
    """The identity of a detector. The version is raised when a change affects its findings."""

    name: str
    version: int
    layer: Layer


@dataclass(frozen=True, slots=True)
class Hit:
    """A fault that a detector found in characters `start` to `end` of the text at `path`.

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
