"""What the examination of one span gives, from which the findings of many are folded together.

It is plain values alone, so that a store can keep it: examining reads whole contents, and folding
reads nothing but this.
"""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b
from typing import NamedTuple

from treadle.diagnosis.detectors.finding import Finding, Kind, Layer, Severity
from treadle.diagnosis.evidence import Evidence, SpanReference
from treadle.diagnosis.field_paths import parsed

Occurrence = tuple[str, int]
"""The digest of what a message says, and the number of this time that it is said, from 1."""


def content_digest(kind: str, text: str) -> bytes:
    """The digest of a message; the same JSON, written otherwise, is the same content."""
    said = text.strip()
    if said[:1] in ("{", "["):
        with suppress(ValueError):  # it may be text that only looks like JSON
            said = json.dumps(parsed(said), sort_keys=True)
    return blake2b(f"{kind}\0{said}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(slots=True)
class OccurrenceCounter:
    """Which occurrence of its content a message is, counted over one history or one sequence."""

    seen: Counter[str] = field(default_factory=Counter)

    def occurrence(self, content: str) -> Occurrence:
        """The content and its number, from 1."""
        self.seen[content] += 1
        return content, self.seen[content]


_COMPRESSED_FROM = 1_000
_LEVEL = 1
_ENCODING = ("utf-8", "surrogatepass")


class Series(IntEnum):
    """In which sequence of messages a text stands, where its content is counted."""

    NONE = 0
    """In none: what it says is not repeated elsewhere."""
    REPLIES = 1
    """The replies of models."""
    TOOLS = 2
    """The spans of tools."""
    HISTORY = 3
    """The request of one model call."""


class Fault(NamedTuple):
    """A finding without its span, in values that JSON has; see `Finding`."""

    detector: str
    version: int
    layer: int
    kind: str
    severity: str
    confidence: float
    message: str
    tool: str
    field: str
    start: int
    end: int
    quote: str
    number: int

    def found_in(self, span: SpanReference, also_in: Iterable[SpanReference] = ()) -> Finding:
        """The finding, first seen in `span`."""
        return Finding(
            detector=self.detector,
            version=self.version,
            layer=Layer(self.layer),
            kind=Kind(self.kind),
            severity=Severity(self.severity),
            confidence=self.confidence,
            message=self.message,
            tool=self.tool,
            evidence=Evidence(span, self.field, self.start, self.end, self.quote),
            count=self.number,
            also_in=tuple(also_in),
        )


class TextFaults(NamedTuple):
    """What one text of a span, or the span itself, tells of: all that folding needs of it."""

    marks: tuple[str, ...]
    """Of each fault its weight, a digit, then kind and place, by which it is known again."""
    series: int = Series.NONE
    content: str = ""
    """The digest of the text that is counted in `series`."""
    tool: str = ""
    said: str | None = None
    """Of a tool that failed without a result, its error; of a message in a history, what the first
    fault is about. By these one knows that both are the same failure."""


@dataclass(frozen=True, slots=True)
class SpanExamination:
    """One span as the detectors see it. `start_us` is its start, by which spans are in order."""

    span: SpanReference
    start_us: int
    told: tuple[TextFaults, ...] = ()
    details: bytes = b""
    """The faults of all that was told, in the order of their marks; read only where shown."""

    def faults(self) -> list[Fault]:
        """The faults, in the order of the marks."""
        return list(map(Fault._make, json.loads(_plain(self.details)))) if self.details else []


def mark(fault: Fault, at: str) -> str:
    """The mark of a fault in the text at the path `at`."""
    return f"{Severity(fault.severity).weight}{fault.kind} {fault.field[len(at) :] if at else ''}"


def packed_faults(faults: Sequence[Fault]) -> bytes:
    """Faults as `SpanExamination.details`."""
    if not faults:
        return b""
    data = _compact(faults)
    return data if len(data) < _COMPRESSED_FROM else zlib.compress(data, _LEVEL)


def encode(examined: SpanExamination) -> bytes:
    """What was told, with its details, as bytes: a line of JSON, then the details."""
    return b"\n".join((_compact(examined.told), examined.details))


def decode(data: bytes) -> tuple[tuple[TextFaults, ...], bytes]:
    """What was told, and its details, out of such bytes."""
    line, _, details = data.partition(b"\n")
    told = tuple(
        TextFaults(tuple(marks), *rest) for marks, *rest in json.loads(line.decode(*_ENCODING))
    )
    return told, details


def _compact(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(*_ENCODING)


def _plain(data: bytes) -> str:
    return (data if data[:1] == b"[" else zlib.decompress(data)).decode(*_ENCODING)
