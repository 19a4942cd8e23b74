"""The examination of one span, from which the findings of many spans are combined.

It consists of plain values, so a store can keep it. Examining reads whole contents. Combining reads
only examinations.
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
"""The digest of a message, and the number of its occurrences so far, from 1."""


def content_digest(kind: str, text: str) -> bytes:
    """The digest of a message. Equal JSON has an equal digest, however it is written."""
    content = text.strip()
    if content[:1] in ("{", "["):
        with suppress(ValueError):  # the text may only look like JSON
            content = json.dumps(parsed(content), sort_keys=True)
    return blake2b(f"{kind}\0{content}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(slots=True)
class OccurrenceCounter:
    """Counts the occurrences of messages over one history or one sequence of spans."""

    seen: Counter[str] = field(default_factory=Counter)

    def occurrence(self, content: str) -> Occurrence:
        """Count a message. Returns its digest and the number of this occurrence, from 1."""
        self.seen[content] += 1
        return content, self.seen[content]


_COMPRESSED_FROM = 1_000
_LEVEL = 1
_ENCODING = ("utf-8", "surrogatepass")


class Series(IntEnum):
    """The sequence of messages in which the occurrences of a text are counted."""

    NONE = 0
    """Occurrences are not counted, since the text does not recur elsewhere."""
    REPLIES = 1
    """The replies of models."""
    TOOLS = 2
    """The spans of tools."""
    HISTORY = 3
    """The request of one model call."""


class Fault(NamedTuple):
    """A finding without its span, as JSON values. `Finding` documents the fields."""

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
        """The finding, with `span` as its first occurrence."""
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
    """The faults of one text or of the span itself, reduced to the parts that combining needs."""

    keys: tuple[str, ...]
    """The key of each fault: its weight as one digit, its kind and its position."""
    series: int = Series.NONE
    content: str = ""
    """The digest of the text whose occurrences are counted in `series`."""
    tool: str = ""
    quote: str | None = None
    """The error of a failed tool without a result. In a history, it is the quote of the first
    fault. Two equal texts are the same failure."""


@dataclass(frozen=True, slots=True)
class SpanExamination:
    """The faults of one span. `start_us` orders the spans."""

    span: SpanReference
    start_us: int
    texts: tuple[TextFaults, ...] = ()
    encoded: bytes = b""
    """The encoded faults of all texts, in the order of their keys. They are decoded only if they
    are shown."""

    def faults(self) -> list[Fault]:
        """The faults, in the order of their keys."""
        return list(map(Fault._make, json.loads(_plain(self.encoded)))) if self.encoded else []


def fault_key(fault: Fault, at: str) -> str:
    """The key of a fault in the text at the path `at`."""
    return f"{Severity(fault.severity).weight}{fault.kind} {fault.field[len(at) :] if at else ''}"


def encode_faults(faults: Sequence[Fault]) -> bytes:
    """Encode faults for `SpanExamination.encoded`."""
    if not faults:
        return b""
    data = _compact(faults)
    return data if len(data) < _COMPRESSED_FROM else zlib.compress(data, _LEVEL)


def encode(examined: SpanExamination) -> bytes:
    """Encode an examination as a line of JSON and the encoded faults."""
    return b"\n".join((_compact(examined.texts), examined.encoded))


def decode(data: bytes) -> tuple[tuple[TextFaults, ...], bytes]:
    """Return the texts and the encoded faults of an encoded examination."""
    line, _, encoded = data.partition(b"\n")
    text_faults = tuple(
        TextFaults(tuple(keys), *rest) for keys, *rest in json.loads(line.decode(*_ENCODING))
    )
    return text_faults, encoded


def _compact(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(*_ENCODING)


def _plain(data: bytes) -> str:
    return (data if data[:1] == b"[" else zlib.decompress(data)).decode(*_ENCODING)
