"""What a tool is: typed arguments, a typed result, and how it may be run."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Generic, Literal, Self, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from treadle.clock import Clock, SystemClock
from treadle.errors import TreadleError
from treadle.events.types import (
    CallKey,
    Effect,
    ErrorKind,
    Event,
    ToolFailure,
    ToolProgress,
    ToolView,
)
from treadle.tools.approvals.question import Decision, Policy, Question, Subject


class ToolClass(StrEnum):
    """Which channel and executor a tool runs on."""

    REALTIME = "realtime"
    BACKGROUND = "background"


class ToolPlace(StrEnum):
    """Who runs a tool: this side, or a front end."""

    SYSTEM = "system"
    EXTERNAL = "external"


class ToolEffect(StrEnum):
    """What a tool does to the world."""

    READ = "read"
    WRITE = "write"
    UI = "ui"
    SPENDS = "spends"
    """Changes nothing, but costs money."""


PROGRESS_CHARACTERS = 1_000
"""Of what a call may say at once of how far it is."""

EVERYTHING = "*"
"""In a set of resources: all that any tool may write."""

SCREEN = "screen"
"""The resource that tools write which change what a person sees."""


class TokenBudget:
    """Marks an argument, in its annotation, as the most tokens that the answer may take."""


class Arguments(BaseModel):
    """Base of the arguments of all tools: an argument that a tool does not have is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def within(self, limit: int) -> Self:
        """These arguments, none of whose token budgets is above `limit`."""
        smaller = {
            name: limit
            for name, info in type(self).model_fields.items()
            if any(isinstance(mark, TokenBudget) for mark in info.metadata)
            and getattr(self, name) > limit
        }
        return self.model_copy(update=smaller) if smaller else self


class Result(BaseModel):
    """Base of the results of all tools. `type` names the shape, `v` its version."""

    model_config = ConfigDict(frozen=True)

    ok: Literal[True] = True
    type: str
    v: int = 1


class ToolError(TreadleError):
    """A tool's refusal or failure that the model should read and can act on."""

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        field: str | None = None,
        expected: str | None = None,
        received: str | None = None,
        hint: str | None = None,
        effect: Effect = Effect.NONE,
    ) -> None:
        super().__init__(message, hint=hint)
        self.failure = ToolFailure(kind, message, field, expected, received, hint, effect)

    @classmethod
    def of(cls, failure: ToolFailure) -> Self:
        """The error that is reported as `failure`."""
        return cls(
            failure.kind,
            failure.message,
            field=failure.field,
            expected=failure.expected,
            received=failure.received,
            hint=failure.hint,
            effect=failure.effect,
        )


async def _publish_nowhere(_event: Event) -> None:
    """For calls outside a session."""


async def _nobody_decides(_question: Question) -> Decision:
    raise RuntimeError("there is no approval outside an executor")


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running call knows of the session that it serves, and how it speaks to it.

    `root` is the resolved root of the repository; `last_user_message` is empty outside a session.
    """

    request_id: UUID
    key: CallKey
    root: Path
    tool: str = ""
    session_id: UUID | None = None
    parent_id: UUID | None = None
    call_id: str = ""
    last_user_message: str = ""
    clock: Clock = field(default_factory=SystemClock)
    publish: Callable[[Event], Awaitable[None]] = _publish_nowhere
    approve: Callable[[Question], Awaitable[Decision]] = _nobody_decides
    """Asks for something that the call proposes, such as a change to a file. The time that a
    person takes is not the call's."""
    private: frozenset[Path] = frozenset()
    """Files that usually hold secrets and that this call may read, by consent."""
    open_to: Callable[[str], bool] = field(default=lambda _path: True)
    """Whether the call may look at a path, relative to the root, that its arguments do not name;
    to be asked before anything that it holds becomes part of an answer."""
    executor: Executor | None = None

    async def report(self, text: str) -> None:
        """Say how far the call is; shown to a person, and dropped where nobody keeps up."""
        await self.publish(
            ToolProgress(
                request_id=self.request_id,
                parent_id=self.parent_id,
                key=self.key,
                text=text[:PROGRESS_CHARACTERS],
            )
        )

    async def in_thread(self, work: Callable[[], T]) -> T:
        """The result of blocking work, done in a thread of the tool's class.

        A call that ends leaves its thread behind: `work` has to notice, or to be short.
        """
        return await asyncio.get_running_loop().run_in_executor(self.executor, work)


A = TypeVar("A", bound=Arguments)
R = TypeVar("R", bound=Result)


class Tool(ABC, Generic[A, R]):
    """One tool. Subclasses set the class variables and implement `run`."""

    name: ClassVar[str]
    description: ClassVar[str]
    version: ClassVar[int] = 1
    tool_class: ClassVar[ToolClass] = ToolClass.REALTIME
    place: ClassVar[ToolPlace] = ToolPlace.SYSTEM
    effect: ClassVar[ToolEffect] = ToolEffect.READ
    timeout: ClassVar[float | None] = None
    """Seconds; None takes the configured default of its class."""
    policy: ClassVar[Policy | None] = None
    """None: a tool that writes asks first, any other is allowed."""
    proposes: ClassVar[bool] = False
    """The call asks for itself, with a preview, before it changes anything."""

    arguments: type[A]
    result: type[R]

    @abstractmethod
    async def run(self, arguments: A, context: ToolContext) -> R:
        """Do the work. Raises `ToolError` for what the model should know."""

    def writes(self, arguments: A) -> frozenset[str]:  # noqa: ARG002  (for subclasses)
        """The resources that a call changes, by names of any kind that tools agree on.

        Calls of one reply whose sets meet run one after another. A tool that writes and does not
        say what waits for every other that writes.
        """
        match self.effect:
            case ToolEffect.READ | ToolEffect.SPENDS:
                return frozenset()
            case ToolEffect.UI:
                return frozenset({SCREEN})
            case ToolEffect.WRITE:
                return frozenset({EVERYTHING})

    @property
    def asks(self) -> Policy:
        """How a call is handled that no rule covers."""
        if self.policy is not None:
            return self.policy
        if self.proposes:
            return Policy.ALLOW
        return Policy.ASK if self.effect is ToolEffect.WRITE else Policy.ALLOW

    def subjects(self, arguments: A) -> tuple[Subject, ...]:  # noqa: ARG002  (for subclasses)
        """What rules of approval are asked about: each path and command that a call is about."""
        return (Subject(),)

    def content(self, result: R) -> str:
        """The text of the tool message: compact JSON without empty optional fields.

        A field that cannot be named so in Python, such as `_note`, has a serialization alias.
        """
        return result.model_dump_json(exclude_none=True, by_alias=True)

    def view(self, arguments: A, result: R) -> ToolView:  # noqa: ARG002  (for subclasses)
        """What a person sees of the result."""
        return ToolView(summary=f"{self.name}: done")
