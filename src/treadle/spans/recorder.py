"""Records every run on an event bus as spans, without delaying the bus."""

import asyncio
import threading
from concurrent.futures import Future
from dataclasses import dataclass

from treadle.events import Envelope, EventBus, Subscription
from treadle.events.bus import Listener
from treadle.spans.event_mapper import RECORDED, EventMapper
from treadle.spans.span import NO_ATTRIBUTES, Attributes
from treadle.spans.span_writer import SpanWriter


@dataclass(frozen=True, slots=True)
class Loss:
    """The number of failed span writes, and the reason for the first failure."""

    count: int
    reason: str


class Recorder(Listener):
    """Writes the spans of all runs on `bus` to `store`.

    Use the recorder as a context manager around the session. The exit waits until all spans are on
    disk. A span is written when it starts and again when it ends, so a process that dies leaves
    unfinished spans. If the store fails, the session continues, and `loss` counts the missing
    spans.
    """

    def __init__(
        self,
        bus: EventBus,
        store: SpanWriter,
        *,
        repository: str | None = None,
        recorder_id: Attributes = NO_ATTRIBUTES,
    ) -> None:
        """Create a recorder.

        `repository` is the label of the repository that the sessions work in. `recorder_id` is the
        resource of all spans, and identifies this recorder.
        """
        self._bus = bus
        self._store = store
        self._mapper = EventMapper((repository,) if repository else (), recorder_id)
        self._lock = threading.Lock()
        self._loss: Loss | None = None

    @property
    def loss(self) -> Loss | None:
        """The failed writes so far, or None if no write failed."""
        return self._loss

    async def __aexit__(self, *exception: object) -> None:
        await super().__aexit__(*exception)
        # The store writes in order, so this empty write ends after all others.
        await asyncio.gather(asyncio.wrap_future(self._store.write(())), return_exceptions=True)

    def _subscribe(self) -> Subscription:
        return self._bus.subscribe(*RECORDED)

    async def _on_event(self, envelope: Envelope) -> None:
        try:
            # This runs in a thread, since redacting and encoding a long prompt takes a while.
            await asyncio.to_thread(self._record, envelope)
        except Exception as error:  # noqa: BLE001  (a recorder that ends would block the bus)
            self._note_loss(1, error)

    def _record(self, envelope: Envelope) -> None:
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
