"""Sums over the spans of one trace, by the rule that the store's sums follow too."""

from collections.abc import Sequence
from typing import TypeVar

from treadle.events.types import Usage
from treadle.spans.counted_calls import counted_spans
from treadle.spans.span import REPLIED, Span, SpanKind, SpanStatus, Totals

Number = TypeVar("Number", int, float)


def totals(spans: Sequence[Span]) -> Totals:
    """The totals of `spans`. Tokens and cost come from counted model calls alone."""
    counted = counted_spans(spans)
    models = [span for span in spans if span.span_id in counted]
    tools = [span for span in spans if span.kind is SpanKind.TOOL]
    replies = [span for span in models if span.status in REPLIED]
    return Totals(
        spans=len(spans),
        model_calls=len(models),
        tool_calls=len(tools),
        failed=sum(span.status is SpanStatus.ERROR for span in (*models, *tools)),
        tokens=Usage(
            input=_sum([span.tokens.input for span in models]),
            output=_sum([span.tokens.output for span in models]),
            cached=_sum([span.tokens.cached for span in models]),
            cache_write=_sum([span.tokens.cache_write for span in models]),
            reasoning=_sum([span.tokens.reasoning for span in models]),
        ),
        cost=_sum([span.cost for span in models]),
        unmetered=sum(span.tokens.input is None or span.tokens.output is None for span in replies),
        unpriced=sum(span.cost is None for span in replies),
    )


def _sum(values: Sequence[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], start=known[0]) if known else None
