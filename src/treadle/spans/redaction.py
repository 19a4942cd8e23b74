"""Redaction of spans before they are stored, and previews of redaction rules on stored spans."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from treadle.secrets import Rule, find_suspects, redact_counted, redact_named, suggests_secret
from treadle.spans.span import Attributes, JsonValue, Span, SpanEvent, SpanLink, flat_metadata

_EXAMPLES = 10
_AROUND = 20


def redact_spans(spans: Sequence[Span]) -> tuple[tuple[Span, ...], Mapping[str, int]]:
    """Return `spans` without secrets, and the number of removed secrets of each kind.

    All texts are searched except the ids of a span, of its trace and of its parent. The texts are
    names, users, releases, errors, inputs, outputs, labels, and the names and values of attributes
    and metadata at any depth. If
    the name of a value suggests a secret (`api_key`), the value is checked together with the name.

    Each distinct text is checked once. One scan over all texts excludes the texts without a
    suspicious part. Therefore a large batch takes less time for each span than a small batch.
    """
    every = _Texts()
    for span in spans:
        every.add(span)
    findings = _findings(every)
    if not findings:
        return tuple(spans), {}
    counts: Counter[str] = Counter()
    cleaned = list(spans)
    for index, span in enumerate(spans):
        own = _Texts()
        own.add(span)
        if not (own.plain.isdisjoint(findings) and own.named.isdisjoint(findings)):
            cleaned[index] = _Redaction(findings, counts).span(span)
    return tuple(cleaned), dict(counts)


_Named = tuple[str, str]
"""A text, and the name of its attribute. The name suggests a secret."""

_Findings = Mapping[str | _Named, tuple[str, Mapping[str, int]]]
"""Maps a text with secrets to the redacted text, and to the counts of its secrets by kind."""


class _Texts:
    """The distinct texts of spans. `named` has the texts whose name suggests a secret."""

    def __init__(self) -> None:
        self.plain: set[str] = set()
        self.named: set[_Named] = set()

    def add(self, span: Span) -> None:
        own = (span.operation, span.name, span.error, span.model, span.provider)
        named = (span.thread_id, span.run_id, span.user, span.release)
        self.plain.update(filter(None, (*own, *named)))
        self.plain.update(span.labels, filter(None, (span.input, span.output)))
        self._add_attributes(span.attributes)
        self._add_attributes(span.resource)
        self._add_attributes(span.metadata)
        for event in span.events:
            self.plain.add(event.name)
            self._add_attributes(event.attributes)
        for link in span.links:
            self._add_attributes(link.attributes)

    def _add_attributes(self, attributes: Attributes) -> None:
        self.plain.update(attributes)
        for name, value in attributes.items():
            self._add(name, value)

    def _add(self, name: str, value: JsonValue) -> None:
        # Exact types are checked first, since one check against an abstract type takes as long as
        # the rest of the function.
        if type(value) is str:
            self.plain.add(value)
            if suggests_secret(name):
                self.named.add((value, name))
        elif value is None or isinstance(value, int | float):
            return
        elif isinstance(value, Mapping):
            self._add_attributes(value)
        elif isinstance(value, Sequence):
            for each in value:
                self._add(name, each)


def _findings(texts: _Texts) -> _Findings:
    plain = list(texts.plain)
    suspected = [plain[index] for index in find_suspects(plain)]
    found: dict[str | _Named, tuple[str, Mapping[str, int]]] = {
        text: redact_counted(text) for text in suspected
    }
    found |= {(text, name): redact_named(name, text) for text, name in texts.named}
    return {each: finding for each, finding in found.items() if finding[1]}


class _Redaction:
    """Replaces the found secrets of spans, and counts them."""

    def __init__(self, findings: _Findings, counts: Counter[str]) -> None:
        self._findings = findings
        self._counts = counts

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
            user=self._optional(span.user),
            release=self._optional(span.release),
            metadata=flat_metadata(self._attributes(span.metadata)),
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

    def _text(self, text: str, name: str | None = None) -> str:
        finding = self._findings.get(text) if name is None else self._findings.get((text, name))
        if finding is None:
            return text
        self._counts.update(finding[1])
        return finding[0]

    def _attributes(self, attributes: Attributes) -> Attributes:
        return {self._text(name): self._value(name, each) for name, each in attributes.items()}

    def _value(self, name: str, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._text(value, name if suggests_secret(name) else None)
        if isinstance(value, Mapping):
            return self._attributes(value)
        if isinstance(value, Sequence):
            return [self._value(name, each) for each in value]
        return value


@dataclass(frozen=True, slots=True)
class RedactionExample:
    """A masked match with the text around it, and its location."""

    trace_id: str
    span_id: str
    field: str
    """The path of the text in the span, such as `input` or `attributes.db.statement`."""
    before: str
    masked: str
    after: str


@dataclass(frozen=True, slots=True)
class RedactionPreview:
    """The numbers of searched spans, of spans with matches, and of matches, with some examples."""

    spans: int
    changed: int
    found: int
    examples: tuple[RedactionExample, ...]


def preview_redaction(rule: Rule, spans: Iterable[Span]) -> RedactionPreview:
    """Count the matches of `rule` in these spans. The spans are not changed."""
    searched = changed = found = 0
    examples: list[RedactionExample] = []
    for span in spans:
        searched += 1
        before = found
        for field, text in _named_texts(span):
            matches = _matches(rule, text)
            found += len(matches)
            examples += [
                _example(span, field, text, match)
                for match in matches[: max(0, _EXAMPLES - len(examples))]
            ]
        changed += found > before
    return RedactionPreview(searched, changed, found, tuple(examples[:_EXAMPLES]))


def _matches(rule: Rule, text: str) -> list[str]:
    found: list[str] = []

    def note(match: str) -> bool:
        found.append(match)
        return True

    rule.apply(text, note)
    return found


def _example(span: Span, field: str, text: str, match: str) -> RedactionExample:
    at = text.find(match)  # -1 if the match is escaped in the text
    before, after = (
        ("", "") if at < 0 else (text[max(0, at - _AROUND) : at], text[at + len(match) :])
    )
    masked = f"{match[:2]}… ({len(match)} characters)"
    return RedactionExample(span.trace_id, span.span_id, field, before, masked, after[:_AROUND])


def _named_texts(span: Span) -> Iterator[tuple[str, str]]:
    """Return every text of a span that redaction searches, with its path."""
    values = span.to_json()
    for name in ("trace_id", "span_id", "parent_id"):
        del values[name]
    return _walk("", values)


def _walk(field: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield field, name
            yield from _walk(f"{field}.{name}" if field else name, inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _walk(field, inner)
