"""Recorded spans, and their tools as a session calls them."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes.clock import FakeClock
from treadle.clock import Clock
from treadle.diagnosis.detectors import Rule
from treadle.events import EventBus, Outcome
from treadle.events.types import ToolCallCompleted, ToolCallFailed, Usage
from treadle.llm.chat_model import ChatModel
from treadle.spans.span import Span, SpanKind, SpanStatus
from treadle.toolbox.traces import trace_tools
from treadle.tools.contract import Registry
from treadle.tools.executor import ToolExecutor
from treadle.traces import TraceStore

BEGIN = 1_790_000_000_000_000
"""The beginning of recordings, in Unix microseconds."""
SECOND = 1_000_000


@dataclass
class Recordings:
    """A store of spans and its tools behind the real bus and executor."""

    store: TraceStore
    root: Path
    rules: Sequence[Rule] = ()
    connect: Callable[[], Awaitable[ChatModel]] | None = None
    clock: Clock = field(default_factory=FakeClock)

    def record(self, *spans: Span) -> None:
        self.store.write(spans).result()

    def call(self, name: str, /, **arguments: Any) -> Outcome:
        return asyncio.run(self._call(name, json.dumps(arguments)))

    def content(self, name: str, /, **arguments: Any) -> str:
        outcome = self.call(name, **arguments)
        assert isinstance(outcome, ToolCallCompleted), outcome
        return outcome.content

    def ok(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.content(name, **arguments))
        return result

    def failed(self, name: str, /, **arguments: Any) -> ToolCallFailed:
        outcome = self.call(name, **arguments)
        assert isinstance(outcome, ToolCallFailed), outcome
        return outcome

    async def _call(self, name: str, arguments: str) -> Outcome:
        bus = EventBus()
        registry = Registry(trace_tools(self.store, rules=self.rules, connect=self.connect))
        async with ToolExecutor(bus, registry, self.root, clock=self.clock) as executor:
            return await asyncio.wait_for(executor.call(name, arguments), 60)


def opened(folder: Path) -> closing[TraceStore]:
    """An empty store, which closes at the end of the context."""
    return closing(TraceStore.open(folder / "traces.db"))


def model_call(
    span_id: str,
    *,
    at: float = 0,
    seconds: float | None = 1,
    trace_id: str = "t1",
    parent_id: str | None = None,
    model: str = "large",
    status: SpanStatus = SpanStatus.OK,
    tokens: Usage | None = None,
    cost: float | None = 0.01,
    messages: Sequence[dict[str, Any]] = (),
    reply: dict[str, Any] | None = None,
    **rest: Any,
) -> Span:
    """A model call that begins `at` seconds after the beginning of recordings."""
    start = BEGIN + round(at * SECOND)
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent_id,
        kind=SpanKind.MODEL,
        operation="chat",
        name=f"chat {model}",
        start_us=start,
        end_us=None if seconds is None else start + round(seconds * SECOND),
        status=status,
        model=model,
        provider="local",
        tokens=tokens or Usage(input=100, output=20),
        cost=cost,
        input=json.dumps(list(messages)) if messages else None,
        output=json.dumps([reply]) if reply else None,
        **rest,
    )


def tool_call(
    span_id: str,
    *,
    at: float = 0,
    seconds: float = 0.1,
    trace_id: str = "t1",
    parent_id: str | None = None,
    tool: str = "find_flights",
    arguments: str = "{}",
    result: str | None = '{"flights": [1]}',
    status: SpanStatus = SpanStatus.OK,
    **rest: Any,
) -> Span:
    """A tool call that begins `at` seconds after the beginning of recordings."""
    start = BEGIN + round(at * SECOND)
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent_id,
        kind=SpanKind.TOOL,
        operation="execute_tool",
        name=f"execute_tool {tool}",
        start_us=start,
        end_us=start + round(seconds * SECOND),
        status=status,
        input=arguments,
        output=result,
        attributes={"gen_ai.tool.name": tool},
        **rest,
    )
