"""Calls of experiments through the gateway, so that each is answered and recorded as any other."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from treadle.app.recording import Recording
from treadle.app.stores import breakpoints_path
from treadle.clock import Clock, wait_within
from treadle.config.model import Settings
from treadle.errors import NotFoundError, StoreError
from treadle.events import EventBus
from treadle.experiments.calling import CallRequest
from treadle.experiments.model import Outcome
from treadle.experiments.reading import outcome_of
from treadle.spans.span import Span
from treadle.traces import SqliteTraceStore

if TYPE_CHECKING:
    from treadle.gateway import Gateway

_RECORD_SECONDS = 20.0
"""How long the record of a call is waited for; it is there in a tenth of a second."""
_LOOK_SECONDS = 0.03
_PATH = "/v1/chat/completions"


class GatewayCaller:
    """Asks models through the gateway: the one that is lent, else one of its own.

    Its own one is opened with the first call, in this process, on the same record.
    """

    def __init__(
        self,
        recording: Recording,
        settings: Settings,
        env: Mapping[str, str],
        bus: EventBus,
        clock: Clock,
    ) -> None:
        self._recording = recording
        self._settings = settings
        self._env = env
        self._bus = bus
        self._clock = clock
        self._lent: Gateway | None = None
        self._own: Gateway | None = None
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()

    @contextmanager
    def lent(self, gateway: "Gateway") -> Iterator[None]:
        """Meanwhile go through that gateway: it counts budgets and holds calls for all alike."""
        self._lent = gateway
        try:
            yield
        finally:
            self._lent = None

    async def close(self) -> None:
        """Let go of its own gateway; what was asked is on disk then."""
        await self._stack.aclose()

    async def call(self, request: CallRequest) -> Outcome:
        """See `Caller.call`."""
        store = self._store()
        exchange = _Exchange(request)
        gateway = await self._gateway()
        try:
            asking = gateway(exchange.scope, exchange.receive, exchange.send)
            await wait_within(asking, request.seconds, self._clock)
        except TimeoutError:
            return await self._out_of_time(request)
        trace_id = exchange.headers.get("x-trace-id")
        if trace_id is None:  # refused before it became a call
            return Outcome(trace_id="", span_id="", error=exchange.error(), error_type="refused")
        told = await self._awaited(lambda: _trace(store, trace_id))
        outcome = outcome_of(told)
        if outcome is None:
            raise StoreError("The call was made, but its record is missing.")
        return outcome

    async def refusal(self, request: CallRequest) -> str | None:
        """See `Caller.refusal`."""
        gateway = await self._gateway()
        return await gateway.refusal(request.body, _headers(request))

    async def recorded(self, run_id: str) -> Outcome | None:
        """See `Caller.recorded`."""
        tries = await asyncio.to_thread(_tries, self._store(), run_id)
        outcomes = [outcome for spans in tries if (outcome := outcome_of(spans)) is not None]
        return next((each for each in outcomes if each.error is None), None)

    async def _out_of_time(self, request: CallRequest) -> Outcome:
        store = self._store()
        told = await self._awaited(lambda: [s for t in _tries(store, request.run_id) for s in t])
        latest = [span for span in told if span.trace_id == told[-1].trace_id]
        outcome = outcome_of(latest) or Outcome(trace_id=latest[0].trace_id, span_id="")
        message = f"It took longer than {request.seconds:g} s."
        return replace(outcome, error=message, error_type="timeout")

    async def _awaited(self, read: Callable[[], list[Span]]) -> list[Span]:
        """What is recorded, as soon as it is. Raises StoreError where nothing comes."""
        until = self._clock.monotonic() + _RECORD_SECONDS
        while True:
            spans = await asyncio.to_thread(read)
            if spans:
                return spans
            if self._clock.monotonic() > until:
                raise StoreError(
                    "The call was made, but its record is missing.",
                    hint="`treadle doctor` reports whether calls can be recorded.",
                )
            await self._clock.sleep(_LOOK_SECONDS)

    def _store(self) -> SqliteTraceStore:
        if self._recording.store is None:
            raise StoreError(self._recording.missing or "Calls cannot be recorded.")
        return self._recording.store

    async def _gateway(self) -> "Gateway":
        if self._lent is not None:
            return self._lent
        async with self._lock:
            if self._own is None:
                from treadle.gateway import Gateway  # few commands need it

                self._own = await self._stack.enter_async_context(
                    Gateway.open(
                        self._settings,
                        self._env,
                        store=self._recording.store,
                        why_not=self._recording.missing,
                        bus=self._bus,
                        breakpoints_path=breakpoints_path(),
                        clock=self._clock,
                    )
                )
            return self._own


@dataclass(slots=True)
class _Exchange:
    """One call of the gateway as ASGI has it; what the answer says is read from its record."""

    request: CallRequest
    headers: dict[str, str] = field(default_factory=dict)
    _content: bytearray = field(default_factory=bytearray)
    _asked: bool = False

    @property
    def scope(self) -> dict[str, Any]:
        """Who asks for what, and where its span belongs."""
        headers = _headers(self.request).items()
        raw = [(name.encode("ascii"), value.encode("utf-8")) for name, value in headers]
        return {"type": "http", "method": "POST", "path": _PATH, "query_string": b"",
                "headers": raw}  # fmt: skip

    async def receive(self) -> dict[str, Any]:
        """The body, then nothing: this client stays until it is answered."""
        if self._asked:
            await asyncio.Event().wait()
        self._asked = True
        body = json.dumps(self.request.body).encode("ascii")
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.headers = {
                name.decode("latin-1"): value.decode("latin-1")
                for name, value in message["headers"]
            }
        elif "x-trace-id" not in self.headers:
            self._content += message.get("body", b"")

    def error(self) -> str:
        """The words of a refusal."""
        try:
            told = json.loads(bytes(self._content))["error"]["message"]
        except (ValueError, LookupError, TypeError):
            told = None
        return str(told) if told else "The gateway refused the call."


def _headers(request: CallRequest) -> dict[str, str]:
    return {
        "content-type": "application/json",
        "cache-control": "no-store",  # an answer that was kept says nothing of the model
        **{name.lower(): value for name, value in request.headers.items()},
        "x-thread-id": request.thread_id,
        "x-run-id": request.run_id,
        "x-label": ",".join(label.replace(",", " ") for label in request.labels),
    }


def _trace(store: SqliteTraceStore, trace_id: str) -> list[Span]:
    try:
        return list(store.trace(trace_id).spans)
    except NotFoundError:
        return []


def _tries(store: SqliteTraceStore, run_id: str) -> list[list[Span]]:
    """The spans of each try of a run, the latest last: each is a trace of its own."""
    try:
        spans = store.run(run_id).spans
    except NotFoundError:
        return []
    traces: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda each: each.start_us):
        traces.setdefault(span.trace_id, []).append(span)
    return list(traces.values())
