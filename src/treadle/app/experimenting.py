"""The experiments of the user, over what is recorded and through the gateway."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from treadle.app.gateway_calls import GatewayCaller
from treadle.app.recording import Recording
from treadle.app.stores import experiments_path
from treadle.clock import Clock, SystemClock
from treadle.config.model import Settings
from treadle.events import EventBus
from treadle.experiments.finding import RecordedCalls
from treadle.experiments.service import Experiments
from treadle.experiments.store import ExperimentStore


@dataclass(frozen=True, slots=True)
class Experimenting:
    """Experiments, and the caller that a server lends its gateway to."""

    experiments: Experiments
    caller: GatewayCaller


@asynccontextmanager
async def experimenting(
    traces: RecordedCalls,
    recording: Recording,
    settings: Settings,
    env: Mapping[str, str],
    bus: EventBus,
    *,
    clock: Clock | None = None,
) -> AsyncIterator[Experimenting]:
    """Open nothing before it is needed: neither the file of experiments nor a gateway.

    Experiments are made from `traces`, and what they ask is recorded by `recording`.
    """
    clock = clock or SystemClock()
    store = ExperimentStore(experiments_path())
    caller = GatewayCaller(recording, settings, env, bus, clock)
    try:
        yield Experimenting(Experiments(store, traces, caller, clock=clock), caller)
    finally:
        await caller.close()
        store.close()
