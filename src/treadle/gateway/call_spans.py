"""Builds the spans of a call.

A finished call with one attempt, no wait and no refusal has one span. Other calls have a step span
for the whole call. The children of the step span are a span for each attempt and a span for the
wait at a breakpoint.

While a call runs, one unfinished span represents it. Later the span of the first attempt replaces
it. If the call ends without an attempt, the step span replaces it.

The attributes have OpenTelemetry names. The code that reads spans of other programs converts these
attributes to fields of `Span`. Fields that need no conversion, such as the contents, the outcome
and the cost, are set directly.
"""

import time
from dataclasses import replace
from urllib.parse import urlsplit

from treadle import __version__
from treadle.events.types import Usage
from treadle.gateway.answers import read_answer
from treadle.gateway.apis import Api, Operation
from treadle.gateway.attempts import Attempt, GatewayCall, Hold
from treadle.gateway.budgets import Used
from treadle.gateway.recorded_answer import Read
from treadle.gateway.request import new_span_id, without_key
from treadle.gateway.request_record import recorded_input, request_attributes
from treadle.llm import prices
from treadle.llm.endpoint import Endpoint
from treadle.llm.profiles import PROFILES
from treadle.spans.raw_span import RawSpan
from treadle.spans.same_calls import GATEWAY_SCOPE
from treadle.spans.span import (
    BUDGET_LABEL,
    NO_ATTRIBUTES,
    Attributes,
    CostSource,
    JsonValue,
    Span,
    SpanKind,
    SpanStatus,
)
from treadle.spans.vocabularies.mapper import to_span
from treadle.spans.vocabularies.usage import billed_usage, cost_and_source
from treadle.tokens import estimate

_RESOURCE: Attributes = {
    "service.name": "treadle",
    "otel.scope.name": GATEWAY_SCOPE,
    "otel.scope.version": __version__,
}


def running_span(call: GatewayCall, recorder: Attributes = NO_ATTRIBUTES) -> Span:
    """Build the span of a call that still runs. `recorder` is as in `spans_of`."""
    return _Shared(call, recorder).running()


def spans_of(call: GatewayCall, recorder: Attributes = NO_ATTRIBUTES) -> tuple[list[Span], Used]:
    """Build the spans of a finished call. Returns them with the tokens and the cost of the call.

    If the answer does not state its tokens, they are estimated. `recorder` is added to the resource
    of the spans, and identifies the process that records them.
    """
    shared = _Shared(call, recorder)
    used = Used()
    attempts = []
    for number, attempt in enumerate(call.attempts, start=1):
        read = read_answer(call.request, attempt)
        attempts.append(shared.attempt(attempt, read, number))
        if not call.cached:
            used += _used(attempts[-1], attempt, read)
    if call.single:
        return attempts, used
    step = shared.step(attempts)
    held = [shared.held(call.hold)] if call.hold is not None else []
    return [step, *held, *attempts], used


class _Shared:
    """Builds the spans of one call from their common values."""

    def __init__(self, call: GatewayCall, recorder: Attributes) -> None:
        self._call = call
        self._resource = {**_RESOURCE, **recorder}
        self._request = call.request
        self._context = call.request.context
        covered = (BUDGET_LABEL + name for name in call.budgets)
        self._labels = tuple(sorted({*self._context.labels, *covered}))
        self._input = recorded_input(call.request)
        self._said = to_span(RawSpan(attributes=request_attributes(call.request)))

    def running(self) -> Span:
        """The span of a running call. It has the request, but neither an answer nor an end."""
        first = next(iter(tuple(self._call.attempts)), None)
        endpoint = first.endpoint if first is not None else Endpoint("", self._model, "")
        start_ns = first.start_ns if first is not None else self._call.start_ns
        raw = self._raw(self._call.first_id, self._asked(endpoint), start_ns, None)
        span = to_span(raw)
        return self._own(
            replace(
                span,
                name=f"{span.operation} {endpoint.model}".strip(),
                kind=SpanKind.MODEL if self._request.operation.makes_media else span.kind,
                parent_id=self._context.parent_id,
                input=self._input,
            )
        )

    def attempt(self, attempt: Attempt, read: Read, number: int) -> Span:
        endpoint, request = attempt.endpoint, self._request
        attributes = self._asked(endpoint) | _answer_attributes(attempt, read)
        if number > 1:
            attributes["treadle.gateway.attempt"] = number
        single = self._call.single
        if single:
            attributes |= self._decisions()
        if attempt.is_cut:
            attributes |= _estimates(self._input, read)
        error = attempt.error or read.error
        if error is not None:
            attributes["error.type"] = attempt.error_type or read.error_type or "error"
        span = to_span(self._raw(attempt.span_id, attributes, attempt.start_ns, attempt.end_ns))
        first_us = None if read.first_ns is None else (read.first_ns - attempt.start_ns) // 1_000
        status = SpanStatus.OK if error is None else SpanStatus.ERROR
        cost, source = self._cost(endpoint, span, read)
        return self._own(
            replace(
                span,
                name=f"{span.operation} {endpoint.model}".strip(),
                kind=SpanKind.MODEL if request.operation.makes_media else span.kind,
                parent_id=self._context.parent_id if single else self._call.step_id,
                status=SpanStatus.CANCELLED if attempt.interrupted else status,
                error=error,
                tokens=_NOTHING if self._call.cached else span.tokens,
                cost=cost,
                cost_source=source,
                time_to_first_token_us=first_us,
                input=self._input,
                output=read.output,
            )
        )

    def step(self, attempts: list[Span]) -> Span:
        """The span of the whole call. Only calls that are not `single` have it."""
        last = attempts[-1] if attempts else None
        refusal = self._call.refusal
        attributes: dict[str, JsonValue] = {
            "gen_ai.operation.name": self._request.operation.value,
            "treadle.gateway.attempts": len(attempts),
            **self._decisions(),
        }
        name = self._model
        if name:
            attributes["gen_ai.request.model"] = name
        status, error = (last.status, last.error) if last else (SpanStatus.OK, None)
        if refusal is not None:
            attributes["http.response.status_code"], attributes["error.type"] = refusal[:2]
            denied = self._call.hold is not None and last is None
            status, error = SpanStatus.DENIED if denied else SpanStatus.ERROR, refusal[2]
        if self._interrupted_before(last):
            status = SpanStatus.CANCELLED
        raw = self._raw(self._call.step_id, attributes, self._call.start_ns, self._call.end_ns)
        return self._own(
            replace(
                to_span(raw),
                kind=SpanKind.AGENT,
                operation="gateway",
                name=f"gateway {name}".strip(),
                parent_id=self._context.parent_id,
                status=status,
                error=error,
                tokens=Usage(),
                cost=None,
                cost_source=None,
                input=self._input,
                output=last.output if last else None,
            )
        )

    def held(self, hold: Hold) -> Span:
        """The span of the wait for a person at a breakpoint."""
        attributes: dict[str, JsonValue] = {
            "treadle.breakpoint.id": hold.breakpoint_id,
            "treadle.breakpoint.held_id": hold.held_id,
            "treadle.breakpoint.decision": hold.decision,
        }
        if hold.original is not None:
            attributes["treadle.breakpoint.original_request"] = hold.original
        if hold.reason is not None:
            attributes["treadle.breakpoint.reason"] = hold.reason
        statuses = {"refused": SpanStatus.DENIED, "cancelled": SpanStatus.CANCELLED}
        raw = self._raw(new_span_id(), attributes, hold.start_ns, hold.end_ns)
        return self._own(
            replace(
                to_span(raw),
                kind=SpanKind.APPROVAL,
                operation="approval",
                name="approval breakpoint",
                parent_id=self._call.step_id,
                status=statuses.get(hold.decision, SpanStatus.OK),
                input=hold.original if hold.original is not None else self._input,
                output=hold.decision,
            )
        )

    def _interrupted_before(self, last: Span | None) -> bool:
        """Whether the client left while its call was held at a breakpoint."""
        hold = self._call.hold
        return last is None and hold is not None and hold.decision == "cancelled"

    @property
    def _model(self) -> str:
        return self._request.named_model or ""

    def _asked(self, endpoint: Endpoint) -> dict[str, JsonValue]:
        """Attributes of the request that goes to a provider."""
        request = self._request
        parts = urlsplit(endpoint.base_url)
        known: dict[str, JsonValue] = {
            "gen_ai.provider.name": endpoint.provider or None,
            "gen_ai.request.model": endpoint.model or None,
            "server.port": parts.port,
        }
        attributes: dict[str, JsonValue] = {
            "gen_ai.operation.name": request.operation.value,
            "server.address": parts.hostname or "",
            **{name: value for name, value in known.items() if value is not None},
            **request_attributes(request),
        }
        if request.target.api is Api.OPENAI and request.operation.generates:
            kind = "responses" if request.operation is Operation.RESPONSES else "chat_completions"
            attributes["openai.api.type"] = kind
        if request.operation.passes_through:
            attributes["http.request.method"] = request.target.method
            attributes["url.path"] = request.target.path
        return attributes

    def _raw(
        self, span_id: str, attributes: dict[str, JsonValue], start_ns: int, end_ns: int | None
    ) -> RawSpan:
        return RawSpan(
            trace_id=self._context.trace_id,
            span_id=span_id,
            start_ns=start_ns,
            end_ns=time.time_ns() if end_ns == 0 else end_ns,
            attributes=attributes,
            resource=self._resource,
        )

    def _own(self, span: Span) -> Span:
        """Add the fields that all spans of the call share.

        The client's API key is removed from the span.
        """
        span = replace(
            span,
            labels=self._labels,
            thread_id=self._context.thread_id,
            run_id=self._context.run_id,
            user=self._said.user,
            release=self._said.release,
            metadata=self._said.metadata,
        )
        return _without(span, self._request.key)

    def _decisions(self) -> dict[str, JsonValue]:
        """Attributes with the route of the call, and with whether the cache answered it."""
        decided: dict[str, JsonValue] = {}
        if self._call.route is not None:
            decided["treadle.gateway.route"] = self._call.route
        if self._call.cached:
            decided["treadle.gateway.cache"] = "hit"
        return decided

    def _cost(
        self, endpoint: Endpoint, span: Span, read: Read
    ) -> tuple[float | None, CostSource | None]:
        if self._call.cached:
            return 0.0, CostSource.PRICES
        if read.cost is not None:
            return read.cost, CostSource.REPORTED
        if self._request.operation.passes_through:
            return None, None  # the price table has no prices of images and sound
        usage = billed_usage(span.kind, span.tokens)
        return cost_and_source(_price(endpoint, read.response_model, usage))


_NOTHING = Usage(input=0, output=0)
"""The usage of a cached answer. The provider used no tokens."""


def _price(endpoint: Endpoint, response_model: str | None, usage: Usage) -> prices.Price | None:
    """The price of the usage, or None if it is unknown.

    The price table is searched for the model that answered and for the requested model. A listed
    price of either model is better than an estimate from a base model.

    The address of the endpoint identifies the provider. If a hosted provider has an address on this
    machine, the address is that of a proxy. In this case, the name identifies the provider. Calls
    of other models on this machine have no price.
    """
    profile = PROFILES.get(endpoint.provider)
    hosted = profile is not None and not profile.local
    base_url = None if endpoint.loopback and hosted else endpoint.base_url
    if endpoint.loopback and not hosted:
        return None
    found = [
        price
        for model in dict.fromkeys((response_model, endpoint.model))
        if model
        and (price := prices.find_price(model, endpoint.provider, usage, base_url=base_url))
    ]
    return min(found, key=lambda price: price.of_base_model, default=None)


def _answer_attributes(attempt: Attempt, read: Read) -> dict[str, JsonValue]:
    usage = read.usage
    values: dict[str, JsonValue] = {
        "http.response.status_code": attempt.status,
        "gen_ai.response.id": read.response_id,
        "gen_ai.response.model": read.response_model,
        "gen_ai.response.finish_reasons": list(read.finish_reasons) or None,
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
        "gen_ai.embeddings.dimension.count": read.dimensions,
    }
    request_id = attempt.headers.get("x-request-id")
    if request_id:
        values["treadle.gateway.provider_request_id"] = request_id
    return {name: value for name, value in values.items() if value is not None}


def _estimates(given: str | None, read: Read) -> dict[str, JsonValue]:
    """Attributes with estimates of the tokens that a cut answer does not state.

    The tokens of the span itself stay unknown, so that sums contain only exact counts.
    """
    values: dict[str, JsonValue] = {}
    if read.usage.input is None:
        values["treadle.estimate.input_tokens"] = estimate(given or "")
    if read.usage.output is None:
        values["treadle.estimate.output_tokens"] = estimate(read.output or "")
    return values


def _used(span: Span, attempt: Attempt, read: Read) -> Used:
    """The tokens and the cost of an attempt.

    Tokens that the provider does not report are estimated from the texts or from their size.
    """
    succeeded = attempt.status is not None and attempt.status < 400
    answered = succeeded and (read.output is not None or read.unreadable)
    if span.status is SpanStatus.ERROR and span.tokens.input is None and not answered:
        return Used()
    given, generated = span.tokens.input, span.tokens.output
    if given is None or generated is None:
        given = estimate(span.input or "") if given is None else given
        if generated is None:
            generated = attempt.size // 4 if read.unreadable else estimate(span.output or "")
    cost = span.cost
    if cost is None:
        price = _price(attempt.endpoint, span.model, Usage(input=given, output=generated))
        cost = price.dollars if price is not None else 0.0
    return Used(given + generated, cost)


def _without(span: Span, key: str | None) -> Span:
    """Remove the client's API key from all texts of a span."""
    if not key:
        return span

    def clean(text: str | None) -> str | None:
        return None if text is None else without_key(text, key)

    return replace(
        span,
        name=without_key(span.name, key),
        model=clean(span.model),
        input=clean(span.input),
        output=clean(span.output),
        error=clean(span.error),
        thread_id=clean(span.thread_id),
        run_id=clean(span.run_id),
        user=clean(span.user),
        release=clean(span.release),
        metadata={
            name: without_key(value, key) if isinstance(value, str) else value
            for name, value in span.metadata.items()
        },
        labels=tuple(without_key(label, key) for label in span.labels),
        attributes={
            name: without_key(value, key) if isinstance(value, str) else value
            for name, value in span.attributes.items()
        },
    )
