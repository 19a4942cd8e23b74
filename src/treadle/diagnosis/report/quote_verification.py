"""Quotes and links are read again in the store before anybody sees them: what does not hold goes.

A line of an answer is left out when one of its links leads to no span, or when it quotes what none
of the spans that it links to says. A line without links is not judged.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import unquote

from treadle.diagnosis.detectors import Finding
from treadle.diagnosis.evidence import Evidence, SpanReference, holds
from treadle.diagnosis.report.results import Suspect
from treadle.spans.span import Span

LEAST_QUOTED = 12
"""Characters from which on what stands in quotation marks counts as a quote."""

_LINK = re.compile(r"/traces/([^\s/?#)\]>\"'`]+)\?span=([^\s&#)\]>\"'`]+)")
_QUOTE = re.compile(r'"((?:[^"\\\n]|\\.)+)"|“([^”\n]+)”|`([^`\n]+)`')
_SPACE = re.compile(r"\s+")
_MARKDOWN = re.compile(r"\\([|\[`*])")
_ESCAPED = re.compile(r"\\{1,2}u\{([0-9a-f]{1,6})\}")


class SpanSource(Protocol):
    """Where spans are read; a store of spans is one."""

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """The whole span, exactly as it was written; None when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Verified:
    """The evidence that holds, and how many pieces did not."""

    kept: tuple[Evidence, ...]
    dropped: int


@dataclass(frozen=True, slots=True)
class VerifiedAnswer:
    """An answer without the lines that do not hold. `links` are those that are left, each once."""

    text: str
    links: tuple[SpanReference, ...]
    dropped: tuple[str, ...]
    """The lines that were left out."""


def verify(evidence: Iterable[Evidence], source: SpanSource) -> Verified:
    """The pieces of evidence whose quote stands exactly where they say."""
    pieces, spans = tuple(evidence), _Spans(source)
    kept = tuple(each for each in pieces if _stands(each, spans))
    return Verified(kept, len(pieces) - len(kept))


def verify_findings(
    findings: Iterable[Finding], source: SpanSource
) -> tuple[tuple[Finding, ...], int]:
    """The findings whose evidence holds, and how many do not."""
    every, spans = tuple(findings), _Spans(source)
    kept = tuple(each for each in every if _stands(each.evidence, spans))
    return kept, len(every) - len(kept)


def verify_suspects(
    suspects: Sequence[Suspect], source: SpanSource
) -> tuple[tuple[Suspect, ...], int]:
    """The suspects whose span is there, with the evidence that holds; how many pieces do not.

    One that rested on evidence, none of which holds, is left out.
    """
    spans = _Spans(source)
    kept, dropped = list[Suspect](), 0
    for each in suspects:
        good = tuple(piece for piece in each.evidence if _stands(piece, spans))
        dropped += len(each.evidence) - len(good)
        if spans.get(each.span) is not None and (good or not each.evidence):
            kept.append(replace(each, evidence=good))
    return tuple(kept), dropped


def verify_answer(text: str, source: SpanSource) -> VerifiedAnswer:
    """`text` without the lines whose links or quotes do not hold."""
    spans = _Spans(source)
    kept, dropped = list[str](), list[str]()
    links: dict[SpanReference, None] = {}
    for line in text.split("\n"):
        found = _links(line)
        linked = [span for span in map(spans.get, found) if span is not None]
        if len(linked) < len(found) or (found and not _quoted_in(line, linked)):
            dropped.append(line)
        else:
            kept.append(line)
            links |= dict.fromkeys(found)
    return VerifiedAnswer("\n".join(kept), tuple(links), tuple(dropped))


class _Spans:
    """Spans, each read once; only the last few are kept."""

    _MOST = 64

    def __init__(self, source: SpanSource) -> None:
        self._source = source
        self._known: dict[SpanReference, Span | None] = {}

    def get(self, reference: SpanReference) -> Span | None:
        if reference not in self._known:
            if len(self._known) >= self._MOST:
                del self._known[next(iter(self._known))]
            self._known[reference] = self._source.span(reference.trace_id, reference.span_id)
        return self._known[reference]


def _stands(evidence: Evidence, spans: _Spans) -> bool:
    span = spans.get(evidence.span)
    return span is not None and holds(evidence, span)


def _links(line: str) -> list[SpanReference]:
    return [SpanReference(unquote(trace), unquote(span)) for trace, span in _LINK.findall(line)]


def _quoted_in(line: str, spans: Sequence[Span]) -> bool:
    """Whether each quote of the line stands in one of the spans; white space may differ."""
    without_links = _LINK.sub("", line)
    quotes = [next(filter(None, groups)) for groups in _QUOTE.findall(without_links)]
    long = [plain for plain in map(_plain, quotes) if len(plain) >= LEAST_QUOTED]
    if not long:
        return True
    said = "\n".join(_said(span) for span in spans)
    return all(all(piece in said for piece in quote.split("…")) for quote in long)


def _said(span: Span) -> str:
    """All that the span says, as text and as JSON."""
    pieces = [span.name, span.model, span.error, span.input, span.output]
    pieces += [f"{key} {value}" for key, value in span.attributes.items()]
    pieces += [str(value) for event in span.events for value in event.attributes.values()]
    return _plain("\n".join(piece for piece in pieces if piece))


def _plain(text: str) -> str:
    """`text` as quotes compare it: without escapes, and with single spaces."""
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    text = _MARKDOWN.sub(r"\1", text)
    for written, meant in (("\\n", " "), ("\\t", " "), ('\\"', '"'), ("\\\\", "\\")):
        text = text.replace(written, meant)
    return _SPACE.sub(" ", text).strip()
