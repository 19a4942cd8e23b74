"""Experiments with a real gateway, which calls fake providers over HTTP and records in files."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.provider import FakeProvider
from tests.gateway.running import settings
from treadle.app.experiments import GatewayCaller, open_experiments
from treadle.app.recorder import Recording
from treadle.app.stores import Stores
from treadle.clock import Clock
from treadle.events import EventBus
from treadle.experiments.caller import CallRequest
from treadle.experiments.model import Batch, Cell, Experiment, Item, Outcome, Plan, Variant
from treadle.experiments.service import Experiments
from treadle.spans.span import Span
from treadle.traces import TraceStore

PROJECT = "EXPERIMENTS_PROJECT"
"""The environment variable that names the project. Only the tests of PostgreSQL set it."""

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is {{topic}}?"},
]


@dataclass(frozen=True, slots=True)
class World:
    """Experiments, their caller, and the store with the recorded spans."""

    experiments: Experiments
    caller: GatewayCaller
    store: TraceStore

    async def recorded(self, **body: Any) -> Outcome:
        """Record a call of another program."""
        request = {"model": "fake/m", "messages": MESSAGES, **body}
        return await self.caller.call(CallRequest(request, "thread", "run", ("user",)))

    async def experiment(self, *, calls: int = 1, **body: Any) -> Experiment:
        """Create an experiment with that number of recorded calls."""
        made = [await self.recorded(**body) for _ in range(calls)]
        return await asyncio.to_thread(self.experiments.from_spans, [each.span_id for each in made])

    def spans(self, thread_id: str) -> list[Span]:
        """All spans of a thread, oldest first."""
        from treadle.traces.query import Field, Query, Sort, any_of

        query = Query((any_of(Field.THREAD, [thread_id]),))
        found = self.store.spans(query, sort=Sort(ascending=True), limit=1_000).data
        return [self.store.trace(each.trace_id).spans[0] for each in found]


@asynccontextmanager
async def world(
    home: Path, *providers: FakeProvider, clock: Clock | None = None, **gateway: Any
) -> AsyncIterator[World]:
    """Open everything in `home`, with the providers named `fake`, `other` and `third`."""
    await asyncio.to_thread(home.mkdir, parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREADLE_HOME", str(home))
        store = TraceStore.open(home / "traces.db")
        try:
            recording = Recording(None, store)
            async with open_experiments(
                store,
                recording,
                settings(*providers, **gateway),
                {},
                EventBus(),
                stores=Stores.of_user(os.environ.get(PROJECT, "default")),
                clock=clock,
            ) as trying:
                yield World(trying.experiments, trying.caller, store)
        finally:
            store.close()


def outcome(
    content: str = "text",
    *,
    tokens: tuple[int, int] | None = (10, 5),
    cost: float | None = None,
    ms: int | None = 100,
    error: str | None = None,
    **more: Any,
) -> Outcome:
    """An outcome with round figures."""
    return Outcome(
        trace_id="t",
        span_id="s",
        content=content,
        model="m",
        input_tokens=tokens[0] if tokens else None,
        output_tokens=tokens[1] if tokens else None,
        cost=cost,
        duration_us=None if ms is None else ms * 1_000,
        error=error,
        **more,
    )


def ran(
    *variants: list[Outcome], recorded: Outcome | None = None, items: int = 1
) -> tuple[Experiment, Batch]:
    """A batch whose variants (original, v1, v2 …) have these outcomes, item by item."""
    experiment = Experiment(
        id="e",
        name="e",
        created_us=0,
        updated_us=0,
        items=tuple(
            Item(
                number=number,
                trace_id="t",
                span_id="s",
                request={"model": "m", "messages": MESSAGES},
                recorded=recorded or outcome(),
            )
            for number in range(items)
        ),
    )
    repeats = len(variants[0]) // items
    batch = Batch(
        id="b",
        experiment_id="e",
        created_us=0,
        plan=Plan(variants=tuple(map(Variant, range(len(variants)))), repeats=repeats),
        state="finished",  # type: ignore[arg-type]  # it compares equal
        items=items,
        outcomes={
            Cell(variant, place // repeats, place % repeats): each
            for variant, outcomes in enumerate(variants)
            for place, each in enumerate(outcomes)
        },
    )
    return experiment, batch


def with_tokens(base: Outcome, tokens: int) -> Outcome:
    """The outcome with another number of output tokens."""
    return replace(base, output_tokens=tokens)
