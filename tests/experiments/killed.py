"""A process that runs a batch. The test kills it in the middle."""

import asyncio
import os
from pathlib import Path

from tests.experiments.world import PROJECT
from treadle.app.experiments import open_experiments
from treadle.app.recorder import Recording
from treadle.app.stores import Stores
from treadle.config.model import Settings
from treadle.events import EventBus
from treadle.traces import TraceStore


def main(home: str, base_url: str, batch_id: str) -> None:
    """Run the batch with one provider at that address."""
    os.environ["TREADLE_HOME"] = home
    asyncio.run(_run(Path(home), base_url, batch_id))


async def _run(home: Path, base_url: str, batch_id: str) -> None:
    table = {"base_url": base_url, "max_retries": 0, "models": ["m"]}
    settings = Settings.model_validate({"providers": {"fake": table}})
    store = TraceStore.open(home / "traces.db")
    recording = Recording(None, store)
    async with open_experiments(
        store,
        recording,
        settings,
        {},
        EventBus(),
        stores=Stores.of_user(os.environ.get(PROJECT, "default")),
    ) as trying:
        await trying.experiments.run_batch(batch_id)
