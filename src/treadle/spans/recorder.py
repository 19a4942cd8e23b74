"""The recorder: listens to the bus and keeps every run as spans, without ever holding it up."""

import asyncio
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType

from treadle.events import Envelope, EventBus, Subscription
from treadle.events.bus import Listener
from treadle.spans.event_mapper import RECORDED, SpanMapper
from treadle.spans.span_writer import SpanWriter


@dataclass(frozen=True, slots=True)
class Loss:
    """What could not be recorded: how many writes of a span, and why the first one failed."""

    count: int
    reason: str


class Recorder(Listener):
    """Writes the spans of all runs on `bus` to `store` while it is entered.

    Enter it before the session starts, and leave it after the session ended: leaving waits until
    everything is on disk. A span is written when it starts and again when it ends, so a process
    that dies leaves its spans unfinished. If the store fails, the session continues, and `loss`
    counts what is missing.
    """

    def __init__(self, bus: EventBus, store: SpanWriter, *, repository: str | None = None) -> None:
        """`repository` is the label of the repository that the sessions work in."""
        self._bus = bus
        self._store = store
        self._mapper = SpanMapper((repository,) if repository else ())
        self._lock = threading.Lock()
        self._loss: Loss | None = None

    @property
    def loss(self) -> Loss | None:
        """What could not be recorded so far; None while nothing is missing."""
        return self._loss

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await super().__aexit__(kind, error, trace)
        # Spans are written in order, so all are done when this empty write is.
        await asyncio.gather(asyncio.wrap_future(self._store.write(())), return_exceptions=True)

    def _subscribe(self) -> Subscription:
        return self._bus.subscribe(*RECORDED)

    async def _hear(self, envelope: Envelope) -> None:
        try:
            # In a thread: to redact a long prompt and to make it ready for the store take a while.
            await asyncio.to_thread(self._keep, envelope)
        except Exception as error:  # noqa: BLE001  (a recorder that stops would block the bus)
            self._note_loss(1, error)

    def _keep(self, envelope: Envelope) -> None:
        spans = self._mapper.apply(envelope)

        def settle(done: Future[None]) -> None:
            error = done.exception()
            if error is not None:
                self._note_loss(len(spans), error)

        if spans:
            self._store.write(spans).add_done_callback(settle)

    def _note_loss(self, count: int, error: BaseException) -> None:
        with self._lock:  # the store's writer calls this from its own thread
            before = self._loss or Loss(0, str(error))
            self._loss = Loss(before.count + count, before.reason)
