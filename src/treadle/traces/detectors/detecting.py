"""All detectors over the spans of a trace, a run or a thread."""

from collections.abc import Collection, Iterator, Sequence

from treadle.traces.detectors import lines, results, rules, signals, speech
from treadle.traces.detectors.calls import unanswered
from treadle.traces.detectors.finding import (
    QUOTE_CHARACTERS,
    Evidence,
    Finding,
    Layer,
    SpanReference,
)
from treadle.traces.detectors.hits import Hit
from treadle.traces.detectors.manner import manner_of
from treadle.traces.detectors.places import text_at
from treadle.traces.detectors.reading import Reading, Role, Text, read, tool_name
from treadle.traces.detectors.repeats import Content, Numbering, content_of
from treadle.traces.span import Span, SpanKind

ALL_LAYERS = frozenset(Layer)
MOST_COMPARED = 50
"""Failed calls of one tool, the last ones, that a message may be about."""
LEAST_COMPARED = 4
"""Characters of what went wrong by which a message is known again."""
Occurrence = tuple[Content, int]


def detect(
    spans: Sequence[Span],
    user_rules: Sequence[rules.Rule] = (),
    *,
    layers: Collection[Layer] = ALL_LAYERS,
) -> tuple[Finding, ...]:
    """The faults of `spans`, by time and place; each at its first occurrence among them.

    Give the spans of whole runs or threads: what only a span before them shows is reported at the
    first of them that repeats it.
    """
    scan = _Scan(user_rules, layers)
    for span in sorted(spans, key=lambda span: (span.start_us, span.trace_id, span.span_id)):
        scan.add(span)
    return tuple(scan.found)


class _Scan:
    """What was found so far in spans that come in order of time."""

    def __init__(self, user_rules: Sequence[rules.Rule], layers: Collection[Layer]) -> None:
        self.found: list[Finding] = []
        self._rules = user_rules
        self._layers = frozenset(layers)
        self._places: dict[tuple[Occurrence, str, str], int] = {}
        self._replies, self._tools = Numbering(), Numbering()
        self._results: dict[tuple[str, str, str], tuple[Hit, ...]] = {}
        self._failed: dict[str, list[tuple[str, int]]] = {}
        """By tool: what its spans without a result say went wrong, and which finding that is."""

    def add(self, span: Span) -> None:
        reading = read(span)
        reference = SpanReference(span.trace_id, span.span_id)
        if Layer.SIGNALS in self._layers or Layer.PATTERNS in self._layers:
            self._add_own(reading, reference)
            if reading.history:
                self._add_history(reading, reference)
        if Layer.RULES in self._layers:
            for hit in rules.hits(self._rules, reading):
                self._report(hit, reference, span)

    def _add_own(self, reading: Reading, reference: SpanReference) -> None:
        span = reading.span
        if Layer.SIGNALS in self._layers:
            for hit in signals.hits(reading):
                self._report_call(hit, reading, reference)
        told: tuple[Hit, ...] = ()
        if span.kind is SpanKind.TOOL:
            for text in reading.texts:
                if text.role is Role.TOOL:
                    told = self._result_hits(text)
                    self._report_result(told, text, self._tools, span, reference)
        if Layer.SIGNALS in self._layers and not any(hit.severity.weight > 1 for hit in told):
            for hit in signals.failures(span):
                if span.kind is SpanKind.TOOL and not told:
                    words = text_at(span, hit.path) or ""
                    self._failed.setdefault(tool_name(span), []).append((words, len(self.found)))
                self._report(hit, reference, span)

    def _report_call(self, hit: Hit, reading: Reading, reference: SpanReference) -> None:
        """Report what is wrong with a call that stands in a reply and then in the tool's span."""
        text = next((each for each in reading.texts if each.path == hit.path), None)
        if text is None or text.role is not Role.ARGUMENTS:
            self._report(hit, reference, reading.span)
            return
        numbering = self._tools if reading.span.kind is SpanKind.TOOL else self._replies
        content = content_of(f"call {text.tool}", text.text)
        self._report(hit, reference, reading.span, numbering.occurrence(content))

    def _add_history(self, reading: Reading, reference: SpanReference) -> None:
        span, numbering = reading.span, Numbering()
        known: set[int] = set()
        for message in reading.history:
            for text in message.texts if message.role is Role.TOOL else ():
                told = self._result_hits(text)
                before = self._failure_of(text, told, span, known)
                if before is None:
                    self._report_result(told, text, numbering, span, reference)
                else:
                    known.add(before)
                    self.found[before] = self.found[before].repeated_in(reference)
        if Layer.SIGNALS in self._layers:
            for call, hit in unanswered(reading.history):
                content = content_of(f"open call {call.name}", call.arguments or "")
                self._report(hit, reference, span, numbering.occurrence(content))

    def _failure_of(
        self, text: Text, told: tuple[Hit, ...], span: Span, known: Collection[int]
    ) -> int | None:
        """The failed call whose span has no result, but tells of what this message tells."""
        for hit in told[:1] if self._failed else ():
            said = text_at(span, f"{text.path}{hit.path}") or ""
            for words, number in self._failed.get(text.tool, ())[-MOST_COMPARED:]:
                if number not in known and len(words) >= LEAST_COMPARED and words in said:
                    return number
        return None

    def _result_hits(self, text: Text) -> tuple[Hit, ...]:
        """What a result says, with paths below the place of the text."""
        key = (text.text, text.tool, text.arguments)
        if key not in self._results:
            self._results[key] = tuple(_result_hits(text, self._layers))
        return self._results[key]

    def _report_result(
        self,
        told: tuple[Hit, ...],
        text: Text,
        numbering: Numbering,
        span: Span,
        reference: SpanReference,
    ) -> None:
        if told:
            occurrence = numbering.occurrence(content_of("result", text.text))
            for hit in told:
                self._report(hit, reference, span, occurrence, at=text.path)

    def _report(
        self,
        hit: Hit,
        reference: SpanReference,
        span: Span,
        occurrence: Occurrence | None = None,
        at: str = "",
    ) -> None:
        if occurrence is not None:
            key = (occurrence, hit.kind.value, hit.path if at else "")
            before = self._places.get(key)
            if before is not None:
                self.found[before] = self.found[before].repeated_in(reference)
                return
            self._places[key] = len(self.found)
        self.found.append(_finding(hit, reference, span, f"{at}{hit.path}"))


def _result_hits(text: Text, layers: frozenset[Layer]) -> Iterator[Hit]:
    manner = manner_of(text.tool, text.arguments)
    told = results.hits(text.text, "", manner) if Layer.SIGNALS in layers else []
    yield from told
    if Layer.PATTERNS in layers and not told:
        for path, words in speech.texts(text.text, ""):
            yield from lines.hits(words, path, manner)


def _finding(hit: Hit, reference: SpanReference, span: Span, path: str) -> Finding:
    text = text_at(span, path) or ""
    end = len(text) if hit.end is None else min(hit.end, len(text))
    start = min(hit.start, end)
    end = min(end, start + QUOTE_CHARACTERS)
    return Finding(
        detector=hit.detector.name,
        version=hit.detector.version,
        layer=hit.detector.layer,
        kind=hit.kind,
        severity=hit.severity,
        confidence=hit.confidence,
        message=hit.message,
        evidence=Evidence(reference, path, start, end, text[start:end]),
        count=hit.count,
    )
