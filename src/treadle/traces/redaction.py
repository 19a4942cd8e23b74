"""Secrets out of spans that come from outside, in every text of them, before they are stored."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from treadle.secrets import is_telling, redact_counted, redact_named, suspects
from treadle.traces.span import Attributes, JsonValue, Span, SpanEvent, SpanLink


def redacted(span: Span) -> tuple[Span, Mapping[str, int]]:
    """`span` without secrets, and how many of each kind were taken out.

    All texts are looked at but the ids of the span, of its trace and of its parent: names, errors,
    inputs and outputs, labels, and names and values of all attributes at any depth. A value under
    a telling name (`api_key`) is judged with that name.
    """
    spans, counts = redacted_all((span,))
    return spans[0], counts


def redacted_all(spans: Sequence[Span]) -> tuple[tuple[Span, ...], Mapping[str, int]]:
    """The same of many, which costs less for each: clean ones are only glanced at, all at once."""
    texts: list[str] = []
    owners: list[int] = []
    suspected: set[int] = set()
    for place, span in enumerate(spans):
        before = len(texts)
        if _gather(span, texts):
            suspected.add(place)
        owners += [place] * (len(texts) - before)
    suspected.update(owners[number] for number in suspects(texts))
    if not suspected:
        return tuple(spans), {}
    cleaned = list(spans)
    counts: Counter[str] = Counter()
    for place in suspected:
        cleaned[place] = _Redaction(counts).span(spans[place])
    return tuple(cleaned), dict(counts)


def _gather(span: Span, texts: list[str]) -> bool:
    """Add all texts of `span`; whether the name of one of them is telling."""
    own = (span.input, span.output, span.error, span.name, *_short_texts(span))
    texts += [text for text in own if text]
    telling = _gather_attributes(span.attributes, texts)
    telling |= _gather_attributes(span.resource, texts)
    for event in span.events:
        texts.append(event.name)
        telling |= _gather_attributes(event.attributes, texts)
    for link in span.links:
        telling |= _gather_attributes(link.attributes, texts)
    return telling


def _short_texts(span: Span) -> tuple[str | None, ...]:
    return (span.operation, span.model, span.provider, *span.labels, span.thread_id, span.run_id)


def _gather_attributes(attributes: Attributes, texts: list[str]) -> bool:
    telling = False
    for name, value in attributes.items():
        texts.append(name)
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, Mapping):
            telling |= _gather_attributes(value, texts)
        elif isinstance(value, Sequence):
            telling |= _gather_list(value, texts)
        else:
            continue
        telling = telling or is_telling(name)
    return telling


def _gather_list(values: Sequence[JsonValue], texts: list[str]) -> bool:
    telling = False
    for value in values:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, Mapping):
            telling |= _gather_attributes(value, texts)
        elif isinstance(value, Sequence):
            telling |= _gather_list(value, texts)
    return telling


class _Redaction:
    """Cleans one span. A text that stands in it twice is counted twice but judged once."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._known: dict[tuple[str, str], tuple[str, Mapping[str, int]]] = {}

    def span(self, span: Span) -> Span:
        return replace(
            span,
            operation=self._text(span.operation),
            name=self._text(span.name),
            error=self._optional(span.error),
            model=self._optional(span.model),
            provider=self._optional(span.provider),
            labels=tuple(sorted({self._text(label) for label in span.labels})),
            thread_id=self._optional(span.thread_id),
            run_id=self._optional(span.run_id),
            attributes=self._attributes(span.attributes),
            resource=self._attributes(span.resource),
            events=tuple(
                SpanEvent(event.at_us, self._text(event.name), self._attributes(event.attributes))
                for event in span.events
            ),
            links=tuple(
                SpanLink(link.trace_id, link.span_id, self._attributes(link.attributes))
                for link in span.links
            ),
            input=self._optional(span.input),
            output=self._optional(span.output),
        )

    def _optional(self, text: str | None) -> str | None:
        return None if text is None else self._text(text)

    def _text(self, text: str, name: str = "") -> str:
        known = self._known.get((name, text))
        if known is None:
            known = redact_named(name, text) if name else redact_counted(text)
            self._known[name, text] = known
        self._counts.update(known[1])
        return known[0]

    def _attributes(self, attributes: Attributes) -> Attributes:
        return {self._text(name): self._value(name, each) for name, each in attributes.items()}

    def _value(self, name: str, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._text(value, name if is_telling(name) else "")
        if isinstance(value, Mapping):
            return self._attributes(value)
        if isinstance(value, Sequence):
            return [self._value(name, each) for each in value]
        return value
