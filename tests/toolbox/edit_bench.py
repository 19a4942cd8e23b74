"""A repository whose files tools change as a session calls them, with a person who answers."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treadle.code import CodeIndex
from treadle.config.model import ApprovalSettings, EditSettings
from treadle.edits.model import ProposalState
from treadle.edits.service import Edits
from treadle.events import Event, EventBus, Outcome
from treadle.events.changes import ProposalEvent
from treadle.events.types import (
    ApprovalRequested,
    ApprovalScope,
    CallKey,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
    ToolFailure,
)
from treadle.ids import new_id
from treadle.toolbox.code import code_tools
from treadle.toolbox.edits import edit_tools
from treadle.tools.approvals.gate import Approvals
from treadle.tools.contract import Registry
from treadle.tools.executor import Caller, ToolExecutor

Answer = tuple[ApprovalScope, str | None]
YES: Answer = (ApprovalScope.ONCE, None)


@dataclass
class Bench:
    """A repository whose files can be changed by calls. Without `person` nobody answers."""

    root: Path
    index: CodeIndex
    edits: Edits
    settings: EditSettings = field(default_factory=EditSettings)
    rules: ApprovalSettings = field(default_factory=ApprovalSettings)
    person: Callable[[ApprovalRequested], Answer] | None = lambda _question: YES
    questions: list[ApprovalRequested] = field(default_factory=list)
    events: list[ProposalEvent] = field(default_factory=list)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def calls(self, *calls: tuple[str, dict[str, Any]]) -> list[Outcome]:
        return asyncio.run(self._calls(calls))

    def ok(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        (outcome,) = self.calls((name, arguments))
        assert isinstance(outcome, ToolCallCompleted), outcome
        result: dict[str, Any] = json.loads(outcome.content)
        return result

    def failed(self, name: str, /, **arguments: Any) -> ToolFailure:
        (outcome,) = self.calls((name, arguments))
        assert isinstance(outcome, ToolCallFailed), outcome
        return outcome.error

    def edit(self, *edits: dict[str, Any]) -> dict[str, Any]:
        return self.ok("apply_code_edit", edits=list(edits))

    def refused(self, *edits: dict[str, Any]) -> ToolFailure:
        return self.failed("apply_code_edit", edits=list(edits))

    def states(self) -> list[ProposalState]:
        return [proposal.state for proposal in self.edits.list()]

    async def _calls(self, calls: tuple[tuple[str, dict[str, Any]], ...]) -> list[Outcome]:
        bus = EventBus()
        approvals = Approvals(bus, self.root, self.rules)
        tools = [
            *code_tools(self.root, self.index),
            *edit_tools(self.edits, self.index, self.settings),
        ]
        registry = Registry(tools)
        subscription = bus.subscribe()

        async def follow() -> None:
            async for envelope in subscription:
                self._seen(envelope.event, approvals)

        following = asyncio.create_task(follow())
        async with ToolExecutor(bus, registry, self.root, approvals=approvals) as executor:
            if self.person is None:
                outcomes = await self._outcomes(executor, registry, calls)
            else:
                with approvals.allow_questions():
                    outcomes = await self._outcomes(executor, registry, calls)
        subscription.close()
        await following
        return outcomes

    def _seen(self, event: Event, approvals: Approvals) -> None:
        if isinstance(event, ProposalEvent):
            self.events.append(event)
        if isinstance(event, ApprovalRequested) and self.person is not None:
            self.questions.append(event)
            approvals.answer(event.approval_id, *self.person(event))

    async def _outcomes(
        self,
        executor: ToolExecutor,
        registry: Registry,
        calls: tuple[tuple[str, dict[str, Any]], ...],
    ) -> list[Outcome]:
        request_id = new_id()
        caller = Caller(registry)
        opened = [
            executor.open(
                ToolCallRequested(
                    request_id=request_id, key=CallKey(0, slot), call_id=f"c{slot}", vendor="",
                    name=name, arguments=json.dumps(arguments),
                ),
                caller,
            )
            for slot, (name, arguments) in enumerate(calls)
        ]  # fmt: skip
        for call in opened:
            await executor.start(call)
        return list(await asyncio.wait_for(asyncio.gather(*(c.outcome for c in opened)), 60))
