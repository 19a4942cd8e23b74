"""Verifies quotes and links against the store before a person or a model sees them.

A line of an answer is removed if one of its links leads to a missing span. It is also removed if
one of its quotes is not in the linked spans. A line without links is kept.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from treadle.diagnosis.detectors import Finding
from treadle.diagnosis.evidence import (
    SPAN_LINK,
    Evidence,
    SpanReference,
    holds,
    linked_spans,
)
from treadle.spans.span import Span

MIN_QUOTED = 12
"""The minimum length of a quote in characters. A shorter text in quotation marks is ignored."""

_QUOTE = re.compile(r'"((?:[^"\\\n]|\\.)+)"|“([^”\n]+)”|`([^`\n]+)`')
_SPACE = re.compile(r"\s+")
_MARKDOWN = re.compile(r"\\([|\[\]`*])")
_ESCAPED = re.compile(r"\\{1,2}u\{([0-9a-f]{1,6})\}")


class SpanSource(Protocol):
    """A source of whole spans, such as a store."""

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """Return the whole span exactly as it was written, or None if it does not exist."""
        ...


@dataclass(frozen=True, slots=True)
class VerifiedAnswer:
    """An answer without the lines that could not be verified."""

    text: str
    dropped: tuple[str, ...]
    """The removed lines."""


def verify_findings(
    findings: Iterable[Finding], source: SpanSource
) -> tuple[tuple[Finding, ...], int]:
    """Return the findings whose quote is in the source, and how many findings were removed."""
    every, spans = tuple(findings), CachedSpans(source)
    kept = tuple(each for each in every if has_quote(each.evidence, spans))
    return kept, len(every) - len(kept)


def verify_answer(text: str, source: SpanSource) -> VerifiedAnswer:
    """Return `text` without the lines that have a wrong link or a wrong quote."""
    spans = CachedSpans(source)
    kept, dropped = list[str](), list[str]()
    for line in text.split("\n"):
        found = linked_spans(line)
        linked = [span for span in map(spans.get, found) if span is not None]
        if len(linked) < len(found) or (found and not _quoted_in(line, linked)):
            dropped.append(line)
        else:
            kept.append(line)
    return VerifiedAnswer("\n".join(kept), tuple(dropped))


class CachedSpans:
    """Reads spans from a source, and caches the spans that were used last."""

    _MOST = 64

    def __init__(self, source: SpanSource) -> None:
        self._source = source
        self._known: dict[SpanReference, Span | None] = {}

    def get(self, reference: SpanReference) -> Span | None:
        """Return the span, or None if it does not exist."""
        if reference in self._known:
            span = self._known.pop(reference)  # inserted again below, as the newest
        else:
            if len(self._known) >= self._MOST:
                del self._known[next(iter(self._known))]
            span = self._source.span(reference.trace_id, reference.span_id)
        self._known[reference] = span
        return span


def has_quote(evidence: Evidence, spans: CachedSpans) -> bool:
    """Return whether the quote of `evidence` is at its position in the span."""
    span = spans.get(evidence.span)
    return span is not None and holds(evidence, span)


def _quoted_in(line: str, spans: Sequence[Span]) -> bool:
    """Return whether the spans contain every quote of the line.

    White space may differ. A "…" in a quote matches any text.
    """
    without_links = SPAN_LINK.sub("", line)
    quotes = [next(filter(None, groups)) for groups in _QUOTE.findall(without_links)]
    long = [plain for plain in map(_plain, quotes) if len(plain) >= MIN_QUOTED]
    if not long:
        return True
    span_texts = "\n".join(_span_text(span) for span in spans)
    return all(all(part in span_texts for part in quote.split("…")) for quote in long)


def _span_text(span: Span) -> str:
    """Return all texts of the span as one text without escapes."""
    texts = [span.name, span.model, span.error, span.input, span.output]
    texts += [f"{key} {value}" for key, value in span.attributes.items()]
    texts += [str(value) for event in span.events for value in event.attributes.values()]
    return _plain("\n".join(part for part in texts if part))


def _plain(text: str) -> str:
    """Return `text` without escapes and with single spaces, for the comparison of quotes."""
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    text = _MARKDOWN.sub(r"\1", text)
    for written, replacement in (("\\n", " "), ("\\t", " "), ('\\"', '"'), ("\\\\", "\\")):
        text = text.replace(written, replacement)
    return _SPACE.sub(" ", text).strip()
