"""The gateway, which is an ASGI application.

It uses no framework, because FastAPI takes more time for one request than the whole gateway.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qsl, unquote_plus

from treadle.clock import Clock, SystemClock
from treadle.config.model import Settings
from treadle.config.quantities import size_bytes
from treadle.database import StoreAddress
from treadle.errors import TreadleError, UsageError
from treadle.events import EventBus
from treadle.events.types import Notice
from treadle.gateway.answer_cache import AnswerCache
from treadle.gateway.apis import Api, Operation, Target, api_of, find_target
from treadle.gateway.attempts import GatewayCall
from treadle.gateway.breakpoints import Breakpoints
from treadle.gateway.budgets import Budgets, Used, sums_of
from treadle.gateway.call_recorder import CallRecorder
from treadle.gateway.exchange import (
    CutError,
    Exchange,
    Parts,
    RawHeaders,
    Sink,
    encoded,
    json_headers,
    read_body,
)
from treadle.gateway.key_spending import KeySpending
from treadle.gateway.measures import GatewayMeasures
from treadle.gateway.models import EmbeddedServer, Models, as_list
from treadle.gateway.refusals import RefusalError
from treadle.gateway.request import Body, CallRequest, read_context
from treadle.gateway.routing import Router
from treadle.gateway.uploads import Upload
from treadle.gateway.upstream import Upstream
from treadle.ids import NO_REQUEST
from treadle.llm.client import Backoff
from treadle.llm.embedded import MODEL_NAME
from treadle.llm.profiles import EMBEDDED
from treadle.spans.span import NO_ATTRIBUTES, Attributes
from treadle.traces import TraceStore

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


_CHAT = Target(Operation.CHAT, "/chat/completions")
_SERVED = {
    Api.OPENAI: "GET /v1/models, POST /v1/chat/completions, /v1/responses, /v1/embeddings, or a "
    "path below /v1/images, /v1/audio, /v1/moderations, /v1/files or /v1/batches",
    Api.ANTHROPIC: "POST /v1/messages or /v1/messages/count_tokens",
    Api.GEMINI: "POST /v1beta/models/MODEL:generateContent or MODEL:streamGenerateContent",
}
"""The paths that a client of each API can use."""


@dataclass(frozen=True, slots=True)
class Health:
    """The number of calls since the start, and the number of calls that were not recorded.

    `reason` is the reason for the first call that was not recorded, or None.
    """

    calls: int
    unrecorded: int
    reason: str | None


class Gateway:
    """Serves the paths below `/v1/`, `/v1beta/` and `/v1alpha/`.

    Callers create a gateway with the method `open`.
    """

    def __init__(self, parts: Parts, models: Models, recorder: CallRecorder) -> None:
        self._parts = parts
        self._models = models
        self._recorder = recorder
        self._max_body = size_bytes(parts.settings.max_body)
        self._calls = 0

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        env: Mapping[str, str],
        *,
        store: TraceStore | None,
        why_not: str | None = None,
        bus: EventBus,
        breakpoints: StoreAddress,
        recorder_id: Attributes = NO_ATTRIBUTES,
        clock: Clock | None = None,
        measures: GatewayMeasures | None = None,
    ) -> AsyncIterator[Self]:
        """Open all parts of the gateway. Without a `store`, nothing is recorded.

        `why_not` is the reason why there is no store. `recorder_id` is added to the resource of
        the recorded spans (`traces.interruptions`). `measures` counts the calls.
        """
        clock = clock or SystemClock()
        loop = asyncio.get_running_loop()
        own = settings.gateway
        background: set[asyncio.Future[None]] = set()

        def publish(level: str, text: str) -> None:
            task = loop.create_task(
                bus.publish(Notice(request_id=NO_REQUEST, level=level, text=text))
            )
            background.add(task)
            task.add_done_callback(background.discard)

        sums = sums_of(store) if store is not None else None
        budgets = Budgets(own.budgets, env, sums, clock)

        def settle(call: GatewayCall, amount: Used | None) -> None:
            budgets.settle(call.budgets, call.reserved, amount)
            if call.spending is not None:
                task = loop.create_task(call.spending.settle(amount))
                background.add(task)
                task.add_done_callback(background.discard)

        def used(call: GatewayCall, amount: Used | None) -> None:
            loop.call_soon_threadsafe(settle, call, amount)

        def lost(reason: str) -> None:
            text = f"Calls through the gateway cannot be recorded: {reason}"
            loop.call_soon_threadsafe(publish, "warning", text)

        recorder = CallRecorder(
            store, why_not=why_not, used=used, lost=lost, recorder=recorder_id, measures=measures
        )
        holding = Breakpoints(
            breakpoints, own.breakpoints, clock, tell=lambda text: publish("info", text)
        )
        async with AsyncExitStack() as stack:
            upstream = await stack.enter_async_context(Upstream())
            embedded = EmbeddedServer()
            stack.push_async_callback(embedded.close)
            models = Models(settings, env, upstream, clock, embedded)
            parts = Parts(
                settings=own,
                upstream=upstream,
                router=Router(settings, env, models, embedded=embedded),
                breakpoints=await stack.enter_async_context(holding),
                budgets=budgets,
                cache=AnswerCache(own.cache, clock, key_headers=_key_headers(settings)),
                clock=clock,
                backoff=Backoff(),
                without_usage=set(),
            )
            yield cls(parts, models, await stack.enter_async_context(recorder))
        await asyncio.sleep(0)  # starts the tasks of `settle` that the recorder has scheduled
        await asyncio.gather(*background, return_exceptions=True)

    @property
    def breakpoints(self) -> Breakpoints:
        """The breakpoints and their held calls."""
        return self._parts.breakpoints

    @property
    def budgets(self) -> Budgets:
        return self._parts.budgets

    async def refusal(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
        """A sentence that states why a chat request would be refused, and what to do.

        The result is None if the request would not be refused. This check sends nothing to a model,
        but may request the model lists of providers.
        """
        content = json.dumps(body).encode("ascii")
        request = CallRequest(
            _CHAT,
            content,
            Body.read(content),
            tuple(headers.items()),
            "",
            read_context(headers),
        )
        names = (EMBEDDED, MODEL_NAME, f"{EMBEDDED}/{MODEL_NAME}")
        if request.model in names and EmbeddedServer().models:
            return None  # planning the call would start the embedded model
        try:
            targets = (await self._parts.router.plan(request)).targets
        except RefusalError as error:
            missing_key = error.code == "missing_key"
            hint = error.hint if missing_key else "Configure its provider, or choose another model."
            return f"{error.message} {hint} {await self._available(request.model)}"
        lacking = [each for each in targets if await self._models.lacks(each.provider, each.model)]
        if len(lacking) < len(targets):
            return None
        provider, model = lacking[0].provider, lacking[0].model
        return (
            f"The provider {provider} does not list a model {model[:100]!r}. Choose another "
            f"model. {await self._available(request.model)}"
        )

    async def _available(self, model: str) -> str:
        similar = await self._models.similar(model)
        if not similar:
            return "No model is available: configure a provider or set its key."
        return f"Available here: {', '.join(similar)}."

    def health(self) -> Health:
        """The number of calls since the start, and the number of calls that were not recorded."""
        loss = self._recorder.loss
        if loss is None:
            return Health(self._calls, 0, None)
        return Health(self._calls, loss.count, loss.reason)

    async def __call__(
        self,
        scope: Message,
        receive: Receive,
        send: Send,
        spending: KeySpending | None = None,
    ) -> None:
        """Answer one request to a path that the gateway serves (`apis.PATHS`).

        `spending` counts the cost of the request for the limits of an API key.
        """
        try:
            self._parts.upstream.hops.check(scope["headers"])
        except RefusalError as loop:
            await _refuse(send, loop)
            return
        path = str(scope["path"]).removeprefix("/v1")
        target = find_target(scope["method"], scope["path"])
        if target is not None:
            await self._call(target, scope, receive, send, spending)
        elif scope["method"] == "GET" and (path == "/models" or path.startswith("/models/")):
            await self._list(path.removeprefix("/models").removeprefix("/"), send)
        else:
            api = api_of(scope["path"])
            error = RefusalError(
                f"There is no {scope['method']} {scope['path']}.",
                hint=f"Use {_SERVED[api]}.",
                status=404,
                code="not_found",
            )
            await _refuse(send, error, api)

    async def _call(
        self,
        target: Target,
        scope: Message,
        receive: Receive,
        send: Send,
        spending: KeySpending | None,
    ) -> None:
        headers = _headers(scope)
        upload: Upload | None = None
        try:
            is_json = target.method == "POST" and _is_json(headers)
            if target.operation.passes_through and not is_json:
                upload = Upload(dict(headers).get("content-type", ""))
            await self._record(target, headers, upload, scope, receive, send, spending)
        except RefusalError as error:  # before the call began
            await _refuse(send, error, target.api)
        finally:
            if upload is not None:
                upload.close()

    async def _record(  # noqa: PLR0917  (a call needs these)
        self,
        target: Target,
        headers: tuple[tuple[str, str], ...],
        upload: Upload | None,
        scope: Message,
        receive: Receive,
        send: Send,
        spending: KeySpending | None,
    ) -> None:
        """Answer and record a call. Raises RefusalError if its body is invalid."""
        start_ns = time.time_ns()
        blocks: list[bytes] = []
        if not await self._read(receive, blocks.append if upload is None else upload.write):
            return  # the client has left
        _refuse_encoded(headers)
        content = b"".join(blocks)
        if upload is not None:
            body = Body("", upload.values, (), 0)
        else:
            body = await read_body(content)
        by_name = dict(headers)
        request = CallRequest(
            target,
            content,
            body,
            headers,
            _query(scope),
            read_context(by_name, body.values),
            _key(by_name) or _key_in_query(scope),
            upload,
        )
        self._calls += 1
        call = GatewayCall(request, start_ns, spending=spending)
        client = _Client(receive, send)
        self._recorder.begin(call)
        try:
            await self._answer(call, client)
        finally:
            call.end_ns = time.time_ns()
            self._recorder.record(call)

    async def _answer(self, call: GatewayCall, client: "_Client") -> None:
        """Answer a call. If its client leaves, stop."""
        exchange = Exchange(self._parts, call, Sink(client.start, client.block), client.has_left)
        client.watch()
        try:
            await exchange.run()
        except RefusalError as error:
            call.refusal = error.status, error.code, error.message
            ids = {"x-trace-id": call.request.context.trace_id, "x-span-id": call.shown_span}
            await _refuse(client.send, error, call.request.target.api, ids)
        except CutError:
            return  # the body stays incomplete, so the server closes the connection
        except asyncio.CancelledError:
            if not client.has_left():
                raise
            task = asyncio.current_task()
            assert task is not None  # this code always runs in a task
            task.uncancel()
        except Exception as error:  # a bug in the gateway; the call is recorded with this error
            call.refusal = 500, "internal_error", f"Unexpected {type(error).__name__}."
            raise
        finally:
            client.unwatch()

    async def _read(self, receive: Receive, keep: Callable[[bytes], object]) -> bool:
        """Pass each part of the body to `keep`.

        Returns false when the client left before the body was complete.
        """
        size = 0
        while True:
            try:
                message = await receive()
            except UsageError:  # the body exceeds the limit of the server
                size = self._max_body + 1
                break
            if message["type"] == "http.disconnect":
                return False
            block = message.get("body", b"")
            size += len(block)
            if size <= self._max_body:
                keep(block)
            if not message.get("more_body", False):
                break
        if size > self._max_body:
            raise RefusalError(
                f"The body is larger than {self._max_body:,} bytes.",
                hint="Send a smaller request, or raise gateway.max_body.",
                status=413,
                code="body_too_large",
            )
        return True

    async def _list(self, model_id: str, send: Send) -> None:
        try:
            listed = as_list(await self._models.list_providers(), self._parts.settings.routes)
        except TreadleError as error:
            hint = error.hint or "Check the server's configuration."
            refusal = RefusalError(error.message, hint=hint, status=500, code="configuration")
            await _refuse(send, refusal)
            return
        answer: object = listed
        if model_id:
            data: Any = listed["data"]
            answer = next((entry for entry in data if entry["id"] == model_id), None)
            if answer is None:
                refusal = RefusalError(
                    f"There is no model {model_id[:100]!r}.",
                    hint="GET /v1/models lists the models.",
                    status=404,
                    code="model_not_found",
                    param="model",
                )
                await _refuse(send, refusal)
                return
        content = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
        await _send(send, 200, json_headers(content), content)


class _Client:
    """Sends to the client of one call, and detects whether the client has left."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self.send = send
        self._left = False
        self._watching: asyncio.Task[None] | None = None

    def watch(self) -> None:
        """Cancel the current task when the client leaves."""
        task = asyncio.current_task()
        assert task is not None  # only a task calls this
        self._watching = asyncio.create_task(self._watch(task))

    def unwatch(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    def has_left(self) -> bool:
        return self._left

    async def start(self, status: int, headers: RawHeaders) -> None:
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def block(self, content: bytes, more: bool) -> None:
        await self.send({"type": "http.response.body", "body": content, "more_body": more})

    async def _watch(self, task: "asyncio.Task[Any]") -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._left = True
        task.cancel()


async def _refuse(
    send: Send,
    error: RefusalError,
    api: Api = Api.OPENAI,
    more: Mapping[str, str] | None = None,
) -> None:
    content = error.body(api)
    headers = [*json_headers(content), *encoded({**error.headers, **(more or {})})]
    await _send(send, error.status, headers, content)


async def _send(send: Send, status: int, headers: RawHeaders, content: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content, "more_body": False})


def _headers(scope: Message) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), _text(value)) for name, value in scope["headers"])


def _refuse_encoded(headers: tuple[tuple[str, str], ...]) -> None:
    if any(name == "content-encoding" and value != "identity" for name, value in headers):
        raise RefusalError(
            "Compressed requests are not supported.",
            hint="Send it without Content-Encoding.",
            status=415,
            code="unsupported_encoding",
        )


def _is_json(headers: tuple[tuple[str, str], ...]) -> bool:
    return any(name == "content-type" and "json" in value.lower() for name, value in headers)


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


_KEY_NAMES = frozenset({"key", "api_key", "api-key"})
"""The parameters of a URL in which clients send their API key.

Only Gemini's API defines such a parameter: `key`.
"""


def _query(scope: Message) -> str:
    """The query of the URL with its question mark, without keys and tokens."""
    query = scope["query_string"].decode("latin-1")
    kept = [part for part in query.split("&") if part and _name(part) not in _KEY_NAMES | {"token"}]
    return f"?{'&'.join(kept)}" if kept else ""


def _name(part: str) -> str:
    return unquote_plus(part.partition("=")[0]).lower()


def _key_in_query(scope: Message) -> str | None:
    """The client's own API key in the query of the URL, or None."""
    values = parse_qsl(scope["query_string"].decode("latin-1"))
    return next((value for name, value in values if name.lower() in _KEY_NAMES), None)


def _key(headers: Mapping[str, str]) -> str | None:
    """The client's own API key, or None."""
    scheme, space, key = headers.get("authorization", "").partition(" ")
    if not space:  # some clients omit the scheme
        key = scheme
    elif scheme.lower() != "bearer":
        key = ""
    key = key.strip()
    names = ("api-key", *(api.key_header for api in (Api.ANTHROPIC, Api.GEMINI)))
    others = (headers.get(name, "").strip() for name in names)
    return key or next(filter(None, others), None)


def _key_headers(settings: Settings) -> frozenset[str]:
    """The names of the headers that affect the route of a call."""
    routes = settings.gateway.routes.values()
    return frozenset(header.lower() for route in routes for header in route.headers)
