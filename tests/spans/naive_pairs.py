"""Which spans record the same call, directly from the definition: slow, as a reference."""

import json
from collections.abc import Iterable
from typing import Any

from treadle.spans.span import Span, SpanKind

Key = tuple[str, str]
SECOND = 1_000_000


def naive_pairs(spans: Iterable[Span], counted: set[Key]) -> dict[Key, Key]:
    """The other record of each counted call, by (trace, span) ids."""
    calls = [span for span in spans if key_of(span) in counted and span.duration_us is not None]
    pairs = sorted(
        (*rank, key_of(exporter), key_of(gateway))
        for exporter in calls
        for gateway in calls
        if is_gateway(gateway) > is_gateway(exporter)
        and (rank := _rank(exporter, gateway)) is not None
    )
    first: dict[Key, Any] = {}
    for pair in pairs:
        for key in pair[-2:]:
            first.setdefault(key, pair)
    found: dict[Key, Key] = {}
    for pair in pairs:
        exporter, gateway = pair[-2:]
        if first[exporter] == pair == first[gateway]:
            found |= {exporter: gateway, gateway: exporter}
    return found


def naive_uncounted(spans: Iterable[Span], counted: set[Key]) -> set[Key]:
    """The calls that do not count because their other record does."""
    by_key = {key_of(span): span for span in spans}
    gone = set()
    for key, other in naive_pairs(by_key.values(), counted).items():
        if is_gateway(by_key[key]):
            gateway, exporter = by_key[key], by_key[other]
            gone.add(other if _figures_differ(gateway, exporter) else key)
    return gone


def key_of(span: Span) -> Key:
    return span.trace_id, span.span_id


def is_gateway(span: Span) -> bool:
    return span.resource.get("otel.scope.name") == "treadle.gateway"


def _rank(exporter: Span, gateway: Span) -> tuple[bool, int] | None:
    if exporter.kind is not gateway.kind:
        return None
    assert exporter.end_us is not None
    assert gateway.end_us is not None
    late = gateway.start_us - exporter.start_us
    last = min(exporter.end_us - exporter.start_us, 600 * SECOND) + 5 * SECOND
    if not -5 * SECOND <= late <= last:
        return None
    models = {_model(exporter.model), _model(gateway.model)} - {None}
    ids = (
        exporter.attributes.get("gen_ai.response.id"),
        gateway.attributes.get("gen_ai.response.id"),
    )
    answers = answer(exporter), answer(gateway)
    if None not in ids:
        same = ids[0] == ids[1] and len(models) <= 1 and ("" in answers or len({*answers}) == 1)
        same = same and gateway.end_us >= exporter.start_us - 5 * SECOND
    else:
        same = bool(exporter.input) and exporter.input == gateway.input
        same = same and answers[0] == answers[1] != ""
        same = same and len(models) == 1 and bool(exporter.model and gateway.model)
        same = same and late >= -SECOND and gateway.end_us <= exporter.end_us + SECOND
    return (None in ids, abs(late)) if same else None


def _model(model: str | None) -> str | None:
    return model.replace("openai/", "").replace("-2024-07-18", "") if model else None


def answer(span: Span) -> str:
    if span.kind is SpanKind.EMBEDDING:
        return "embedding"
    if span.output is None:
        return "failed" if span.status == "error" else ""
    return "".join(str(message["content"]) for message in json.loads(span.output))


def _figures_differ(gateway: Span, exporter: Span) -> bool:
    if gateway.tokens.input is None and gateway.cost is None:
        return False
    tokens = [(span.tokens.input, span.tokens.output or 0) for span in (gateway, exporter)]
    costs = gateway.cost, exporter.cost
    if tokens[0] != tokens[1] or None in costs:
        return tokens[0] != tokens[1] or (costs[0] is not None)
    return abs((costs[0] or 0) - (costs[1] or 0)) > (costs[0] or 0) / 100
