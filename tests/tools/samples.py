"""Small real tools, and a caller, for the tests of the registry and the executor."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal
from uuid import UUID

from pydantic import Field, field_validator

from treadle.events import EventBus, Outcome
from treadle.events.types import CallKey, ToolCallRequested
from treadle.ids import new_id
from treadle.tools.approvals.question import Policy, Subject
from treadle.tools.contract import (
    AnyTool,
    Arguments,
    Registry,
    Result,
    Tool,
    ToolContext,
    ToolEffect,
)
from treadle.tools.executor import Caller, ToolExecutor


class Piece(Arguments):
    file: str = Field(description="Which file.")
    lines: tuple[int, ...] = ()


class EchoArguments(Arguments):
    text: str = Field(default="", description="What to say.")
    count: int = Field(default=1, ge=1, le=5)
    limit: int | None = Field(default=None, gt=0)
    mode: Literal["plain", "loud"] = "plain"
    pieces: tuple[Piece, ...] = ()
    options: dict[str, int] | None = None

    @field_validator("text")
    @classmethod
    def _polite(cls, text: str) -> str:
        if text == "rude":
            raise ValueError("rude words are not echoed")
        return text


class EchoResult(Result):
    type: str = "echo"
    heard: str
    asked: str
    pieces: tuple[Piece, ...]
    options: dict[str, int] | None = None


class Echo(Tool[EchoArguments, EchoResult]):
    name = "echo"
    description = "Says what it is told."
    arguments = EchoArguments
    result = EchoResult

    async def run(self, arguments: EchoArguments, context: ToolContext) -> EchoResult:
        return EchoResult(
            heard=arguments.text * arguments.count,
            asked=context.last_user_message,
            pieces=arguments.pieces,
            options=arguments.options,
        )


class NeedyArguments(Arguments):
    token_budget: int = Field(ge=1, description="How many tokens.")
    hint: str | None = None


class Needy(Tool[NeedyArguments, Result]):
    name = "needy"
    description = "Has an argument that must be given."
    arguments = NeedyArguments
    result = Result

    async def run(self, arguments: NeedyArguments, context: ToolContext) -> Result:
        return Result(type=f"needy {arguments.token_budget}")


class NoArguments(Arguments):
    pass


class Raising(Tool[NoArguments, Result]):
    """Raises the exception that it was created with."""

    name = "raising"
    description = "Fails."
    effect = ToolEffect.READ
    arguments = NoArguments
    result = Result

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def run(self, arguments: NoArguments, context: ToolContext) -> Result:
        raise self.error


class RaisingWriter(Raising):
    name = "raising_writer"
    effect = ToolEffect.WRITE
    policy = Policy.ALLOW


class TouchArguments(Arguments):
    paths: tuple[str, ...] = ()
    command: str | None = None


class Touch(Tool[TouchArguments, Result]):
    """Has paths and a command as subjects, and returns the private files that it may read."""

    name = "touch"
    description = "Touches."
    arguments = TouchArguments
    result = Result

    def subjects(self, arguments: TouchArguments) -> tuple[Subject, ...]:
        named = [Subject(path=path) for path in arguments.paths]
        commands = [Subject(command=arguments.command)] if arguments.command else []
        return (*named, *commands) or (Subject(),)

    async def run(self, arguments: TouchArguments, context: ToolContext) -> Result:
        return Result(type=" ".join(sorted(path.name for path in context.private)))


class Change(Touch):
    """A writing tool, which asks."""

    name = "change"
    effect = ToolEffect.WRITE


class Gate(Tool[NoArguments, Result]):
    """Starts, then waits until it is opened or cancelled."""

    name = "gate"
    description = "Waits."
    arguments = NoArguments
    result = Result

    def __init__(self, *, stubborn: bool = False) -> None:
        self.stubborn = stubborn
        self.open = asyncio.Event()
        self.started = asyncio.Semaphore(0)
        self.running = 0
        self.cancelled = asyncio.Semaphore(0)

    async def run(self, arguments: NoArguments, context: ToolContext) -> Result:
        self.running += 1
        self.started.release()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled.release()
            if not self.stubborn:
                raise
        finally:
            self.running -= 1
        return Result(type="gate")


class SessionCaller:
    """Makes the calls of one request, each with a future of its outcome."""

    def __init__(
        self,
        executor: ToolExecutor,
        registry: Registry,
        *,
        session_id: UUID | None = None,
        user_message: str = "",
    ) -> None:
        self.executor = executor
        self.caller = Caller(registry, session_id, user_message)
        self.request_id: UUID = new_id()
        self.slot = 0

    async def start(self, name: str, arguments: str = "{}") -> asyncio.Future[Outcome]:
        key = CallKey(0, self.slot)
        self.slot += 1
        request = ToolCallRequested(
            request_id=self.request_id,
            parent_id=UUID(int=7),
            key=key,
            call_id=f"call_{key.slot}",
            vendor="test",
            name=name,
            arguments=arguments,
        )
        call = self.executor.open(request, self.caller)
        await self.executor.start(call)
        return call.outcome

    async def call(self, name: str, arguments: str = "{}") -> Outcome:
        return await asyncio.wait_for(await self.start(name, arguments), 10)


@asynccontextmanager
async def serving(
    bus: EventBus, root: Path, *tools: AnyTool, user_message: str = ""
) -> AsyncIterator[SessionCaller]:
    """A caller of `tools`, which an executor runs."""
    registry = Registry(tools)
    async with ToolExecutor(bus, registry, root) as executor:
        yield SessionCaller(executor, registry, user_message=user_message)
