"""The state of a project in a running server, which its routes use."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    suppress,
)
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from treadle.app.agents import AgentService
from treadle.app.application import App, open_app
from treadle.app.background_examination import ActiveRequests, examined, rules_of
from treadle.app.index_refresh import refresh_in_background
from treadle.app.turns import Turns
from treadle.clock import SystemClock
from treadle.config.model import BusSettings
from treadle.config.quantities import age_us, size_bytes
from treadle.config.traces import TraceSettings
from treadle.diagnosis.detectors import Rule
from treadle.errors import StoreError
from treadle.server import experiment_feed, live_spans
from treadle.server.event_log import EventLog
from treadle.server.experiment_feed import experiments_followed
from treadle.server.live_spans import LiveSpans
from treadle.server.measures import ServerMeasures, ToolCallMeasures
from treadle.server.other_servers import OtherServers
from treadle.server.project_place import ProjectPlace
from treadle.server.store_changes import SharedStore, StoreChanges
from treadle.server.uploaded_media import UploadedMedia
from treadle.session import ConversationStore
from treadle.spans.ingest import IngestQueue
from treadle.spans.otlp import ExportForm, export_decoder
from treadle.spans.span_batch import ExportReport
from treadle.traces import TraceStore
from treadle.traces.retention import Retention, RetentionMeasures, keep_pruned
from treadle.traces.store.span_reader import NO_TRACES
from treadle.ui import feed as ui_feed
from treadle.ui.feed import UiFeed
from treadle.ui.service import Ui

if TYPE_CHECKING:
    from treadle.nats.connection import NatsConnection
    from treadle.server.replicas.export_stream import ExportStream

_QUERY_SECONDS = 2.0
"""The seconds after which a feed queries PostgreSQL even if no signal arrived."""
_NUMBERS_OF_SERVERS = 2**52
"""A server in a group draws the number of its first event at random, below this number.

Therefore two servers number their events differently, and a client that changes to another server
gets a gap. JavaScript can represent all numbers up to this one exactly.
"""


@dataclass(frozen=True, slots=True)
class ServerState:
    """The application, and the services that the server opens in addition to it."""

    app: App
    turns: Turns
    agents: AgentService
    log: EventLog
    conversations: ConversationStore
    ui: Ui
    pages: UiFeed
    rules: tuple[Rule, ...]
    """The detector rules of the user."""
    active_requests: ActiveRequests
    _ingest: IngestQueue | None
    media: UploadedMedia
    """Media that clients uploaded separately from the spans that refer to them."""
    others: OtherServers | None
    """The other servers of the project. It is None if the setting `bus.url` is not set."""
    exports: "ExportStream | None"
    """The stream for received exports. It is None unless `bus.ingest` is true."""

    @property
    def ingest(self) -> IngestQueue:
        """The queue for spans of other programs.

        Raises StoreError if the store could not be opened.
        """
        if self._ingest is None:
            raise StoreError(self.app.recording.missing or NO_TRACES)
        return self._ingest

    async def store_export(self, body: bytes, form: ExportForm) -> ExportReport:
        """Store an export of another program. All routes and gRPC use this method.

        Returns when the export is on disk. With `bus.ingest`, this is the disk of NATS. Exports
        that refer to uploaded media go to the store directly, because only this server has the
        media. Raises OtlpError for a malformed export, and StoreError.
        """
        received_ns = self.app.clock.now_us() * 1_000
        decode = bare = export_decoder(form, received_ns)
        if form.has_spans:
            decode = await self.media.restoring(body, bare, self.ingest.most_bytes)
        if self.exports is not None and decode is bare:
            accepted = await self.exports.accept(body, form, received_ns)
            if accepted is not None:
                return accepted
        return await self.ingest.submit(body, decode)

    @property
    def pending_bytes(self) -> int:
        """The size of received exports that are not on disk yet."""
        return 0 if self._ingest is None else self._ingest.held_bytes

    @property
    def traces(self) -> TraceStore:
        """The store of spans. Raises StoreError if it could not be opened."""
        return self.app.traces

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        place: ProjectPlace,
        env: Mapping[str, str],
        measures: ServerMeasures,
        bus: "NatsConnection | None" = None,
    ) -> AsyncIterator[Self]:
        """Open the repository and the stores of a project. `measures` counts what they do.

        With `bus`, join the other servers of the project. Raises StoreError and ConfigError.
        """
        settings = place.loaded.settings
        async with AsyncExitStack() as stack:
            opening = open_app(
                place.root, settings=settings, env=env, toolset=place.toolset, stores=place.stores,
                nats=bus,
            )  # fmt: skip
            app = await stack.enter_async_context(opening)
            conversations = await app.conversations.open_store()
            # The current time is above every event number of an earlier server, so clients of that
            # server get a gap.
            begin = app.clock.now_us() + (secrets.randbelow(_NUMBERS_OF_SERVERS) if bus else 0)
            log = await stack.enter_async_context(EventLog(app.bus, begin=begin))
            agents = await stack.enter_async_context(AgentService.open(app))
            turns = await stack.enter_async_context(Turns(app, agents))
            await stack.enter_async_context(ToolCallMeasures(app.bus, measures))
            changes, others = StoreChanges(), None
            if bus is not None:
                from treadle.server.replicas.member import GroupMember

                member = GroupMember(bus, app, turns, log, on_store_change=changes.wake)
                others = await stack.enter_async_context(member)
                changes.forward_to(others.report_store_change)
            if app.has_repository:
                await stack.enter_async_context(refresh_in_background(app.index, app.bus))
            feeds = _Feeds(app, changes)
            pages = await stack.enter_async_context(feeds.pages())
            await stack.enter_async_context(feeds.experiments())
            ingest, exports, active_requests = None, None, ActiveRequests()
            most = size_bytes(settings.traces.max_request)
            rules = rules_of(settings.traces.detectors)
            if (store := app.recording.store) is not None:
                queue = IngestQueue(store, most_bytes=most, measures=measures.ingest)
                ingest = await stack.enter_async_context(queue)
                await stack.enter_async_context(feeds.spans(store))
                await stack.enter_async_context(_pruned(store, settings.traces, measures.retention))
                if bus is not None and settings.bus.ingest:
                    opening_stream = _written_from_stream(bus, app, ingest, store, settings.bus)
                    exports = await stack.enter_async_context(opening_stream)
                watched = examined(store, settings.traces.detectors, app.clock, active_requests)
                await stack.enter_async_context(watched)
            ui = Ui(app.ui_store)
            media = UploadedMedia(most)
            yield cls(
                app,
                turns,
                agents,
                log,
                conversations,
                ui,
                pages,
                rules,
                active_requests,
                ingest,
                media,
                others,
                exports,
            )


class _Feeds:
    """Opens the feeds of the shared stores.

    The feeds check a SQLite file often, because it shows without a query whether it has changed.
    Each check of a PostgreSQL database is a query. Therefore the feeds check it after signals, and
    rarely without a signal.
    """

    def __init__(self, app: App, changes: StoreChanges) -> None:
        self._app = app
        self._changes = changes
        self._seconds = None if app.stores.url is None else _QUERY_SECONDS
        app.ui_store.on_change(changes.reporter(SharedStore.PAGES))
        if app.experiments is not None:
            app.experiments.experiments.on_change(changes.reporter(SharedStore.EXPERIMENTS))

    def pages(self) -> UiFeed:
        """Return the feed of the state of pages."""
        seconds = self._seconds or ui_feed.POLL_SECONDS
        wait = self._changes.wait(SharedStore.PAGES, seconds)
        return UiFeed(self._app.ui_store, self._app.bus, wait=wait)

    def experiments(self) -> AbstractAsyncContextManager[None]:
        """Return the feed of the experiments."""
        seconds = self._seconds or experiment_feed.POLL_SECONDS
        wait = self._changes.wait(SharedStore.EXPERIMENTS, seconds)
        return experiments_followed(self._app.stores.experiments, self._app.bus, wait)

    def spans(self, store: TraceStore) -> LiveSpans:
        """Return the feed of the spans."""
        seconds = self._seconds or live_spans.POLL_SECONDS
        return LiveSpans(store, self._app.bus, self._changes, poll_seconds=seconds)


@asynccontextmanager
async def _written_from_stream(
    bus: "NatsConnection", app: App, queue: IngestQueue, store: TraceStore, settings: BusSettings
) -> "AsyncIterator[ExportStream]":
    """Write the exports that wait in a stream to the store, until the context ends."""
    from treadle.nats.names import ProjectNames
    from treadle.server.replicas.export_stream import ExportStream
    from treadle.server.replicas.stream_writer import StreamWriter

    async def examine_store() -> None:
        await asyncio.to_thread(store.changes, None)

    limit = size_bytes(settings.ingest_limit)
    stream = ExportStream(bus, ProjectNames(app.stores.project), queue, limit)
    async with StreamWriter(stream, queue, examine_store, app.clock):
        yield stream


@asynccontextmanager
async def _pruned(
    store: TraceStore, settings: TraceSettings, measures: RetentionMeasures
) -> AsyncIterator[None]:
    """Delete old spans at intervals, as the settings require, until the context ends."""
    retention = Retention(
        seconds=None if settings.keep is None else age_us(settings.keep) // 1_000_000,
        max_bytes=None if settings.max_size is None else size_bytes(settings.max_size),
    )
    keeping = keep_pruned(store, retention, SystemClock(), measures)
    pruning = asyncio.create_task(keeping, name="retention")
    try:
        yield
    finally:
        pruning.cancel()
        with suppress(asyncio.CancelledError):
            await pruning
