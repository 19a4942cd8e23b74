"""What a rule of redaction would take out of spans that are stored, without taking it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treadle.secrets import Rule
from treadle.spans.span import Span

_EXAMPLES = 10
_AROUND = 20


@dataclass(frozen=True, slots=True)
class RedactionExample:
    """A finding: its position, its first letters, its length and the text around it."""

    trace_id: str
    span_id: str
    field: str
    """Such as `input`, or `attributes.db.statement`."""
    before: str
    masked: str
    after: str


@dataclass(frozen=True, slots=True)
class RedactionPreview:
    """Of so many spans, how many hold what the rule matches, and how often."""

    spans: int
    changed: int
    found: int
    examples: tuple[RedactionExample, ...]


def preview(rule: Rule, spans: Iterable[Span]) -> RedactionPreview:
    """What `rule` would do to these spans. Nothing is changed."""
    seen = changed = found = 0
    examples: list[RedactionExample] = []
    for span in spans:
        seen += 1
        before = found
        for field, text in _texts(span):
            matches = _matches(rule, text)
            found += len(matches)
            examples += [
                _example(span, field, text, match)
                for match in matches[: max(0, _EXAMPLES - len(examples))]
            ]
        changed += found > before
    return RedactionPreview(seen, changed, found, tuple(examples[:_EXAMPLES]))


def _matches(rule: Rule, text: str) -> list[str]:
    found: list[str] = []

    def note(match: str) -> bool:
        found.append(match)
        return True

    rule.apply(text, note)
    return found


def _example(span: Span, field: str, text: str, match: str) -> RedactionExample:
    at = text.find(match)  # -1 where it is written with escapes
    before, after = (
        ("", "") if at < 0 else (text[max(0, at - _AROUND) : at], text[at + len(match) :])
    )
    masked = f"{match[:2]}… ({len(match)} characters)"
    return RedactionExample(span.trace_id, span.span_id, field, before, masked, after[:_AROUND])


def _texts(span: Span) -> Iterator[tuple[str, str]]:
    """Every text of a span that redaction reads, with its position."""
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
