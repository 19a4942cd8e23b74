"""Which model calls count: one rule for every list, sum, view and page.

One request to a model may be recorded more than once: by the client's instrumentation, by a
framework around it, by the gateway that it went through. Their spans lie within each other, with
spans of the transport between them. Only one of them counts as a call, with its tokens and its
cost:

- The innermost one counts, since it is closest to the provider. Several attempts within one outer
  call count each.
- If none of the inner ones knows its tokens or cost, the innermost outer one that does counts in
  their place.

A tool, an agent, a retrieval, a guardrail or an evaluation between two calls makes them separate
calls, which both count. The rule follows from the spans that are there alone, so it does not
depend on the order in which they arrived.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from treadle.spans.span import Span, SpanKind

SEPARATE = ("guardrail", "evaluate")
"""Operations of kind `other` that make calls of their own."""
STEPS = ("gateway", "chain")
"""Operations of kind `agent` that only pass a call on: retries, fallbacks, wrappers."""


@dataclass(frozen=True, slots=True)
class Step:
    """What the rule needs of a span. `known` says whether its tokens or its cost are known."""

    span_id: str
    parent_id: str | None
    model: bool
    known: bool


def passes_on(kind: str, operation: str) -> bool:
    """Whether a model call below such a span may be the same as one above it."""
    if kind == SpanKind.AGENT:
        return operation in STEPS
    return kind == SpanKind.OTHER and operation not in SEPARATE


def counted_spans(spans: Iterable[Span]) -> set[str]:
    """The ids of the model calls of one trace that count."""
    return counted_calls(
        Step(
            span.span_id,
            span.parent_id,
            span.kind is SpanKind.MODEL,
            (span.tokens.input, span.tokens.output, span.cost) != (None, None, None),
        )
        for span in spans
        if span.kind is SpanKind.MODEL or passes_on(span.kind, span.operation)
    )


def counted_calls(steps: Iterable[Step]) -> set[str]:
    """The same of model calls and of spans that pass calls on; others are not among `steps`."""
    by_id = {step.span_id: step for step in steps}
    below = _children(by_id)
    ordered = _parents_first(by_id, below)
    holds_call: set[str] = set()
    holds_known: set[str] = set()
    for step in reversed(ordered):
        for child in below.get(step.span_id, ()):
            if child.model or child.span_id in holds_call:
                holds_call.add(step.span_id)
            if (child.model and child.known) or child.span_id in holds_known:
                holds_known.add(step.span_id)
    counted: set[str] = set()
    covered: set[str] = set()
    for step in ordered:
        own = step.span_id
        stands_in = step.known and own in holds_call and own not in holds_known
        if step.model and own not in covered and (stands_in or own not in holds_call):
            counted.add(own)
        if own in covered or (stands_in and own in counted):
            covered.update(child.span_id for child in below.get(own, ()))
    return counted


def _children(by_id: Mapping[str, Step]) -> dict[str, list[Step]]:
    """The steps below each step. No step of a ring of parents is below another one."""
    below: dict[str, list[Step]] = defaultdict(list)
    on_ring = _rings(by_id)
    for step in by_id.values():
        parent_id = step.parent_id
        if parent_id is not None and parent_id in by_id and step.span_id not in on_ring:
            below[parent_id].append(step)
    return below


def _rings(by_id: Mapping[str, Step]) -> set[str]:
    """The steps that are their own ancestors."""
    rings: set[str] = set()
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
            rings.update(walked[walked.index(current) :])
        settled.update(path)
    return rings


def _parents_first(by_id: Mapping[str, Step], below: Mapping[str, list[Step]]) -> list[Step]:
    placed = {child.span_id for children in below.values() for child in children}
    ordered = [step for step in by_id.values() if step.span_id not in placed]
    for step in ordered:  # grows while it is walked
        ordered.extend(below.get(step.span_id, ()))
    return ordered
