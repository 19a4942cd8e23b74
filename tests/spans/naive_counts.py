"""The rule of counted model calls, directly from its definition: slow, as a reference for tests."""

from collections.abc import Iterable

from treadle.spans.span import Span, SpanKind


def naive_counted(spans: Iterable[Span]) -> set[tuple[str, str]]:
    """The (trace, span) ids of the model calls and embeddings that count."""
    every = list(spans)
    kinds = (SpanKind.MODEL, SpanKind.EMBEDDING)
    return {key for kind in kinds for key in _counted_of_kind(every, kind)}


def _counted_of_kind(spans: Iterable[Span], kind: SpanKind) -> set[tuple[str, str]]:
    by_id = {(span.trace_id, span.span_id): span for span in spans if _is_step(span, kind)}
    above = {key: _calls_above(key, by_id, kind) for key in by_id}
    calls = {key for key, span in by_id.items() if span.kind is kind}
    below = {key: {other for other in calls if key in above[other]} for key in calls}

    def knows(key: tuple[str, str]) -> bool:
        span = by_id[key]
        return (span.tokens.input, span.tokens.output, span.cost) != (None, None, None)

    def stands_in(key: tuple[str, str]) -> bool:
        return knows(key) and bool(below[key]) and not any(map(knows, below[key]))

    return {
        key
        for key in calls
        if (not below[key] or stands_in(key)) and not any(map(stands_in, above[key]))
    }


def _is_step(span: Span, kind: SpanKind) -> bool:
    return (
        span.kind is kind
        or (span.kind is SpanKind.OTHER and span.operation not in {"guardrail", "evaluate"})
        or (span.kind is SpanKind.AGENT and span.operation in {"gateway", "chain"})
    )


def _calls_above(
    key: tuple[str, str], by_id: dict[tuple[str, str], Span], kind: SpanKind
) -> set[tuple[str, str]]:
    def parent_of(each: tuple[str, str]) -> tuple[str, str] | None:
        parent_id = by_id[each].parent_id
        return (each[0], parent_id) if parent_id and (each[0], parent_id) in by_id else None

    def on_ring(each: tuple[str, str]) -> bool:
        current, steps = parent_of(each), 0
        while current and current != each and steps < len(by_id):
            current, steps = parent_of(current), steps + 1
        return current == each

    found: set[tuple[str, str]] = set()
    current: tuple[str, str] | None = key
    while current and not on_ring(current) and (current := parent_of(current)):
        if by_id[current].kind is kind:
            found.add(current)
    return found
