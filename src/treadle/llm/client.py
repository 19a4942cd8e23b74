"""A chat model behind an OpenAI-compatible HTTP address.

The model retries failed requests. From refusals it learns the quirks of its server, which are
deviations from the protocol.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from treadle import secrets
from treadle.clock import Clock, SystemClock
from treadle.ids import IdSource, new_id
from treadle.llm import prices, provider_errors, wire
from treadle.llm.chat_model import ModelObserver, WatchedObserver, attempt
from treadle.llm.endpoint import Endpoint
from treadle.llm.http_limits import HEADERS, AnswerRefusedError, limit_arguments
from treadle.llm.messages import ChatRequest, ModelReply
from treadle.llm.provider_errors import FaultKind, ProviderError
from treadle.llm.quirks import LearnedQuirks
from treadle.llm.reply_assembler import DeltaAssembler
from treadle.llm.reply_stream import IdleWatchdog, ReplyReader
from treadle.llm.valid_history import Dialect

if TYPE_CHECKING:
    import openai


DEFAULT_CONTEXT_WINDOW = 128_000
"""The context window in tokens of a model, if no source states it.

The sources are the settings, the server and the price data.
"""

_WHOLE_REPLY_FACTOR = 10
"""A reply without streaming may take this many times the setting `idle_timeout`.

The server sends no data before such a reply is complete, so the normal limit would be too short.
"""

_NO_KEY = "no-key"
"""The API key for servers that need none, because the client library requires a key."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """The waits before retries, which double from `first` to at most `limit` seconds.

    A random part of up to half the wait is subtracted, so that many clients do not retry at the
    same time. If the server requests a wait (`Retry-After`, limited to `RETRY_AFTER_LIMIT`), that
    wait is used instead.
    """

    first: float = 1.0
    limit: float = 30.0
    source: random.Random = field(default_factory=random.Random)

    def delay(self, retry: int, error: ProviderError) -> float:
        """Return the seconds to wait before a retry. The number `retry` counts from 1."""
        if error.retry_after is not None:
            return error.retry_after
        longest = min(self.limit, self.first * 2.0 ** min(retry - 1, 16))
        return longest * (1.0 - self.source.random() / 2)


class HttpChatModel:
    """A `ChatModel` behind an OpenAI-compatible address, with or without streaming."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        context_window: int = DEFAULT_CONTEXT_WINDOW,
        clock: Clock | None = None,
        ids: IdSource = new_id,
        backoff: Backoff | None = None,
        kept: LearnedQuirks | None = None,
        find_image_support: Callable[[], Awaitable[bool | None]] | None = None,
    ) -> None:
        """Create a model.

        The models of a process share `kept`, so that each quirk is learned only once.
        `find_image_support` asks the provider whether the model takes images. It is called at most
        once, when a message has images.
        """
        self._endpoint = endpoint
        self._context_window = context_window
        self._clock = clock or SystemClock()
        self._ids = ids
        self._backoff = backoff or Backoff()
        self._kept = kept or LearnedQuirks()
        self._quirks = self._kept.of(endpoint)
        self._find_image_support = find_image_support
        self._takes_images: bool | None = None
        self._client: openai.AsyncOpenAI | None = None
        if endpoint.api_key:
            secrets.register(endpoint.api_key)

    @property
    def provider(self) -> str:
        return self._endpoint.provider

    @property
    def model(self) -> str:
        return self._endpoint.model

    @property
    def context_window(self) -> int:
        return self._context_window

    @property
    def callable_tools(self) -> None:
        return None

    async def takes_images(self) -> bool | None:
        find, self._find_image_support = self._find_image_support, None
        if find is not None and self._takes_images is None:
            self._takes_images = await find()
        return self._takes_images

    async def complete(self, request: ChatRequest, observer: ModelObserver) -> ModelReply:
        """See `ChatModel.complete`. Retries only while no part of the reply was shown."""
        number, retries = 1, 0
        settings = self._endpoint.settings
        while True:
            watched = WatchedObserver(observer)
            payload = self._payload(request)
            try:
                return await self._attempt(payload, request, watched, number)
            except ProviderError as error:
                if error.kind is FaultKind.NO_IMAGES:
                    self._takes_images = False  # later prompts have no images
                if watched.shown:
                    raise
                change = self._quirks.learn(
                    error,
                    payload,
                    lambda: self._payload(request),
                    strict=settings.tools_fallback == "strict",
                )
                if change:
                    self._kept.keep(self._endpoint, self._quirks)
                    await observer.fallback_applied(error.message, change)
                else:
                    if not error.retryable or retries >= settings.max_retries:
                        raise
                    retries += 1
                    delay = self._backoff.delay(retries, error)
                    await observer.retry_scheduled(number + 1, delay, error.message)
                    await self._clock.sleep(delay)
            number += 1

    async def prepare(self) -> None:
        """Load the client library in advance, because loading takes seconds."""
        await self._connected()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _attempt(
        self,
        payload: dict[str, Any],
        request: ChatRequest,
        watched: WatchedObserver,
        number: int,
    ) -> ModelReply:
        async with attempt(
            watched,
            number=number,
            messages=payload["messages"],
            tools=len(payload.get("tools", ())),
            clock=self._clock,
            ids=self._ids,
        ) as made:
            made.reply = reply = await self._ask(payload, request, watched)
        return reply

    def _payload(self, request: ChatRequest) -> dict[str, Any]:
        """Return the body of the request in wire format."""
        settings, quirks = self._endpoint.settings, self._quirks
        dialect = Dialect(self.provider, self.model, quirks.strictness)
        offers_tools = bool(request.tools) and quirks.strictness.tools
        payload: dict[str, Any] = {
            "model": self.model,
            "messages": (
                wire.encode(request.messages, dialect)
                if offers_tools
                else wire.encode_flat(request.messages, dialect)
            ),
            "stream": request.stream,
        }
        if request.stream and quirks.stream_options:
            payload["stream_options"] = {"include_usage": True}
        if offers_tools:
            payload["tools"] = wire.encode_tools(request.tools)
        if settings.preferences and (offers_tools or settings.send_preferences == "always"):
            payload["provider"] = settings.preferences
        limit = request.max_output_tokens or settings.max_output_tokens
        if limit is not None:
            payload[quirks.limit_name] = limit
        if self.provider == "openrouter":
            payload["usage"] = {"include": True}
        return payload

    async def _ask(
        self, payload: dict[str, Any], request: ChatRequest, watched: WatchedObserver
    ) -> ModelReply:
        """Send the request and return the complete reply. Raises ProviderError."""
        limit = self._endpoint.settings.idle_timeout
        if not request.stream:
            limit *= _WHOLE_REPLY_FACTOR
        tools = frozenset(tool.name for tool in request.tools)
        assembler = DeltaAssembler(self._endpoint, turn=request.turn, tools=tools)
        await self._connected()  # loading the library must not count as silence

        async def waiting(seconds: float) -> None:
            text = f"{self.provider} still queues the request: no data for {seconds:.0f} s."
            await watched.waiting(seconds, text)

        watchdog = IdleWatchdog(limit, self._clock, waiting)
        started = self._clock.monotonic()
        first: float | None = None
        try:
            async with self._exchange(payload, watchdog) as response:
                reader = ReplyReader(self._endpoint, assembler, watchdog)
                async for shown in reader.read(response, streamed=request.stream):
                    first = first or self._clock.monotonic() - started
                    if shown.text:
                        await watched.delta(shown.text, reasoning=shown.reasoning)
        except TimeoutError as error:
            empty = watchdog.empty_seconds
            seconds = limit if empty is None else empty
            raise provider_errors.stalled(
                self._endpoint, seconds, empty=empty is not None
            ) from error
        reply = assembler.reply(done=reader.done)
        cost = reply.cost
        if cost is None:
            cost = await asyncio.to_thread(prices.cost, self._endpoint, reply.usage)
        return replace(reply, cost=cost, time_to_first_token=first)

    @asynccontextmanager
    async def _exchange(
        self, payload: dict[str, Any], watchdog: IdleWatchdog
    ) -> AsyncIterator[Any]:
        """Send the request, and yield the response when its headers have arrived.

        Raises ProviderError.
        """
        client = await self._connected()
        create = client.chat.completions.with_streaming_response.create
        # `extra_body` overrides the other arguments, so the real messages are only in `extra_body`.
        # The client library would validate messages in `messages` by their types. For a long
        # history, that takes most of the time of sending the request.
        manager = create(model=payload["model"], messages=[], extra_body=payload)
        async with calling(self._endpoint, self._clock):
            response = await watchdog.wait(manager.__aenter__())
            try:
                yield response
            finally:
                await manager.__aexit__(None, None, None)

    async def _connected(self) -> "openai.AsyncOpenAI":
        if self._client is None:
            self._client = await asyncio.to_thread(new_client, self._endpoint)
        return self._client


@asynccontextmanager
async def calling(endpoint: Endpoint, clock: Clock) -> AsyncIterator[None]:
    """Converts exceptions of the client library inside the block to ProviderError."""
    import httpx2
    import openai

    try:
        yield
    except AnswerRefusedError as error:
        raise provider_errors.protocol(endpoint, str(error)) from error
    except openai.APIStatusError as error:
        body = error.body if error.body is not None else error.response.text
        now = clock.now_us() / 1e6
        raise provider_errors.from_response(
            endpoint, error.status_code, body, error.response.headers, now
        ) from error
    except openai.APIConnectionError as error:
        if isinstance(error.__cause__, AnswerRefusedError):
            raise provider_errors.protocol(endpoint, str(error.__cause__)) from error
        raise provider_errors.unreachable(endpoint, _reason(error)) from error
    except httpx2.HTTPError as error:
        raise provider_errors.broken_off(endpoint, _reason(error)) from error


def new_client(endpoint: Endpoint) -> "openai.AsyncOpenAI":
    """Return an HTTP client for an endpoint. Call this in a thread, because it is slow.

    Most of the time is spent on importing the library and loading certificates. The client follows
    no redirects and limits the size of answers. It never retries, because `HttpChatModel` retries
    itself and reports each attempt. It uses no proxy for a server on this machine.
    """
    import openai

    # The client has no read timeout. The watchdog detects a silent server, since it can distinguish
    # comments of the event stream from data.
    timeout = openai.Timeout(None, connect=endpoint.settings.connect_timeout)
    return openai.AsyncOpenAI(
        base_url=endpoint.base_url,
        api_key=endpoint.api_key or _NO_KEY,
        max_retries=0,
        timeout=timeout,
        default_headers=HEADERS,
        http_client=openai.DefaultAsyncHttpxClient(
            timeout=timeout, trust_env=not endpoint.loopback, **limit_arguments()
        ),
    )


def _reason(error: BaseException) -> str:
    cause = error.__cause__ or error
    return str(cause).strip().rstrip(".") or type(cause).__name__
