"""Builds the context plan of a recorded model request from the messages in its span."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from treadle.app.context_plan import (
    ContextPlan,
    PlanItem,
    SectionKind,
    UnscaledItem,
    scaled_sections,
)
from treadle.errors import NotFoundError, UsageError
from treadle.fences import fenced_parts
from treadle.llm.messages import ToolSpec
from treadle.llm.valid_history import (
    ATTACHED_SOURCE,
    CONTEXT_SOURCE,
    INSTRUCTIONS_SOURCE,
    PINNED_SOURCE,
)
from treadle.session.conversation import title_of
from treadle.session.message_tokens import IMAGE_TOKENS, MESSAGE_TOKENS, tool_tokens
from treadle.spans.span import Span, SpanEvent, SpanKind
from treadle.tokens import estimate

_MAX_PARENTS = 20


class SpanSource(Protocol):
    """Reads single recorded spans."""

    def span(self, trace_id: str, span_id: str) -> Span | None:
        """Return the whole span, or None if it does not exist."""
        ...


def recorded_plan(source: SpanSource, trace_id: str, span_id: str) -> ContextPlan:
    """Return the plan of the request in a span. This function blocks.

    The sizes are estimates of the recorded messages. If another program recorded the span, the plan
    has no window and no budget. Raises NotFoundError for an unknown span, and UsageError for a span
    without messages.
    """
    span = source.span(trace_id, span_id)
    if span is None:
        raise NotFoundError(f"There is no span {span_id} in the trace {trace_id}.")
    if span.kind is not SpanKind.MODEL:
        raise UsageError(
            f"The span {span_id} is not a model call; its kind is {span.kind.value}.",
            hint="Choose a span of the kind model.",
        )
    built = _prompt_event(source, span)
    items = list(_Messages(_messages(span)).items())
    items += _tools(span, built)
    calibration = _calibration(span, built, items)
    sections = scaled_sections(items, calibration)
    window, budget = _integer(built, "context_window"), _integer(built, "budget_tokens")
    reason = built.attributes.get("reason") if built else None
    return ContextPlan(
        span.provider or "",
        span.model or "",
        window,
        budget,
        None if window is None or budget is None else window - budget,
        calibration,
        sum(section.tokens for section in sections),
        sections,
        notes=(f"Left out or changed: {reason}.",) if reason else (),
        counted=span.tokens.input,
    )


def _messages(span: Span) -> list[Mapping[str, Any]]:
    try:
        messages = json.loads(span.input or "")
    except (ValueError, RecursionError):
        messages = None
    if not isinstance(messages, list) or not messages:
        raise UsageError(f"The messages of the span {span.span_id} were not recorded.")
    return [each for each in messages if isinstance(each, Mapping)]


def _prompt_event(source: SpanSource, span: Span) -> SpanEvent | None:
    """Return the event of the run that states how the prompt of this request was built."""
    turn, above = span.attributes.get("treadle.turn"), span.parent_id
    for _ in range(_MAX_PARENTS):
        parent = source.span(span.trace_id, above) if above else None
        if parent is None:
            return None
        events = [
            each
            for each in parent.events
            if each.name == "prompt"
            and each.attributes.get("turn") == turn
            and each.at_us <= span.start_us
        ]
        if events:
            return events[-1]
        above = parent.parent_id
    return None


def _integer(event: SpanEvent | None, name: str) -> int | None:
    value = event.attributes.get(name) if event else None
    return value if isinstance(value, int) else None


def _calibration(span: Span, built: SpanEvent | None, items: Sequence[UnscaledItem]) -> float:
    """Return the factor by which the session multiplied its estimates of tokens.

    If the factor was not recorded, return the provider's count divided by the estimate.
    """
    used = built.attributes.get("calibration") if built else None
    if isinstance(used, int | float):
        return float(used)
    estimated = sum(each.item.tokens for each in items)
    counted = span.tokens.input
    return counted / estimated if counted and estimated else 1.0


def _tools(span: Span, built: SpanEvent | None) -> Iterator[UnscaledItem]:
    tokens = _integer(built, "tool_tokens")
    offered = span.attributes.get("treadle.tools_offered")
    if tokens is not None:
        if offered:
            yield _item(SectionKind.TOOLS, f"{offered} tools", tokens)
        return
    try:
        given = json.loads(str(span.attributes.get("gen_ai.tool.definitions") or "[]"))
    except (ValueError, RecursionError):
        return
    for each in given if isinstance(given, list) else []:
        if isinstance(each, Mapping):
            inner = each.get("function")
            tool = inner if isinstance(inner, Mapping) else each
            name, parameters = str(tool.get("name")), tool.get("parameters")
            described = ToolSpec(
                name,
                str(tool.get("description") or ""),
                dict(parameters) if isinstance(parameters, Mapping) else {},
            )
            yield _item(SectionKind.TOOLS, name, tool_tokens(described))


def _item(kind: SectionKind, name: str, tokens: int) -> UnscaledItem:
    return UnscaledItem(kind, PlanItem(name, tokens, tokens))


@dataclass(slots=True)
class _Exchange:
    title: str
    tokens: int = 0
    results: int = 0
    items: list[UnscaledItem] = field(default_factory=list)


class _Messages:
    """Builds the items of recorded messages.

    Unlike messages of a conversation, they have no numbers.
    """

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        self._system = 0
        self._exchanges = [_Exchange("before the first message")]
        for message in messages:
            self._add(message)

    def items(self) -> Iterator[UnscaledItem]:
        """Yield the item of the system prompt, then the items of each exchange."""
        if self._system:
            yield _item(SectionKind.SYSTEM, "system prompt", self._system)
        for exchange in self._exchanges:
            yield from exchange.items
            if exchange.tokens:
                yield _item(SectionKind.HISTORY, exchange.title, exchange.tokens)
            if exchange.results:
                yield _item(SectionKind.RESULTS, exchange.title, exchange.results)

    def _add(self, message: Mapping[str, Any]) -> None:
        role, text = message.get("role"), _text(message.get("content"))
        match role:
            case "system" | "developer":
                self._system += MESSAGE_TOKENS + estimate(text)
            case "user":
                self._add_user_message(text)
                self._exchanges[-1].items += _images(message.get("content"))
            case "tool" | "function":
                self._exchanges[-1].results += MESSAGE_TOKENS + estimate(text)
            case _:
                other = {
                    name: value
                    for name, value in message.items()
                    if name not in {"role", "content"} and value
                }
                written = json.dumps(other, ensure_ascii=False) if other else ""
                self._exchanges[-1].tokens += MESSAGE_TOKENS + estimate(text + written)

    def _add_user_message(self, text: str) -> None:
        parts = list(fenced_parts(text))
        own = "\n".join(part for source, part in parts if source is None)
        exchange = _Exchange(title_of(own) or "message", MESSAGE_TOKENS + estimate(own))
        self._exchanges.append(exchange)
        for source, part in parts:
            if source is not None:
                exchange.items.append(_fenced_item(source, part, exchange.title))


def _fenced_item(source: str, text: str, title: str) -> UnscaledItem:
    tokens = estimate(text)
    if source == CONTEXT_SOURCE:
        return _item(SectionKind.AUTOMATIC_CONTEXT, title, tokens)
    for prefix, kind in (
        (PINNED_SOURCE, SectionKind.PINNED),
        (ATTACHED_SOURCE, SectionKind.ATTACHED),
        (INSTRUCTIONS_SOURCE, SectionKind.INSTRUCTIONS),
    ):
        if source.startswith(prefix):
            return _item(kind, source.removeprefix(prefix).strip(), tokens)
    return _item(SectionKind.RESULTS, source, tokens)  # a past tool call, written as text


def _images(content: object) -> Iterator[UnscaledItem]:
    """Yield an item for each image of a message."""
    for part in content if isinstance(content, list) else []:
        if isinstance(part, Mapping) and part.get("type") == "image_url":
            yield _item(SectionKind.IMAGES, "image", IMAGE_TOKENS)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))
