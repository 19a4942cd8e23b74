"""Shared parts of the session tests: a bus with a real executor, small real tools, a recorder."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar
from uuid import UUID

from tests.fakes.clock import FakeClock
from treadle.clock import Clock
from treadle.config.model import LimitSettings, ToolSettings
from treadle.events import Event, EventBus
from treadle.ids import new_id
from treadle.llm.chat_model import ChatModel
from treadle.llm.messages import Message, ToolMessage
from treadle.session import AutomaticContext, Conversation, ConversationStore, RequestSession
from treadle.session.role import Role
from treadle.tools.approvals.gate import Approvals
from treadle.tools.approvals.question import Policy
from treadle.tools.contract import (
    AnyTool,
    Arguments,
    Registry,
    Result,
    Tool,
    ToolContext,
    ToolEffect,
)
from treadle.tools.executor import ToolExecutor

E = TypeVar("E", bound=Event)


class EchoArguments(Arguments):
    """The text to repeat."""

    text: str = ""
    times: int = 1


class EchoResult(Result):
    """The repeated text."""

    type: str = "echo"
    text: str


class Echo(Tool[EchoArguments, EchoResult]):
    """Repeats its text."""

    name: ClassVar[str] = "echo"
    description: ClassVar[str] = "Say it."
    arguments = EchoArguments
    result = EchoResult

    async def run(self, arguments: EchoArguments, context: ToolContext) -> EchoResult:
        return EchoResult(text=(arguments.text or context.last_user_message) * arguments.times)


class Gate(Echo):
    """Answers a call when the test opens the gate of its text.

    Records running and cancelled calls.
    """

    name: ClassVar[str] = "gate"
    description: ClassVar[str] = "Wait, then say it."

    def __init__(self) -> None:
        self._gates: dict[str, asyncio.Event] = {}
        self.running: list[str] = []
        self.ended: list[str] = []

    def open(self, text: str) -> None:
        self._gates.setdefault(text, asyncio.Event()).set()

    async def entered(self, text: str) -> None:
        await until(lambda: text in self.running)

    async def left(self, text: str) -> None:
        await until(lambda: text not in self.running)

    async def run(self, arguments: EchoArguments, context: ToolContext) -> EchoResult:
        gate = self._gates.setdefault(arguments.text, asyncio.Event())
        self.running.append(arguments.text)
        try:
            await gate.wait()
        except asyncio.CancelledError:
            self.ended.append(arguments.text)
            raise
        finally:
            self.running.remove(arguments.text)
        return EchoResult(text=arguments.text)


class SlowWrite(Gate):
    """The same as a writing tool with its own time limit."""

    name: ClassVar[str] = "slow_write"
    effect: ClassVar[ToolEffect] = ToolEffect.WRITE
    policy: ClassVar[Policy | None] = Policy.ALLOW
    timeout: ClassVar[float | None] = 5.0


class Stubborn(Echo):
    """Finishes although it was cancelled."""

    name: ClassVar[str] = "stubborn"

    async def run(self, arguments: EchoArguments, context: ToolContext) -> EchoResult:
        task = asyncio.current_task()
        assert task is not None
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            task.uncancel()
        return EchoResult(text="at last")


@dataclass(slots=True)
class Stage:
    """A bus with an executor, a conversation, and all events so far."""

    bus: EventBus
    executor: ToolExecutor
    approvals: Approvals
    registry: Registry
    conversation: Conversation
    clock: Clock
    events: list[Event]

    def session(
        self,
        model: ChatModel,
        *,
        settings: ToolSettings | None = None,
        limits: LimitSettings | None = None,
        store: ConversationStore | None = None,
        conversation: Conversation | None = None,
        automatic_context: AutomaticContext | None = None,
        role: Role | None = None,
        stream: bool = True,
    ) -> RequestSession:
        return RequestSession(
            executor=self.executor,
            model=model,
            registry=self.registry,
            conversation=conversation or self.conversation,
            role=role,
            settings=settings,
            limits=limits,
            store=store,
            clock=self.clock,
            automatic_context=automatic_context,
            stream=stream,
        )

    def seen(self, kind: type[E], request_id: UUID | None = None) -> list[E]:
        return [
            event
            for event in self.events
            if isinstance(event, kind) and request_id in {None, event.request_id}
        ]


@asynccontextmanager
async def stage(
    *tools: AnyTool, clock: Clock | None = None, root: Path = Path("/")
) -> AsyncIterator[Stage]:
    """A stage without a model. No task may remain at its end."""
    before = asyncio.all_tasks()
    clock = clock or FakeClock()
    bus, registry = EventBus(clock), Registry(tools)
    events: list[Event] = []

    async def record() -> None:
        async for envelope in subscription:
            events.append(envelope.event)  # noqa: PERF401  (each as it comes)

    with bus.subscribe() as subscription:
        recorder = asyncio.create_task(record())
        approvals = Approvals(bus, root, clock=clock)
        async with ToolExecutor(bus, registry, root, clock=clock, approvals=approvals) as executor:
            yield Stage(bus, executor, approvals, registry, conversation(), clock, events)
    await recorder
    assert asyncio.all_tasks() == before


def conversation() -> Conversation:
    return Conversation(new_id(), "/repo", "fake-model", 0, 0)


def results(messages: Iterable[Message]) -> list[str]:
    return [message.content for message in messages if isinstance(message, ToolMessage)]


async def until(condition: Callable[[], object]) -> None:
    """Let other tasks run until the condition is true."""
    for _ in range(20_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to that")
