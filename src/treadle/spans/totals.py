"""Totals of a trace, and the rule that decides which model calls count in them.

Several spans may record one request to a model: the client's instrumentation, a framework around
it, and a gateway each record a span. These spans are nested, and spans of the transport may be
between them. Only one of the spans that record the request counts as a call, with its tokens and
its cost:

- The innermost span counts, since it is closest to the provider. If one outer call makes several
  attempts, each attempt counts.
- If no inner span has tokens or a cost, an outer span that has them counts instead. If there are
  several such spans, the one that is closest to the provider counts.

A tool, an agent, a retrieval, a guardrail or an evaluation between two calls separates them, so
both count. The rule depends only on the present spans, not on the order of their arrival.

The same rule applies to embeddings, which are calls of a model too. An embedding and a model call
are never the same request, so both count if one is within the other.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from treadle.events.types import Usage
from treadle.spans.span import SameCall, Span, SpanKind, SpanStatus

CALL_KINDS = (SpanKind.MODEL, SpanKind.EMBEDDING)
"""The kinds of spans that are calls of a model, with tokens and a cost."""

REPLIED = (SpanStatus.OK, SpanStatus.CANCELLED)
"""The statuses of model calls that a provider may charge for, including interrupted calls."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a trace or a part of it.

    `model_calls` includes embeddings. Tokens and cost are the sums of known values, or None if no
    value is known. `unmetered` counts answered and interrupted model calls with unknown tokens.
    `unpriced` counts such calls with an unknown cost. The output tokens of an embedding are 0.
    """

    spans: int
    model_calls: int
    tool_calls: int
    failed: int
    """The number of model and tool calls that ended with an error."""
    tokens: Usage
    cost: float | None
    unmetered: int
    unpriced: int


NO_SAME_CALLS: Mapping[str, SameCall] = MappingProxyType({})

Number = TypeVar("Number", int, float)


def totals(spans: Sequence[Span], same_calls: Mapping[str, SameCall] = NO_SAME_CALLS) -> Totals:
    """Return the totals of `spans`. Tokens and cost come only from counted model calls.

    `same_calls` has the other records of the calls, by span id; see `Trace`.
    """
    elsewhere = {span_id for span_id, same in same_calls.items() if not same.counted}
    counted = counted_spans(spans) - elsewhere
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
            output=_sum([_output(span) for span in models]),
            cached=_sum([span.tokens.cached for span in models]),
            cache_write=_sum([span.tokens.cache_write for span in models]),
            reasoning=_sum([span.tokens.reasoning for span in models]),
        ),
        cost=_sum([span.cost for span in models]),
        unmetered=sum(span.tokens.input is None or _output(span) is None for span in replies),
        unpriced=sum(span.cost is None for span in replies),
    )


def _output(span: Span) -> int | None:
    """Return the output tokens of a call, or None if they are unknown.

    They are 0 for an embedding with known input tokens, even if they were not reported.
    """
    output = span.tokens.output
    of_embedding = span.kind is SpanKind.EMBEDDING and span.tokens.input is not None
    return 0 if output is None and of_embedding else output


def _sum(values: Sequence[Number | None]) -> Number | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], start=known[0]) if known else None


SEPARATE = ("guardrail", "evaluate")
"""Operations of kind `other`. The model calls above and below such a span are separate calls."""
STEPS = ("gateway", "chain")
"""Operations of kind `agent` that only forward a call, such as retries, fallbacks and wrappers."""


@dataclass(frozen=True, slots=True)
class Step:
    """The data of one span that the counting rule needs.

    `call` is the kind of the span if the span is a call of a model. It is None for a span that
    forwards calls. `known` is true if the tokens or the cost are known.
    """

    span_id: str
    parent_id: str | None
    call: str | None
    known: bool


def is_call(kind: str) -> bool:
    """Return whether a span of this kind is a call of a model, which has tokens and a cost."""
    return kind in CALL_KINDS


def forwards_call(kind: str, operation: str) -> bool:
    """Return whether the calls above and below a span of this kind may be one request."""
    if kind == SpanKind.AGENT:
        return operation in STEPS
    return kind == SpanKind.OTHER and operation not in SEPARATE


def counted_spans(spans: Iterable[Span]) -> set[str]:
    """Return the ids of the calls of one trace that count."""
    return counted_calls(
        Step(
            span.span_id,
            span.parent_id,
            span.kind if is_call(span.kind) else None,
            (span.tokens.input, span.tokens.output, span.cost) != (None, None, None),
        )
        for span in spans
        if is_call(span.kind) or forwards_call(span.kind, span.operation)
    )


def counted_calls(steps: Iterable[Step]) -> set[str]:
    """Return the ids of the calls that count.

    `steps` are the calls, and the spans that forward calls.
    """
    every = list(steps)
    counted: set[str] = set()
    for kind in {step.call for step in every if step.call is not None}:
        counted |= _counted_of_kind([step for step in every if step.call in (kind, None)])
    return counted


def _counted_of_kind(steps: Iterable[Step]) -> set[str]:
    """Return the ids of the calls that count. All calls in `steps` have the same kind."""
    by_id = {step.span_id: step for step in steps}
    below = _children(by_id)
    ordered = _parents_first(by_id, below)
    contains_call: set[str] = set()
    contains_known: set[str] = set()
    for step in reversed(ordered):
        for child in below.get(step.span_id, ()):
            if child.call or child.span_id in contains_call:
                contains_call.add(step.span_id)
            if (child.call and child.known) or child.span_id in contains_known:
                contains_known.add(step.span_id)
    counted: set[str] = set()
    covered: set[str] = set()
    for step in ordered:
        own = step.span_id
        replaces_inner = step.known and own in contains_call and own not in contains_known
        if step.call and own not in covered and (replaces_inner or own not in contains_call):
            counted.add(own)
        if own in covered or (replaces_inner and own in counted):
            covered.update(child.span_id for child in below.get(own, ()))
    return counted


def _children(by_id: Mapping[str, Step]) -> dict[str, list[Step]]:
    """Return the steps below each step.

    A step in a cycle of parents is not below any other step.
    """
    below: dict[str, list[Step]] = defaultdict(list)
    in_cycle = _cycles(by_id)
    for step in by_id.values():
        parent_id = step.parent_id
        if parent_id is not None and parent_id in by_id and step.span_id not in in_cycle:
            below[parent_id].append(step)
    return below


def _cycles(by_id: Mapping[str, Step]) -> set[str]:
    """Return the ids of the steps that are their own ancestors."""
    cycles: set[str] = set()
    settled: set[str] = set()
    for start in by_id:
        path: dict[str, None] = {}
        current: str | None = start
        while current is not None and current in by_id:
            if current in settled or current in path:
                break
            path[current] = None
            current = by_id[current].parent_id
        if current in path:
            walked = list(path)
            cycles.update(walked[walked.index(current) :])
        settled.update(path)
    return cycles


def _parents_first(by_id: Mapping[str, Step], below: Mapping[str, list[Step]]) -> list[Step]:
    placed = {child.span_id for children in below.values() for child in children}
    ordered = [step for step in by_id.values() if step.span_id not in placed]
    for step in ordered:  # the loop extends the list
        ordered.extend(below.get(step.span_id, ()))
    return ordered
