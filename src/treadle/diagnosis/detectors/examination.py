"""The examination of one span: its faults, before they are combined with those of other spans.

An examination consists of plain values, so a store can keep it. Examining a span reads its whole
content. Combining examinations does not read spans.
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
"""The digest of a message, and the number of this occurrence, counted from 1."""


def content_digest(kind: str, text: str) -> bytes:
    """Return the digest of the message `text`. Messages of different kinds have different digests.

    JSON texts with equal values have equal digests, whatever their white space and order of keys.
    """
    content = text.strip()
    if content[:1] in ("{", "["):
        with suppress(ValueError):  # text that begins like JSON may not be JSON
            content = json.dumps(parsed(content), sort_keys=True)
    return blake2b(f"{kind}\0{content}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(slots=True)
class OccurrenceCounter:
    """Counts the occurrences of messages in one history or in one sequence of spans."""

    seen: Counter[str] = field(default_factory=Counter)

    def occurrence(self, content: str) -> Occurrence:
        """Count a message. Returns its digest and the number of this occurrence, counted from 1."""
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
    """Occurrences are counted over the replies of all model calls."""
    TOOLS = 2
    """Occurrences are counted over all tool spans."""
    HISTORY = 3
    """Occurrences are counted within the request of one model call."""


class Fault(NamedTuple):
    """A finding without its span, as JSON values.

    `Finding` and `Evidence` document the fields. The field `number` is `Finding.count`.
    """

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
        """Return the finding for this fault, with `span` as its first occurrence."""
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
    """The faults of one text of a span, or of the span itself, reduced to what `combine` needs."""

    keys: tuple[str, ...]
    """The key of each fault: its severity as a digit, its kind, and its path in the text."""
    series: int = Series.NONE
    content: str = ""
    """The digest of the text, used to count its occurrences in `series`.

    It is empty if occurrences are not counted.
    """
    tool: str = ""
    quote: str | None = None
    """The text by which `combine` recognises the failure of a tool span in later histories.

    In a tool span it is the error of a call whose result has no fault. In a history it is the quote
    of the first fault of a result. For all other texts it is None.

    """


@dataclass(frozen=True, slots=True)
class SpanExamination:
    """The faults of one span.

    `start_us` is the start of the span in Unix microseconds. Spans are ordered by their start.
    """

    span: SpanReference
    start_us: int
    texts: tuple[TextFaults, ...] = ()
    encoded: bytes = b""
    """The encoded faults of all texts, in the order of `TextFaults.keys`.

    The faults are decoded only when findings are built from them.
    """

    def faults(self) -> list[Fault]:
        """Decode the faults, in the order of their keys."""
        return list(map(Fault._make, json.loads(_plain(self.encoded)))) if self.encoded else []


def fault_key(fault: Fault, at: str) -> str:
    """Return the key of a fault in the text at the path `at`."""
    return f"{Severity(fault.severity).weight}{fault.kind} {fault.field[len(at) :] if at else ''}"


def encode_faults(faults: Sequence[Fault]) -> bytes:
    """Encode faults for `SpanExamination.encoded`."""
    if not faults:
        return b""
    data = _compact(faults)
    return data if len(data) < _COMPRESSED_FROM else zlib.compress(data, _LEVEL)


def encode(examined: SpanExamination) -> bytes:
    """Encode an examination as one line of JSON for its texts, followed by its encoded faults.

    The span and its start are not part of the encoding.
    """
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
