"""Opens the user's experiments, with the recorded traces and the gateway."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from treadle.app.gateway_calls import GatewayCaller
from treadle.app.recorder import Recording
from treadle.app.stores import experiments_path
from treadle.clock import Clock, SystemClock
from treadle.config.model import Settings
from treadle.events import EventBus
from treadle.experiments.recorded_calls import RecordedCalls
from treadle.experiments.service import Experiments
from treadle.experiments.store import ExperimentStore


@dataclass(frozen=True, slots=True)
class OpenExperiments:
    """Experiments, and the caller that uses the gateway of a server."""

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
    clock: Clock | None = None,
) -> AsyncIterator[OpenExperiments]:
    """Open experiments with the calls of `traces`; `recording` records their own calls.

    The first use opens the file of experiments and the gateway.
    """
    clock = clock or SystemClock()
    store = ExperimentStore(experiments_path())
    caller = GatewayCaller(recording, settings, env, bus, clock)
    try:
        yield OpenExperiments(Experiments(store, traces, caller, clock=clock), caller)
    finally:
        await caller.close()
        store.close()
