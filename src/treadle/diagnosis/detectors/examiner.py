"""All detectors over one span, by itself: what has to be read once for all questions."""

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
    mark,
    packed_faults,
)
from treadle.diagnosis.detectors.finding import QUOTE_CHARACTERS, Hit, Layer
from treadle.diagnosis.detectors.tool_calls import unanswered
from treadle.diagnosis.detectors.tool_output import output_traits, spoken_texts
from treadle.diagnosis.evidence import SpanReference
from treadle.diagnosis.field_paths import text_at
from treadle.diagnosis.span_messages import Reading, Role, Text, read, tool_name
from treadle.spans.span import Span, SpanKind

ALL_LAYERS = frozenset(Layer)
SAID_CHARACTERS = 1_000
"""Of what went wrong, by which a message is known again."""
_WORDS_CHARACTERS = SAID_CHARACTERS // 2
"""Of an error: fewer, so that a message may say something before it."""
_MOST_REMEMBERED = 4_096

_SERIES = {SpanKind.TOOL: Series.TOOLS, SpanKind.MODEL: Series.REPLIES}


def examine(
    span: Span,
    user_rules: Sequence[user_rules.Rule] = (),
    *,
    layers: Collection[Layer] = ALL_LAYERS,
) -> SpanExamination:
    """What the detectors of these layers say of `span` alone."""
    return Examiner(user_rules, layers=layers).examine(span)


class Examiner:
    """Examines spans; what the same result says is looked for once, however often it is sent.

    It is not for several threads at once.
    """

    def __init__(
        self, user_rules: Sequence[user_rules.Rule] = (), *, layers: Collection[Layer] = ALL_LAYERS
    ) -> None:
        self._rules = user_rules if Layer.RULES in layers else ()
        self._signals = Layer.SIGNALS in layers
        self._patterns = Layer.PATTERNS in layers
        self._results: dict[bytes, tuple[Hit, ...]] = {}

    def examine(self, span: Span) -> SpanExamination:
        """What the detectors say of `span` alone."""
        reading = read(span)
        said = list[_Said]()
        if self._signals or self._patterns:
            said += self._own(reading)
            said += self._history(reading)
        said += [_Said((_fault(hit, span),)) for hit in user_rules.hits(self._rules, reading)]
        faults = [fault for each in said for fault in each.faults]
        return SpanExamination(
            span=SpanReference(span.trace_id, span.span_id),
            start_us=span.start_us,
            told=tuple(each.told() for each in said),
            details=packed_faults(faults),
        )

    def _own(self, reading: Reading) -> Iterator["_Said"]:
        span = reading.span
        if self._signals:
            for hit in span_signals.hits(reading):
                yield _said_of_call(hit, reading)
        told: tuple[Hit, ...] = ()
        if span.kind is SpanKind.TOOL:
            for text in reading.texts:
                if text.role is Role.TOOL:
                    told = self._result_hits(text)
                    if told:
                        yield _said_of_result(told, text, Series.TOOLS, span)
        if self._signals and not any(hit.severity.weight > 1 for hit in told):
            for hit in span_signals.failures(span):
                words = None
                if span.kind is SpanKind.TOOL and not told:
                    words = (text_at(span, hit.path) or "")[:_WORDS_CHARACTERS]
                named = tool_name(span) if span.kind is SpanKind.TOOL else ""
                yield _Said((_fault(hit, span, named),), said=words)

    def _history(self, reading: Reading) -> Iterator["_Said"]:
        span = reading.span
        for message in reading.history:
            for text in message.texts if message.role is Role.TOOL else ():
                told = self._result_hits(text)
                if told:
                    yield _said_of_result(told, text, Series.HISTORY, span)
        if self._signals:
            for call, hit in unanswered(reading.history):
                content = content_digest(f"open call {call.name}", call.arguments or "").hex()
                yield _Said((_fault(hit, span, call.name),), Series.HISTORY, content)

    def _result_hits(self, text: Text) -> tuple[Hit, ...]:
        """What a result says, with paths below the place of the text."""
        sizes = f"{len(text.tool)} {len(text.arguments)} "
        said = f"{sizes}{text.tool}{text.arguments}{text.text}"
        key = blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if key not in self._results:
            if len(self._results) >= _MOST_REMEMBERED:
                self._results.clear()
            self._results[key] = tuple(self._hits(text))
        return self._results[key]

    def _hits(self, text: Text) -> Iterator[Hit]:
        traits = output_traits(text.tool, text.arguments)
        told = result_signals.hits(text.text, "", traits) if self._signals else []
        yield from told
        if self._patterns and not told:
            for path, words in spoken_texts(text.text, ""):
                yield from line_reports.hits(words, path, traits)


class _Said(NamedTuple):
    """What one text says, with its faults; `TextFaults` is what folding needs of it."""

    faults: tuple[Fault, ...]
    series: Series = Series.NONE
    content: str = ""
    at: str = ""
    """The path of the text, with which the faults' fields begin."""
    said: str | None = None

    def told(self) -> TextFaults:
        marks = tuple(mark(fault, self.at) for fault in self.faults)
        return TextFaults(marks, self.series.value, self.content, self.faults[0].tool, self.said)


def _said_of_call(hit: Hit, reading: Reading) -> _Said:
    """What is wrong with a call that stands in a reply and then in the tool's span."""
    text = next((each for each in reading.texts if each.path == hit.path), None)
    if text is None or text.role is not Role.ARGUMENTS:
        return _Said((_fault(hit, reading.span),))
    content = _call_digest(text.tool, text.text)
    series = _SERIES.get(reading.span.kind, Series.REPLIES)
    return _Said((_fault(hit, reading.span, text.tool),), series, content)


def _said_of_result(told: tuple[Hit, ...], text: Text, series: Series, span: Span) -> _Said:
    faults = tuple(_fault(hit, span, text.tool, text.path) for hit in told)
    said = None
    if series is Series.HISTORY:
        said = (text_at(span, faults[0].field) or "")[:SAID_CHARACTERS]
    return _Said(faults, series, content_digest("result", text.text).hex(), text.path, said)


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
