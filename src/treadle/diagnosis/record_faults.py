"""Faults in the record of a span, which make figures or texts of the span misleading.

The store keeps a span with such a fault unchanged. A span whose end is before its start has an
unknown duration, which no sum or percentile includes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from treadle.json_values import JsonField
from treadle.spans.otlp.span_collector import DROPPED, UNREADABLE
from treadle.spans.span import Span, SpanStatus
from treadle.spans.vocabularies.values import parse_json


class RecordFaultKind(StrEnum):
    """The kinds of faults of a record."""

    CLOCK_SKEW = "clock_skew"
    OWN_PARENT = "own_parent"
    UNFINISHED = "unfinished"
    TRUNCATED = "truncated"
    DROPPED = "dropped"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class RecordFault:
    """A fault of a record, with a message for a person."""

    kind: Annotated[RecordFaultKind, JsonField("mark")]
    message: Annotated[str, JsonField("words")]


_CUT = re.compile(
    r"(?:\.{3}|\u2026)?\s*[\[(<{]\s*(?:\.{3}\s*)?(?:output |content |text |value )?truncated\b"
    r"[^\])>}\n]{0,60}[\])>}]\s*\Z"
    r"|(?:\.{3}|\u2026)\s*\d+ more (?:char(?:acter)?s|bytes|items)\s*\]?\s*\Z",
    re.IGNORECASE,
)
"""Matches a note such as "[truncated]" at the end of a text."""
_SHORTEST_LIMIT = 64
_ROUND = (100, 128, 250, 256)


def record_faults(span: Span) -> list[RecordFault]:
    """Return all faults of the record of `span`."""
    return list(_faults(span))


def _faults(span: Span) -> Iterator[RecordFault]:
    if span.end_us is not None and span.end_us < span.start_us:
        words = "clock skew: the recorded end is before the start, so the duration is unknown"
        yield RecordFault(RecordFaultKind.CLOCK_SKEW, words)
    if span.parent_id == span.span_id:
        words = "the span is its own parent, so it is shown as a root"
        yield RecordFault(RecordFaultKind.OWN_PARENT, words)
    if span.status is SpanStatus.UNFINISHED:
        words = "no end was recorded: the span still runs, or its process ended early"
        yield RecordFault(RecordFaultKind.UNFINISHED, words)
    cut = _truncated(span)
    if cut:
        words = f"the exporter cut {', '.join(cut[:3])}: the rest was never sent"
        yield RecordFault(RecordFaultKind.TRUNCATED, words)
    dropped = [(name.split("_")[1], span.attributes.get(name)) for name in DROPPED]
    for what, parts in (("an event", span.events), ("a link", span.links)):
        dropped += [(f"attributes of {what}", each.attributes.get(DROPPED[0])) for each in parts]
    counts = [f"{count} {what}" for what, count in dropped if isinstance(count, int) and count]
    if counts:
        yield RecordFault(RecordFaultKind.DROPPED, f"the exporter dropped {', '.join(counts)}")
    if UNREADABLE in span.attributes:
        faults = span.attributes[UNREADABLE]
        reasons = "; ".join(map(str, faults)) if isinstance(faults, list) else str(faults)
        yield RecordFault(RecordFaultKind.UNREADABLE, f"parts could not be read: {reasons}")


def _truncated(span: Span) -> list[str]:
    """Return the names of the attributes whose texts were cut."""
    texts = {name: text for name, text in span.attributes.items() if isinstance(text, str)}
    lengths = [len(text) for text in texts.values()]
    longest = max(lengths, default=0)
    limited = longest >= _SHORTEST_LIMIT and lengths.count(longest) > 1
    cut = []
    for name, text in texts.items():
        at_limit = (limited and len(text) == longest) or _is_round(len(text))
        # A text is broken if it has the length of a limit and begins like JSON, but is not JSON.
        broken = at_limit and text[:2] in ("[{", '{"', '["', "[[") and parse_json(text) is text
        if broken or _CUT.search(text[-100:]):
            cut.append(name)
    return cut


def _is_round(length: int) -> bool:
    """Return whether a length is probably a configured limit, such as a power of two."""
    if length < _SHORTEST_LIMIT:
        return False
    return length & (length - 1) == 0 or length % 500 == 0 or length in _ROUND
