"""What the examination of one span gives, from which the findings of many are folded together.

It is plain values alone, so that a store can keep it: examining reads whole contents, and folding
reads nothing but this.
"""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from treadle.traces.detectors.finding import (
    Evidence,
    Finding,
    Kind,
    Layer,
    Severity,
    SpanReference,
)

_COMPRESSED_FROM = 1_000
_LEVEL = 1


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


class Told(NamedTuple):
    """What one text of a span, or the span itself, tells of."""

    faults: tuple[Fault, ...]
    series: Series = Series.NONE
    content: str = ""
    """The digest of the text that is counted in `series`."""
    at: str = ""
    """The path of that text, with which the faults' fields begin."""
    said: str | None = None
    """Of a tool that failed without a result, its error; of a message in a history, what the first
    fault is about. By these one knows that both are the same failure. Cut to `SAID_CHARACTERS`."""


@dataclass(frozen=True, slots=True)
class Examined:
    """One span as the detectors see it. `start_us` is its start, by which spans are in order."""

    span: SpanReference
    start_us: int
    call_digest: str | None = None
    """Of a tool's span: its tool and arguments, whatever the way in which the JSON is written."""
    found_nothing: bool = False
    """Its result is empty, or says that there is nothing."""
    told: tuple[Told, ...] = ()


def encode(told: Iterable[Told]) -> bytes:
    """What was told, as bytes."""
    plain = [(each.series, each.content, each.at, each.said, each.faults) for each in told]
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    data = text.encode("utf-8", "surrogatepass")
    return data if len(data) < _COMPRESSED_FROM else zlib.compress(data, _LEVEL)


def decode(data: bytes) -> tuple[Told, ...]:
    """What `encode` was given."""
    plain = data if data[:1] == b"[" else zlib.decompress(data)
    return tuple(
        Told(tuple(map(Fault._make, faults)), Series(series), content, at, said)
        for series, content, at, said, faults in json.loads(plain.decode("utf-8", "surrogatepass"))
    )
