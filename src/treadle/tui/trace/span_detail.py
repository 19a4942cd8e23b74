"""The details of a span as text: its figures, messages, arguments, results and errors."""

import json
from collections.abc import Iterator, Sequence

from textual.content import Content

from treadle.diagnosis.span_messages import Message, Reading, Role, read
from treadle.display.trace_tree import Row
from treadle.events.types import Usage
from treadle.spans.span import JsonValue, Span, SpanKind
from treadle.traces.amounts import cost, duration, tokens
from treadle.tui.text import foreign, foreign_line

PREVIEW_CHARACTERS = 3_000
"""The maximum number of characters of one text, unless the person asks for the whole content."""
WHOLE_CHARACTERS = 200_000
"""The maximum number of characters of all texts together."""
_PREVIEWED_MESSAGES = 6
"""A preview shows this number of messages of a request: the last ones."""

_ROLES = {
    Role.SYSTEM: "system",
    Role.USER: "user",
    Role.ASSISTANT: "model",
    Role.TOOL: "tool result",
}


class _Detail:
    """Collects sections of text up to a limit."""

    def __init__(self, *, whole: bool) -> None:
        self.parts: list[Content] = []
        self._left = WHOLE_CHARACTERS
        self._limit = WHOLE_CHARACTERS if whole else PREVIEW_CHARACTERS

    def heading(self, text: str, note: str = "") -> None:
        """Add a heading. It must not be foreign."""
        self.parts.append(
            Content.assemble(("\n" + text, "bold $text-primary"), (note, "$text-muted"))
        )

    def text(self, text: str, style: str = "") -> None:
        """Add the beginning of a foreign text."""
        limit = min(self._limit, self._left)
        self.parts.append(foreign(text[:limit].rstrip("\n"), style))
        self._left -= min(len(text), limit)
        if len(text) > limit:
            more = f"… {len(text) - limit:,} more characters"
            self.parts.append(Content.styled(more, "$text-warning"))


def span_detail(span: Span, row: Row | None, *, whole: bool) -> Content:
    """The details of a span. Without `whole`, each text is shortened.

    `row` is the row of the span in the tree. The notes of the row come first.
    """
    detail = _Detail(whole=whole)
    detail.parts += _figures(span, row)
    if span.error is not None:
        detail.heading("Error")
        detail.text(span.error, "$text-error")
    reading = read(span)
    if span.kind is SpanKind.MODEL and (reading.history or reading.reply):
        _messages(detail, "Reply", reading.reply, whole=True)
        _messages(detail, "Request", reading.history, whole=whole)
    else:
        _input_and_output(detail, span, reading)
    if span.attributes:
        detail.heading("Attributes")
        values = (f"{name}: {_value(value)}" for name, value in sorted(span.attributes.items()))
        detail.text("\n".join(values), "$text-muted")
    return Content("\n").join(detail.parts)


def _figures(span: Span, row: Row | None) -> Iterator[Content]:
    yield foreign_line(span.name, "bold", columns=200)
    about = [span.status.value, span.operation, span.provider or "", span.model or ""]
    yield foreign_line("  ".join(filter(None, about)), "$text-muted", columns=300)
    figures = [duration(span.duration_us)]
    if row is not None and row.offset_us is not None:
        figures.insert(0, f"{row.offset_us / 1e6:+.3f} s")
    if span.time_to_first_token_us is not None:
        figures.append(f"first token {duration(span.time_to_first_token_us)}")
    if span.tokens != Usage():
        figures.append(tokens(span.tokens))
    if span.cost is not None:
        figures.append(cost(span.cost))
    yield Content(", ".join(filter(None, figures)))
    yield foreign_line(f"span {span.span_id}", "$text-muted", columns=200)
    for note in row.notes if row is not None else ():
        yield foreign_line(note, "$text-warning" if note.startswith("hint") else "")


def _messages(detail: _Detail, name: str, messages: Sequence[Message], *, whole: bool) -> None:
    shown = messages if whole else messages[-_PREVIEWED_MESSAGES:]
    count = len(messages)
    note = "" if count <= 1 else f"  {count:,} messages"
    if len(shown) < count:
        note += f", the last {len(shown)}"
    detail.heading(name, note)
    for message in shown:
        detail.parts.append(
            Content.styled(_ROLES.get(message.role, message.role.value), "bold $text-secondary")
        )
        for text in message.texts:
            if text.role is not Role.ARGUMENTS:
                detail.text(text.text)
        for call in message.calls:
            detail.parts.append(
                Content.assemble("→ ", foreign_line(call.name, "bold", columns=100))
            )
            detail.text(_pretty(call.arguments or ""), "$text-muted")


def _input_and_output(detail: _Detail, span: Span, reading: Reading) -> None:
    is_call = span.kind is SpanKind.TOOL
    names = {
        "input": "Arguments" if is_call else "Input",
        "output": "Result" if is_call else "Output",
    }
    for text in reading.texts:
        if text.path in names:
            detail.heading(names[text.path])
            detail.text(_pretty(text.text))


def _pretty(text: str) -> str:
    """JSON text with one value on each line, or any other text as it is."""
    if text.lstrip()[:1] not in {"{", "["} or len(text) > WHOLE_CHARACTERS:
        return text
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _value(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
