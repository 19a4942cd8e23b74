"""Answers one call, including breakpoints, budgets, the cache, routing and retries."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treadle.clock import Clock
from treadle.config.gateway import GatewaySettings
from treadle.gateway.answer_cache import AnswerCache, Kept
from treadle.gateway.answers import UsageFilter, unpacked
from treadle.gateway.apis import Api, Operation
from treadle.gateway.attempts import Attempt, GatewayCall, Hold
from treadle.gateway.breakpoints import Breakpoints
from treadle.gateway.budgets import Budgets, planned_use
from treadle.gateway.media_answers import records_content
from treadle.gateway.media_filter import MediaFilter
from treadle.gateway.refusals import RefusalError
from treadle.gateway.request import Body, CallRequest, traceparent
from treadle.gateway.routing import Router
from treadle.gateway.uploads import SentUpload
from treadle.gateway.upstream import Upstream, authorization, fault, forwarded, returned
from treadle.llm import provider_errors
from treadle.llm.client import Backoff
from treadle.llm.endpoint import Endpoint
from treadle.llm.provider_errors import FaultKind, ProviderError
from treadle.secrets import remove_value

if TYPE_CHECKING:
    import aiohttp

RawHeaders = list[tuple[bytes, bytes]]

_ERROR_LIMIT = 4_000_000
"""The maximum size of an error answer in bytes. Further bytes are dropped."""

_LARGE = 200_000
"""A body with at least this many bytes is parsed and encoded in a thread."""

_FINAL = frozenset({FaultKind.BAD_REQUEST})
"""Failures that would occur at every other provider too."""


@dataclass(frozen=True, slots=True)
class Sink:
    """Receives an answer.

    `start` is called with the status and the headers. Then `send` is called with each part of the
    body, and with whether more parts follow.
    """

    start: Callable[[int, RawHeaders], Awaitable[None]]
    send: Callable[[bytes, bool], Awaitable[None]]


class CutError(Exception):
    """Raised when a provider's answer breaks off.

    The gateway then closes the connection to the client, so that the client notices.
    """


@dataclass(frozen=True, slots=True)
class Parts:
    """The objects that all calls of a gateway share."""

    settings: GatewaySettings
    upstream: Upstream
    router: Router
    breakpoints: Breakpoints
    budgets: Budgets
    cache: AnswerCache
    clock: Clock
    backoff: Backoff
    without_usage: set[tuple[str, str]]
    """The pairs of provider and model that refuse the option `stream_options`.

    The gateway adds this option to request the usage of a stream.
    """


@dataclass(frozen=True, slots=True)
class _Failure:
    """The error of a failed attempt, and an answer.

    The client gets the answer if no further attempt follows.
    """

    error: ProviderError
    status: int
    headers: RawHeaders
    content: bytes


class Exchange:
    """Answers one call, and records its attempts and its outcome in `call`."""

    def __init__(
        self, parts: Parts, call: GatewayCall, sink: Sink, left: Callable[[], bool]
    ) -> None:
        """Create the exchange. `left` reports whether the client has left."""
        self._parts = parts
        self._call = call
        self._sink = sink
        self._left = left
        self._cache_key: bytes | None = None

    async def run(self) -> None:
        """Answer the call.

        Raises RefusalError if the gateway refuses it, before anything is sent. Raises CutError if
        the answer breaks off after a part was sent.
        """
        await self._pass_breakpoints()
        call, parts = self._call, self._parts
        call.budgets = _budgets(call.request, parts.budgets)
        if call.spending is not None:
            _refuse_batch(call.request, "The limit of the key in dollars")
        await parts.budgets.check(call.budgets)
        self._cache_key = parts.cache.key(call.request)
        kept = parts.cache.get(self._cache_key) if self._cache_key is not None else None
        if kept is not None:
            await self._replay(kept)
            return
        plan = await parts.router.plan(call.request)
        call.route = plan.route
        spending = call.spending if _may_cost(call.request) else None
        if call.budgets or spending is not None:
            planned = await asyncio.to_thread(planned_use, call.request, plan.targets)
            call.reserved = await parts.budgets.reserve(call.budgets, planned)
            if spending is not None:
                await spending.reserve(planned)
        failure: _Failure | None = None
        for endpoint in plan.targets:
            failure = await self._ask(endpoint)
            if failure is None:
                return
            if failure.error.kind in _FINAL:
                break
        assert failure is not None  # a plan has at least one target
        await self._start(failure.status, failure.headers)
        await self._sink.send(failure.content, False)

    async def _pass_breakpoints(self) -> None:
        call, breakpoints = self._call, self._parts.breakpoints
        request = call.request
        found = (
            None
            if request.upload or request.target.method != "POST"
            else (breakpoints.matching(request))
        )
        if found is None:
            return
        begun, original = time.time_ns(), call.request.body.text
        decision = None
        try:
            decision = await breakpoints.hold(call.request, found, self._left)
        finally:
            held_id = decision.held.id if decision is not None else ""
            call.hold = Hold(
                breakpoint_id=found.id,
                held_id=held_id,
                start_ns=begun,
                end_ns=time.time_ns(),
                decision=decision.held.state.value if decision is not None else "cancelled",
                original=original if decision is not None and decision.content else None,
                reason=decision.held.reason if decision is not None else None,
            )
        if decision.refused:
            words = f" ({decision.held.reason})" if decision.held.reason else ""
            raise RefusalError(
                f"A breakpoint held the call, and it was refused{words}.",
                hint="/api/v1/breakpoints lists the held calls.",
                status=403,
                code="refused_at_breakpoint",
                headers={"x-should-retry": "false"},
            )
        if decision.content is not None:
            body = await read_body(decision.content)
            call.request = call.request.with_body(decision.content, body)

    async def _replay(self, answer: Kept) -> None:
        call = self._call
        endpoint = Endpoint(answer.provider, answer.model, "")
        attempt = call.new_attempt(endpoint, call.request.content)
        attempt.status, attempt.headers = 200, _to_text(answer.headers)
        call.cached = True
        try:
            await self._start(200, [*answer.headers, (b"x-treadle-cache", b"hit")])
            for block in answer.blocks:
                attempt.add(block)
                await self._sink.send(block, True)
            await self._sink.send(b"", False)
        except asyncio.CancelledError:
            attempt.interrupted = True
            raise
        finally:
            attempt.end()

    async def _ask(self, endpoint: Endpoint) -> _Failure | None:
        """Call one provider until it answers or its attempts are used up.

        Returns the last failure, or None if the call was answered.
        """
        parts, retry = self._parts, 0
        while True:
            asks_usage = self._asks_for_usage(endpoint)
            attempt = await self._new_attempt(endpoint, ask_for_usage=asks_usage)
            try:
                failure = await self._attempt(attempt, asks_usage=asks_usage)
            except asyncio.CancelledError:
                attempt.interrupted = True
                raise
            finally:
                attempt.end()
            if failure is None:
                return None
            if asks_usage and _refuses_usage(failure):
                parts.without_usage.add((endpoint.provider, endpoint.model))
                continue
            retry += 1
            error = failure.error
            if not error.retryable or retry > endpoint.settings.max_retries:
                return failure
            delay = parts.backoff.delay(retry, error)
            if delay > parts.settings.max_wait:
                return failure
            await parts.clock.sleep(delay)

    def _asks_for_usage(self, endpoint: Endpoint) -> bool:
        asks_for_usage = self._parts.settings.ask_for_usage and self._call.request.lacks_usage
        return (
            asks_for_usage and (endpoint.provider, endpoint.model) not in self._parts.without_usage
        )

    async def _new_attempt(self, endpoint: Endpoint, *, ask_for_usage: bool) -> Attempt:
        request = self._call.request
        body: bytes | SentUpload = request.content
        if request.upload is not None:
            body = request.upload.sent_with(endpoint.model if request.named_model else None)
            return self._call.new_attempt(endpoint, body)
        in_body = request.target.api is not Api.GEMINI  # Gemini has the model in the URL
        in_body = in_body and request.named_model is not None
        if ask_for_usage or (in_body and request.body.values.get("model") != endpoint.model):
            if len(request.content) < _LARGE:
                body = request.body.encode(endpoint.model, ask_for_usage=ask_for_usage)
            else:
                body = await asyncio.to_thread(
                    request.body.encode, endpoint.model, ask_for_usage=ask_for_usage
                )
        return self._call.new_attempt(endpoint, body)

    async def _attempt(self, attempt: Attempt, *, asks_usage: bool) -> _Failure | None:
        """Make one request and forward its answer.

        Returns None if the answer was forwarded, or else the failure.
        """
        request, endpoint = self._call.request, attempt.endpoint
        headers = forwarded(request.headers)
        if request.operation.passes_through:  # media in a compressed answer cannot be removed
            headers = [each for each in headers if each[0] != "accept-encoding"]
            headers.append(("accept-encoding", "identity"))
        headers += authorization(endpoint, request.key_header(endpoint.api_key))
        headers.append(self._parts.upstream.hops.onward())
        if request.context.parent_id is not None:
            headers.append(("traceparent", traceparent(request.context.trace_id, attempt.span_id)))
        try:
            response = await self._parts.upstream.send(
                endpoint,
                request.target.path_for(endpoint.model) + request.query,
                headers,
                attempt.body,
                stream=request.stream,
                method=request.target.method,
            )
        except ProviderError as error:
            return self._failed(attempt, error)
        try:
            attempt.status = response.status
            attempt.headers = _to_text(response.raw_headers)
            if 300 <= response.status < 400:
                return self._failed(attempt, self._redirected(attempt))
            if response.status >= 400:
                return await self._refused(attempt, response)
            await self._pass_on(attempt, response, filtered=asks_usage)
            return None
        finally:
            if not response.closed:
                response.close()  # also if the client left, so that the provider stops

    def _redirected(self, attempt: Attempt) -> ProviderError:
        """Refuse a redirect. Most clients would follow it and send the prompt to another host."""
        assert attempt.status is not None  # the head of the answer has arrived
        return provider_errors.from_response(
            attempt.endpoint, attempt.status, "", attempt.headers, 0.0
        )

    def _failed(self, attempt: Attempt, error: ProviderError) -> _Failure:
        """The failure of an attempt without a usable answer.

        For example, the provider is unreachable, or the connection broke before the answer began.
        """
        attempt.error, attempt.error_type = error.message, error.kind.value
        refusal = RefusalError(
            error.message,
            hint=error.hint or "Try again later.",
            status=504 if error.kind in {FaultKind.STALLED, FaultKind.TIMEOUT} else 502,
            code=error.kind.value,
        )
        content = refusal.body(self._call.request.target.api)
        return _Failure(error, refusal.status, json_headers(content), content)

    async def _refused(self, attempt: Attempt, response: "aiohttp.ClientResponse") -> _Failure:
        """The failure of a provider that answers with an error.

        The client gets this error if no further attempt follows. The error is unchanged, except
        that the provider's API key is removed, since some errors quote the key.
        """
        endpoint = attempt.endpoint
        idle = endpoint.settings.idle_timeout
        blocks, size = [], 0
        try:
            async with asyncio.timeout(idle):  # for the whole read: parts may arrive forever
                async for block in response.content.iter_any():
                    size += len(block)
                    if size > _ERROR_LIMIT:
                        break
                    attempt.add(block)
                    blocks.append(block)
        except TimeoutError:
            late = f"its error {response.status} did not end within {idle:g} s"
            return self._failed(attempt, provider_errors.broken_off(endpoint, late))
        except Exception as cut:  # noqa: BLE001  (aiohttp raises several errors here)
            return self._failed(attempt, fault(endpoint, cut, idle))
        content, encoded = b"".join(blocks), _is_compressed(attempt)
        if endpoint.api_key:
            plain = unpacked(content, attempt.headers.get("content-encoding", ""), _ERROR_LIMIT)
            if plain is not None:
                text = plain.decode("utf-8", "surrogateescape")
                content = remove_value(text, endpoint.api_key).encode("utf-8", "surrogateescape")
                encoded = False
        now = self._parts.clock.now_us() / 1e6
        error = provider_errors.from_response(
            endpoint, response.status, _read_json(content), attempt.headers, now
        )
        # A long error is cut. Therefore the length is the number of the remaining bytes.
        headers = returned(response.raw_headers, measured=False, encoded=encoded)
        headers.append((b"content-length", str(len(content)).encode()))
        return _Failure(error, response.status, headers, content)

    async def _pass_on(
        self, attempt: Attempt, response: "aiohttp.ClientResponse", *, filtered: bool
    ) -> None:
        """Forward the parts as they arrive. Raises CutError when the answer breaks off."""
        event_stream = "event-stream" in attempt.headers.get("content-type", "").lower()
        filtering = (
            UsageFilter() if filtered and event_stream and not _is_compressed(attempt) else None
        )
        headers = returned(response.raw_headers, measured=filtering is None)
        blocks: list[bytes] = []
        left = self._parts.cache.most_bytes
        cacheable = self._cache_key is not None and response.status == 200
        if self._cache_key is not None:
            headers.append((b"x-treadle-cache", b"miss"))
        await self._start(response.status, headers)
        try:
            recorded = _recorded_part(self._call.request, attempt)
            async for block in response.content.iter_any():
                attempt.add(block, recorded(block))
                shown = block if filtering is None else filtering.feed(block)
                if shown:
                    left -= len(shown)
                    if cacheable and left >= 0:
                        blocks.append(shown)
                    else:
                        cacheable = False
                        blocks.clear()
                    await self._sink.send(shown, True)
        except Exception as cut:
            failed = fault(attempt.endpoint, cut, attempt.endpoint.settings.idle_timeout)
            attempt.error, attempt.error_type = failed.message, failed.kind.value
            raise CutError from cut
        rest = filtering.end() if filtering is not None else b""
        await self._sink.send(rest, False)
        if cacheable and self._cache_key is not None:
            plain = tuple(header for header in headers if header[0] != b"x-treadle-cache")
            whole = (*blocks, rest) if rest else tuple(blocks)
            endpoint = attempt.endpoint
            kept = Kept(plain, whole, endpoint.provider, endpoint.model)
            self._parts.cache.add(self._cache_key, kept)

    async def _start(self, status: int, headers: RawHeaders) -> None:
        """Send the status and the headers.

        The gateway adds headers that describe the call, such as the id of its span.
        """
        call = self._call
        call.reported_span = call.shown_span
        if call.attempts and (key := call.attempts[-1].endpoint.api_key):
            headers = [
                (name, remove_value(value.decode("latin-1"), key).encode("latin-1"))
                for name, value in headers
            ]
        own = {"x-trace-id": call.request.context.trace_id, "x-span-id": call.reported_span}
        if call.route is not None:
            own["x-treadle-route"] = call.route
        if call.route is not None or len(call.attempts) > 1:
            endpoint = call.attempts[-1].endpoint
            own["x-treadle-model"] = f"{endpoint.provider}/{endpoint.model}"
        if len(call.attempts) > 1:
            own["x-treadle-attempts"] = str(len(call.attempts))
        if call.hold is not None:
            own["x-treadle-held"] = call.hold.decision
        await self._sink.start(status, [*headers, *encoded(own)])


def _recorded_part(request: CallRequest, attempt: Attempt) -> Callable[[bytes], bytes | None]:
    """Return a function that removes media from a part of the answer before it is recorded."""
    if not request.operation.passes_through:
        return lambda _: None
    kinds = (attempt.headers.get(name, "") for name in ("content-type", "content-encoding"))
    if request.target.path.endswith("/content") or not records_content(*kinds):
        return lambda _: b""
    return MediaFilter().feed


def _budgets(request: CallRequest, budgets: Budgets) -> tuple[str, ...]:
    """The budgets that count a call."""
    if not _may_cost(request):
        return ()
    names = budgets.covering(request)
    if names:
        _refuse_batch(request, f"The budget {names[0]!r}")
    return names


def _may_cost(request: CallRequest) -> bool:
    """Whether a call may cost something. Calls about files and requests for results are free."""
    return request.target.method == "POST" and request.operation is not Operation.FILES


def _refuse_batch(request: CallRequest, counter: str) -> None:
    """Raise RefusalError if a call starts a batch, whose cost the limit `counter` cannot count."""
    if request.operation is Operation.BATCHES and request.target.path == "/batches":
        raise RefusalError(
            f"{counter} cannot count a batch, whose calls are made later.",
            hint="Send the calls one by one, or start the batch without the gateway.",
            status=403,
            code="batch_uncounted",
            headers={"x-should-retry": "false"},
        )


async def read_body(content: bytes) -> Body:
    """Parse a body. A large body is parsed in a thread. Raises RefusalError for an invalid body."""
    if len(content) < _LARGE:
        return Body.read(content)
    return await asyncio.to_thread(Body.read, content)


def json_headers(content: bytes) -> RawHeaders:
    """The headers of a JSON answer that the gateway itself generates."""
    return [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
    ]


def encoded(headers: Mapping[str, str]) -> RawHeaders:
    """Encode headers for HTTP. Characters that a header cannot contain are replaced."""
    return [
        (name.encode("ascii"), "".join(c if c.isprintable() else "?" for c in value).encode())
        for name, value in headers.items()
    ]


def _to_text(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}


def _is_compressed(attempt: Attempt) -> bool:
    return attempt.headers.get("content-encoding", "").lower() not in {"", "identity"}


def _refuses_usage(failure: _Failure) -> bool:
    """Whether a provider refuses `stream_options`, which the gateway added to request the usage."""
    return failure.status in (400, 422) and b"stream_options" in failure.content


def _read_json(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return content.decode("utf-8", "replace")
