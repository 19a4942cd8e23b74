"""Opens the experiments of the user, and connects them with recorded traces and a gateway."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from treadle.app.recorder import Recording
from treadle.app.stores import Stores
from treadle.clock import Clock, SystemClock, wait_within
from treadle.config.model import Settings
from treadle.errors import NotFoundError, StoreError
from treadle.events import EventBus
from treadle.experiments.caller import CallRequest
from treadle.experiments.model import Outcome
from treadle.experiments.recorded_calls import RecordedCalls, outcome_of
from treadle.experiments.service import Experiments
from treadle.experiments.store import ExperimentStore
from treadle.spans.span import Span, SpanStatus
from treadle.traces import TraceStore

if TYPE_CHECKING:
    from treadle.gateway import Gateway


_RECORD_SECONDS = 20.0
"""The maximum time in seconds to wait for the record of a call.

A record normally takes about 0.1 s.
"""
_PATH = "/v1/chat/completions"
_NOT_RECORDED = "The call was made, but its record is missing."


class GatewayCaller:
    """Calls models through a gateway, for experiments.

    While a server lends its gateway with `lent`, the calls go through that gateway. Otherwise they
    go through a gateway that this object opens at the first call. Both gateways write to the same
    trace store.
    """

    def __init__(
        self,
        recording: Recording,
        settings: Settings,
        env: Mapping[str, str],
        bus: EventBus,
        *,
        clock: Clock,
        stores: Stores,
    ) -> None:
        self._recording = recording
        self._settings = settings
        self._env = env
        self._bus = bus
        self._clock = clock
        self._stores = stores
        self._lent: Gateway | None = None
        self._own: Gateway | None = None
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._commit: asyncio.Event | None = None
        """An event that the next commit of the trace store sets.

        It is None before its first use.
        """

    @contextmanager
    def lent(self, gateway: "Gateway") -> Iterator[None]:
        """Use the given gateway until the context ends. Its budgets and breakpoints apply."""
        self._lent = gateway
        try:
            yield
        finally:
            self._lent = None

    async def close(self) -> None:
        """Close the gateway that this object opened, and wait until its calls are on disk."""
        await self._stack.aclose()

    async def call(self, request: CallRequest) -> Outcome:
        """Call the model as `Caller.call` describes."""
        store = self._store()
        exchange = _Exchange(request)
        gateway = await self._gateway()
        calling = gateway(exchange.scope, exchange.receive, exchange.send)
        try:
            await wait_within(calling, request.seconds, self._clock)
        except TimeoutError:
            return await self._timed_out(request)
        trace_id = exchange.headers.get("x-trace-id")
        if trace_id is None:  # the gateway refused the request
            return Outcome(trace_id="", span_id="", error=exchange.error(), error_type="refused")
        outcome = outcome_of(await self._recorded_spans(lambda: _trace(store, trace_id)))
        if outcome is None:
            raise StoreError(_NOT_RECORDED)
        return outcome

    async def refusal(self, request: CallRequest) -> str | None:
        """Return the reason for a refusal, as `Caller.refusal` describes."""
        gateway = await self._gateway()
        return await gateway.refusal(request.body, _headers(request))

    async def recorded(self, run_id: str) -> Outcome | None:
        """Return the outcome of a recorded run, as `Caller.recorded` describes."""
        attempts = await asyncio.to_thread(_attempts, self._store(), run_id)
        outcomes = [outcome for spans in attempts if (outcome := outcome_of(spans)) is not None]
        return next((each for each in outcomes if each.error is None), None)

    async def _timed_out(self, request: CallRequest) -> Outcome:
        store = self._store()
        latest = await self._recorded_spans(
            lambda: next(reversed(_attempts(store, request.run_id)), [])
        )
        outcome = outcome_of(latest) or Outcome(trace_id=latest[0].trace_id, span_id="")
        message = f"It took longer than {request.seconds:g} s."
        return replace(outcome, error=message, error_type="timeout")

    async def _recorded_spans(self, read: Callable[[], list[Span]]) -> list[Span]:
        """Call `read` again after each commit until it returns spans of finished calls.

        Raises StoreError if no such spans arrive in time.
        """
        deadline = self._clock.monotonic() + _RECORD_SECONDS
        while True:
            commit = self._next_commit()
            spans = await asyncio.to_thread(read)
            if spans and all(span.status is not SpanStatus.UNFINISHED for span in spans):
                return spans
            try:
                await wait_within(commit.wait(), deadline - self._clock.monotonic(), self._clock)
            except TimeoutError:
                raise StoreError(
                    _NOT_RECORDED, hint="`treadle doctor` reports whether calls can be recorded."
                ) from None

    def _next_commit(self) -> asyncio.Event:
        """Return an event that the next commit of the trace store sets."""
        if self._commit is None:
            self._commit = asyncio.Event()
            loop = asyncio.get_running_loop()

            def on_commit(_revision: int) -> None:
                with suppress(RuntimeError):  # raised if the event loop has ended
                    loop.call_soon_threadsafe(self._announce_commit)

            self._store().on_commit(on_commit)
        return self._commit

    def _announce_commit(self) -> None:
        assert self._commit is not None
        self._commit.set()
        self._commit = asyncio.Event()

    def _store(self) -> TraceStore:
        if self._recording.store is None:
            raise StoreError(self._recording.missing or "Calls cannot be recorded.")
        return self._recording.store

    async def _gateway(self) -> "Gateway":
        if self._lent is not None:
            return self._lent
        async with self._lock:
            if self._own is None:
                from treadle.gateway import Gateway  # imported here, since few commands need it

                self._own = await self._stack.enter_async_context(
                    Gateway.open(
                        self._settings,
                        self._env,
                        store=self._recording.store,
                        why_not=self._recording.missing,
                        bus=self._bus,
                        breakpoints=self._stores.breakpoints,
                        recorder_id=self._recording.recorder_id,
                        clock=self._clock,
                    )
                )
            return self._own


@dataclass(slots=True)
class _Exchange:
    """One ASGI request to the gateway.

    It keeps only the headers of the response, and the body of an error. The caller reads the
    response itself from the trace store.
    """

    request: CallRequest
    headers: dict[str, str] = field(default_factory=dict)
    _content: bytearray = field(default_factory=bytearray)
    _sent: bool = False

    @property
    def scope(self) -> dict[str, Any]:
        """The ASGI scope of the request. Its headers assign the span to a thread and a run."""
        headers = _headers(self.request).items()
        raw = [(name.encode("ascii"), value.encode("utf-8")) for name, value in headers]
        return {"type": "http", "method": "POST", "path": _PATH, "query_string": b"",
                "headers": raw}  # fmt: skip

    async def receive(self) -> dict[str, Any]:
        """Return the request body. A second call waits forever.

        The call never returns a disconnect message, since this client does not disconnect.
        """
        if self._sent:
            await asyncio.Event().wait()
        self._sent = True
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
        """Return the message of the gateway's error response."""
        try:
            message = json.loads(bytes(self._content))["error"]["message"]
        except (ValueError, LookupError, TypeError):
            message = None
        return str(message) if message else "The gateway refused the call."


def _headers(request: CallRequest) -> dict[str, str]:
    return {
        "content-type": "application/json",
        "cache-control": "no-store",  # a cached response would not be a measurement
        **{name.lower(): value for name, value in request.headers.items()},
        "x-thread-id": request.thread_id,
        "x-run-id": request.run_id,
        "x-label": ",".join(label.replace(",", " ") for label in request.labels),
    }


def _trace(store: TraceStore, trace_id: str) -> list[Span]:
    try:
        return list(store.trace(trace_id).spans)
    except NotFoundError:
        return []


def _attempts(store: TraceStore, run_id: str) -> list[list[Span]]:
    """Return the spans of each attempt of a run, latest attempt last. Each attempt is a trace."""
    try:
        spans = store.run(run_id).spans
    except NotFoundError:
        return []
    traces: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda each: each.start_us):
        traces.setdefault(span.trace_id, []).append(span)
    return list(traces.values())


@dataclass(frozen=True, slots=True)
class OpenExperiments:
    """The experiments, and the caller to which a server can lend its gateway."""

    experiments: Experiments
    caller: GatewayCaller


@asynccontextmanager
async def open_experiments(
    traces: RecordedCalls,
    recording: Recording,
    settings: Settings,
    env: Mapping[str, str],
    bus: EventBus,
    *,
    stores: Stores,
    clock: Clock | None = None,
) -> AsyncIterator[OpenExperiments]:
    """Open the experiments.

    They read recorded calls from `traces`. `recording` records the calls that they make. The file
    of experiments and the gateway are opened at their first use.
    """
    clock = clock or SystemClock()
    store = ExperimentStore(stores.experiments)
    caller = GatewayCaller(recording, settings, env, bus, clock=clock, stores=stores)
    try:
        yield OpenExperiments(Experiments(store, traces, caller, clock=clock), caller)
    finally:
        await caller.close()
        store.close()
