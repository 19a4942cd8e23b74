"""Runs all detectors over one span."""

from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from treadle.diagnosis.detectors import (
    line_reports,
    result_signals,
    span_signals,
    user_rules,
)
from treadle.diagnosis.detectors.examination import (
    Fault,
    Series,
    SpanExamination,
    TextFaults,
    content_digest,
    encode_faults,
    fault_key,
)
from treadle.diagnosis.detectors.finding import QUOTE_CHARACTERS, Hit, Layer
from treadle.diagnosis.detectors.tool_calls import unanswered
from treadle.diagnosis.detectors.tool_output import output_texts, output_traits
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.field_paths import text_at
from treadle.diagnosis.span_messages import Reading, Role, Text, read, tool_name
from treadle.spans.span import Span, SpanKind

ALL_LAYERS = frozenset(Layer)
QUOTED_CHARACTERS = 1_000
"""The maximum length, in characters, of a quote that is searched for an earlier call's error."""
_ERROR_CHARACTERS = QUOTED_CHARACTERS // 2
"""The maximum length in characters of an error that is searched for in a quote.

It is shorter than a quote, since a quote may contain other text before the error.
"""
_MAX_REMEMBERED = 4_096

_SERIES = {SpanKind.TOOL: Series.TOOLS, SpanKind.MODEL: Series.REPLIES}


class Examiner:
    """Examines spans, and caches the faults of tool results.

    Each request of a conversation repeats the results of earlier tool calls. An examiner is not
    thread-safe. Each operating-system thread needs its own.
    """

    def __init__(
        self, user_rules: Sequence[user_rules.Rule] = (), *, layers: Collection[Layer] = ALL_LAYERS
    ) -> None:
        self._rules = user_rules if Layer.RULES in layers else ()
        self._signals = Layer.SIGNALS in layers
        self._patterns = Layer.PATTERNS in layers
        self._results: dict[bytes, tuple[Hit, ...]] = {}

    def examine(self, span: Span) -> SpanExamination:
        """Return the faults of `span`. Other spans are not considered."""
        reading = read(span)
        found = list[_FaultyText]()
        if self._signals or self._patterns:
            found += self._own(reading)
            found += self._history(reading)
        found += [
            _FaultyText((_fault(hit, span),)) for hit in user_rules.hits(self._rules, reading)
        ]
        faults = [fault for each in found for fault in each.faults]
        return SpanExamination(
            span=SpanReference(span.trace_id, span.span_id),
            start_us=span.start_us,
            texts=tuple(each.text_faults() for each in found),
            encoded=encode_faults(faults),
        )

    def _own(self, reading: Reading) -> Iterator["_FaultyText"]:
        span = reading.span
        if self._signals:
            for hit in span_signals.hits(reading):
                yield _faulty_call(hit, reading)
        result_hits: tuple[Hit, ...] = ()
        if span.kind is SpanKind.TOOL:
            for text in reading.texts:
                if text.role is Role.TOOL:
                    result_hits = self._result_hits(text)
                    if result_hits:
                        yield _faulty_result(result_hits, text, Series.TOOLS, span)
        if self._signals and not any(hit.severity.weight > 1 for hit in result_hits):
            for hit in span_signals.failures(span):
                error = None
                if span.kind is SpanKind.TOOL and not result_hits:
                    error = (text_at(span, hit.path) or "")[:_ERROR_CHARACTERS]
                tool = tool_name(span) if span.kind is SpanKind.TOOL else ""
                yield _FaultyText((_fault(hit, span, tool),), quote=error)

    def _history(self, reading: Reading) -> Iterator["_FaultyText"]:
        span = reading.span
        for message in reading.history:
            for text in message.texts if message.role is Role.TOOL else ():
                result_hits = self._result_hits(text)
                if result_hits:
                    yield _faulty_result(result_hits, text, Series.HISTORY, span)
        if self._signals:
            for call, hit in unanswered(reading.history):
                content = content_digest(f"open call {call.name}", call.arguments or "").hex()
                yield _FaultyText((_fault(hit, span, call.name),), Series.HISTORY, content)

    def _result_hits(self, text: Text) -> tuple[Hit, ...]:
        """Return the faults of a tool result, with paths relative to the result."""
        sizes = f"{len(text.tool)} {len(text.arguments)} "
        call = f"{sizes}{text.tool}{text.arguments}{text.text}"
        key = blake2b(call.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key not in self._results:
            if len(self._results) >= _MAX_REMEMBERED:
                self._results.clear()
            self._results[key] = tuple(self._hits(text))
        return self._results[key]

    def _hits(self, text: Text) -> Iterator[Hit]:
        traits = output_traits(text.tool, text.arguments)
        result_hits = result_signals.hits(text.text, "", traits) if self._signals else []
        yield from result_hits
        if self._patterns and not result_hits:
            for path, words in output_texts(text.text):
                yield from line_reports.hits(words, path, traits)


class _FaultyText(NamedTuple):
    """One text with its faults, which `text_faults` reduces to a `TextFaults`."""

    faults: tuple[Fault, ...]
    series: Series = Series.NONE
    content: str = ""
    at: str = ""
    """The path of the text. The `field` of each fault begins with this path."""
    quote: str | None = None

    def text_faults(self) -> TextFaults:
        keys = tuple(fault_key(fault, self.at) for fault in self.faults)
        return TextFaults(keys, self.series.value, self.content, self.faults[0].tool, self.quote)


def _faulty_call(hit: Hit, reading: Reading) -> _FaultyText:
    """Return a fault of a tool call, with the data that identifies repetitions of the call.

    The same call may be in the model's reply and in the span of the tool. The data shows that both
    contain the same fault.
    """
    text = next((each for each in reading.texts if each.path == hit.path), None)
    if text is None or text.role is not Role.ARGUMENTS:
        return _FaultyText((_fault(hit, reading.span),))
    content = _call_digest(text.tool, text.text)
    series = _SERIES.get(reading.span.kind, Series.REPLIES)
    return _FaultyText((_fault(hit, reading.span, text.tool),), series, content)


def _faulty_result(
    result_hits: tuple[Hit, ...], text: Text, series: Series, span: Span
) -> _FaultyText:
    faults = tuple(_fault(hit, span, text.tool, text.path) for hit in result_hits)
    quote = None
    if series is Series.HISTORY:
        quote = (text_at(span, faults[0].field) or "")[:QUOTED_CHARACTERS]
    return _FaultyText(faults, series, content_digest("result", text.text).hex(), text.path, quote)


def _call_digest(tool: str, arguments: str) -> str:
    return content_digest(f"call {tool}", arguments).hex()


def _fault(hit: Hit, span: Span, tool: str = "", at: str = "") -> Fault:
    path = f"{at}{hit.path}"
    text = text_at(span, path) or ""
    end = len(text) if hit.end is None else min(hit.end, len(text))
    start = min(hit.start, end)
    end = min(end, start + QUOTE_CHARACTERS)
    return Fault(
        detector=hit.detector.name,
        version=hit.detector.version,
        layer=hit.detector.layer.value,
        kind=hit.kind.value,
        severity=hit.severity.value,
        confidence=hit.confidence,
        message=hit.message,
        tool=tool,
        field=path,
        start=start,
        end=end,
        quote=text[start:end],
        number=hit.count,
    )
