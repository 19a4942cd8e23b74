"""Opens the recorder, which writes the spans of a bus to the trace store.

If the store cannot be opened, the application works without a recorder.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from treadle.app.repository_scope import repository_label
from treadle.app.stores import Stores
from treadle.clock import Clock
from treadle.config.traces import RedactionSettings
from treadle.database import StoreAddress
from treadle.errors import StoreError
from treadle.events import EventBus
from treadle.secrets import Rule, Rules, use_rules
from treadle.spans.recorder import Recorder
from treadle.spans.span import Attributes
from treadle.traces import TraceStore
from treadle.traces.interruptions import recorder_id
from treadle.traces.recorder_files import RecorderFiles
from treadle.traces.recorders import Recorders


@dataclass(frozen=True, slots=True)
class Recording:
    """The recorder and its store, or the reason why spans are not recorded."""

    recorder: Recorder | None
    store: TraceStore | None
    broken_store: str | None = None
    recorder_id: Attributes = field(default_factory=dict)
    """The resource that identifies the spans of this process (`traces.interruptions`)."""

    @property
    def missing(self) -> str | None:
        """A sentence on why some spans are not recorded. It is None if all spans are recorded."""
        if self.recorder is None:
            return f"Nothing is recorded: {self.broken_store}"
        loss = self.recorder.loss
        return f"{loss.count} spans could not be recorded: {loss.reason}" if loss else None


@asynccontextmanager
async def recording(
    bus: EventBus, redaction: RedactionSettings, root: Path, stores: Stores, clock: Clock
) -> AsyncIterator[Recording]:
    """Record all runs on `bus` until the context ends.

    When the context ends, all spans of the runs are on disk. The spans have the label of the
    repository at `root`.
    """
    set_redaction_rules(redaction)
    try:
        store = await asyncio.to_thread(stores.open_traces)
    except StoreError as error:
        yield Recording(None, None, str(error))
        return
    try:
        label = await asyncio.to_thread(repository_label, root)
        async with (
            recorder_id(store, _recorders_at(stores.traces, clock), clock) as own_id,
            Recorder(bus, store, repository=label, recorder_id=own_id) as recorder,
        ):
            yield Recording(recorder, store, recorder_id=own_id)
    finally:
        store.close()


def set_redaction_rules(settings: RedactionSettings) -> None:
    """Apply the user's redaction rules to all data that this process stores."""
    rules = settings.rules.items()
    use_rules(
        Rules(
            tuple(Rule(name, rule.pattern, rule.replacement) for name, rule in rules),
            settings.allow,
        )
    )


def _recorders_at(address: StoreAddress, clock: Clock) -> Recorders:
    """Return the recorders of the trace store at `address`."""
    if isinstance(address, Path):
        return RecorderFiles(address.parent / "recorders")
    from treadle.traces.recorder_rows import RecorderRows

    return RecorderRows(address, clock)
