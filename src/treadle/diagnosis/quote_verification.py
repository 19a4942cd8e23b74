"""Verifies quotes and links against the store before a person or a model sees them.

A line of an answer is removed if one of its links leads to no span, or if none of the linked spans
contains its quote. A line without links is kept.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote

from treadle.diagnosis.detectors import Finding
from treadle.diagnosis.evidence import Evidence, SpanReference, holds
from treadle.spans.span import Span

MIN_QUOTED = 12
"""A shorter text in quotation marks does not count as a quote."""

_LINK = re.compile(r"/traces/([^\s/?#)\]>\"'`]+)\?span=([^\s&#)\]>\"'`]+)")
_QUOTE = re.compile(r'"((?:[^"\\\n]|\\.)+)"|“([^”\n]+)”|`([^`\n]+)`')
_SPACE = re.compile(r"\s+")
_MARKDOWN = re.compile(r"\\([|\[`*])")
_ESCAPED = re.compile(r"\\{1,2}u\{([0-9a-f]{1,6})\}")


class SpanSource(Protocol):
    """A source of whole spans, such as a store."""

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """Return the whole span exactly as it was written, or None if it does not exist."""
        ...


@dataclass(frozen=True, slots=True)
class VerifiedAnswer:
    """An answer without the unverified lines."""

    text: str
    dropped: tuple[str, ...]
    """The removed lines."""


def verify_findings(
    findings: Iterable[Finding], source: SpanSource
) -> tuple[tuple[Finding, ...], int]:
    """Return the findings whose evidence is in the source, and the number of other findings."""
    every, spans = tuple(findings), CachedSpans(source)
    kept = tuple(each for each in every if has_quote(each.evidence, spans))
    return kept, len(every) - len(kept)


def verify_answer(text: str, source: SpanSource) -> VerifiedAnswer:
    """`text` without the lines whose links or quotes are wrong."""
    spans = CachedSpans(source)
    kept, dropped = list[str](), list[str]()
    for line in text.split("\n"):
        found = _links(line)
        linked = [span for span in map(spans.get, found) if span is not None]
        if len(linked) < len(found) or (found and not _quoted_in(line, linked)):
            dropped.append(line)
        else:
            kept.append(line)
    return VerifiedAnswer("\n".join(kept), tuple(dropped))


class CachedSpans:
    """Reads spans from a source and caches the last few of them."""

    _MOST = 64

    def __init__(self, source: SpanSource) -> None:
        self._source = source
        self._known: dict[SpanReference, Span | None] = {}

    def get(self, reference: SpanReference) -> Span | None:
        """Return the span, or None if it does not exist."""
        if reference not in self._known:
            if len(self._known) >= self._MOST:
                del self._known[next(iter(self._known))]
            self._known[reference] = self._source.span(reference.trace_id, reference.span_id)
        return self._known[reference]


def has_quote(evidence: Evidence, spans: CachedSpans) -> bool:
    """Whether the span has the quote of `evidence` at its position."""
    span = spans.get(evidence.span)
    return span is not None and holds(evidence, span)


def _links(line: str) -> list[SpanReference]:
    return [SpanReference(unquote(trace), unquote(span)) for trace, span in _LINK.findall(line)]


def _quoted_in(line: str, spans: Sequence[Span]) -> bool:
    """Whether each quote of the line is in at least one of the spans. White space may differ."""
    without_links = _LINK.sub("", line)
    quotes = [next(filter(None, groups)) for groups in _QUOTE.findall(without_links)]
    long = [plain for plain in map(_plain, quotes) if len(plain) >= MIN_QUOTED]
    if not long:
        return True
    span_texts = "\n".join(_span_text(span) for span in spans)
    return all(all(part in span_texts for part in quote.split("…")) for quote in long)


def _span_text(span: Span) -> str:
    """All texts of the span, as text and as JSON."""
    texts = [span.name, span.model, span.error, span.input, span.output]
    texts += [f"{key} {value}" for key, value in span.attributes.items()]
    texts += [str(value) for event in span.events for value in event.attributes.values()]
    return _plain("\n".join(part for part in texts if part))


def _plain(text: str) -> str:
    """`text` without escapes and with single spaces, for the comparison of quotes."""
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    text = _MARKDOWN.sub(r"\1", text)
    for written, replacement in (("\\n", " "), ("\\t", " "), ('\\"', '"'), ("\\\\", "\\")):
        text = text.replace(written, replacement)
    return _SPACE.sub(" ", text).strip()
