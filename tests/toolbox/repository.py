"""A repository on disk whose tools are called as a session calls them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treadle.code import CodeIndex
from treadle.config.model import ApprovalSettings
from treadle.events import EventBus, Outcome
from treadle.events.types import (
    ApprovalRequested,
    ApprovalScope,
    ToolCallCompleted,
    ToolCallFailed,
)
from treadle.toolbox.code import code_tools
from treadle.tools.approvals.gate import Approvals
from treadle.tools.contract import Registry
from treadle.tools.executor import ToolExecutor


@dataclass
class Repository:
    """A folder with files, and its tools behind the real bus and executor."""

    root: Path
    index: CodeIndex
    message: str = ""
    rules: ApprovalSettings = field(default_factory=ApprovalSettings)
    consents: bool = False
    """Whether there is a person, who allows whatever is asked."""

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def call(self, name: str, /, **arguments: Any) -> Outcome:
        return asyncio.run(self._call(name, arguments))

    def ok(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        outcome = self.call(name, **arguments)
        assert isinstance(outcome, ToolCallCompleted), outcome
        result: dict[str, Any] = json.loads(outcome.content)
        return result

    def failed(self, name: str, /, **arguments: Any) -> ToolCallFailed:
        outcome = self.call(name, **arguments)
        assert isinstance(outcome, ToolCallFailed), outcome
        return outcome

    async def _call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        bus = EventBus()
        registry = Registry(code_tools(self.root, self.index))
        approvals = Approvals(bus, self.root, self.rules)
        async with (
            ToolExecutor(bus, registry, self.root, approvals=approvals) as executor,
            self._person(bus, approvals),
        ):
            calling = executor.call(name, json.dumps(arguments), call_id="call_1")
            return await asyncio.wait_for(calling, 30)

    @asynccontextmanager
    async def _person(self, bus: EventBus, approvals: Approvals) -> AsyncIterator[None]:
        if not self.consents:
            yield
            return
        with bus.subscribe(ApprovalRequested) as questions, approvals.allow_questions():

            async def allow() -> None:
                async for envelope in questions:
                    assert isinstance(envelope.event, ApprovalRequested)
                    approvals.answer(envelope.event.approval_id, ApprovalScope.ONCE)

            allowing = asyncio.create_task(allow())
            yield
            questions.close()
            await allowing
