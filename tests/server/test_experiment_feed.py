"""Changes of experiments by another process reach the bus."""

import asyncio
from pathlib import Path

from treadle.events import EventBus
from treadle.events.changes import ExperimentChanged
from treadle.experiments.model import Experiment, Version
from treadle.experiments.store import ExperimentStore
from treadle.server.experiment_feed import experiments_followed


async def test_changes_of_another_process_are_published(tmp_path: Path) -> None:
    path, bus = tmp_path / "experiments.db", EventBus()
    store = ExperimentStore(path)
    made = Experiment(id="e1", name="One", created_us=1, updated_us=1, items=())
    with bus.subscribe(ExperimentChanged) as heard:
        async with experiments_followed(path, bus), asyncio.timeout(60):
            for change in (
                lambda: store.create(made),
                lambda: store.add_version("e1", Version(number=1, at_us=2, patch={})),
                lambda: store.delete("e1"),
            ):
                await asyncio.to_thread(change)
                event = (await anext(heard)).event
                assert isinstance(event, ExperimentChanged)
                assert (event.experiment_id, event.batch_id, event.done) == ("e1", None, None)
    store.close()
