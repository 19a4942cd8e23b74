"""The contract of a tool (arguments, result and properties), and the registry of tools."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from treadle.clock import Clock, SystemClock
from treadle.errors import TreadleError
from treadle.events.types import (
    CallKey,
    Effect,
    ErrorKind,
    Event,
    Mode,
    ToolFailure,
    ToolProgress,
    ToolView,
)
from treadle.tools.approvals.question import Decision, Policy, Question, Subject
from treadle.tools.schemas import JsonSchema, schema_of


class ToolClass(StrEnum):
    """The class of a tool.

    It determines the default limits of a call and the threads for its blocking work. A background
    tool may take minutes.
    """

    REALTIME = "realtime"
    BACKGROUND = "background"


class ToolPlace(StrEnum):
    """The side that runs a tool: Treadle, or a front end."""

    SYSTEM = "system"
    EXTERNAL = "external"


class ToolEffect(StrEnum):
    """The effect of a tool: it only reads, writes, changes what a person sees, or costs money."""

    READ = "read"
    WRITE = "write"
    UI = "ui"
    SPENDS = "spends"
    """The tool changes nothing but costs money."""


PROGRESS_CHARACTERS = 1_000
"""The maximum length of a progress report in characters."""

EVERYTHING = "*"
"""The name that stands for all resources.

A call that writes it waits for all other writing calls.
"""

SCREEN = "screen"
"""The resource of tools that change what a person sees."""


class TokenBudget:
    """An annotation for an argument of a tool.

    It marks the argument as the token limit of the result.
    """


class Arguments(BaseModel):
    """Base class of the arguments of all tools. An unknown argument is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def limited_to(self, limit: int) -> Self:
        """Return these arguments with token budgets of at most `limit`."""
        smaller = {
            name: limit
            for name, info in type(self).model_fields.items()
            if any(isinstance(mark, TokenBudget) for mark in info.metadata)
            and getattr(self, name) > limit
        }
        return self.model_copy(update=smaller) if smaller else self


class Result(BaseModel):
    """Base class of the results of all tools.

    `type` is the name of the form of the result, and `v` is the version of that form.
    """

    model_config = ConfigDict(frozen=True)

    ok: Literal[True] = True
    type: str
    v: int = 1


class ToolError(TreadleError):
    """A failure of a call, which the model receives. The model can then correct its call."""

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
        """Return the error that reports `failure`."""
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
    """Publish nothing. A call without an event bus uses this function."""


async def _nobody_decides(_question: Question) -> Decision:
    raise RuntimeError("there is no approval outside an executor")


ReadMode = Callable[[], Awaitable[Mode]]
"""The type of functions that return the present mode of a conversation."""


async def normal_mode() -> Mode:
    """Return the mode of a call outside a conversation."""
    return Mode.NORMAL


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of a running call: its session, and functions for events and approval.

    `last_user_message` is empty outside a session.
    """

    request_id: UUID
    key: CallKey
    tool: str = ""
    session_id: UUID | None = None
    parent_id: UUID | None = None
    call_id: str = ""
    last_user_message: str = ""
    clock: Clock = field(default_factory=SystemClock)
    publish: Callable[[Event], Awaitable[None]] = _publish_nowhere
    approve: Callable[[Question], Awaitable[Decision]] = _nobody_decides
    """Asks for approval of something that the call proposes, such as a change to a file.

    The time limit of the call pauses while a person is asked.
    """
    private: frozenset[Path] = frozenset()
    """Files that usually contain secrets. A person consented that this call reads them."""
    open_to: Callable[[str], bool] = field(default=lambda _path: True)
    """A function that returns whether the call may read a path that its arguments do not name.

    The path is relative to the root. A tool must call this function before it returns content of
    such a path.
    """
    executor: Executor | None = None
    effect: ToolEffect = ToolEffect.READ
    mode: ReadMode = normal_mode
    asks_person: bool = True
    """Whether a person may be asked about the call."""

    async def report(self, text: str) -> None:
        """Report progress to a person. Reports to a slow subscriber are dropped."""
        await self.publish(
            ToolProgress(
                request_id=self.request_id,
                parent_id=self.parent_id,
                key=self.key,
                text=text[:PROGRESS_CHARACTERS],
            )
        )

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run blocking work in a thread of the tool's class, and return the result of the work.

        The thread continues even if the call has ended, for example after a time-out. Therefore
        `work` must be short, or must notice the end of the call.
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
    """The time limit in seconds. None means the configured default of the tool's class."""
    policy: ClassVar[Policy | None] = None
    """The decision for a call that no rule covers.

    None means that a person is asked about a tool whose effect is WRITE, and that any other tool is
    allowed.
    """
    proposes: ClassVar[bool] = False
    """Whether a running call asks for approval, with a preview, before it changes anything."""

    arguments: type[A]
    result: type[R]

    @abstractmethod
    async def run(self, arguments: A, context: ToolContext) -> R:
        """Run the tool. Raises `ToolError` for a failure that the model should know."""

    def writes(self, arguments: A) -> frozenset[str]:  # noqa: ARG002  (for subclasses)
        """Return the names of the resources that a call changes.

        All tools use the same name for the same resource. Calls of one reply run one after another
        if they have a name in common. If a writing tool does not override this method, its calls
        run alone among all writing calls.
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
        """The decision for a call that no rule covers."""
        if self.policy is not None:
            return self.policy
        if self.proposes:
            return Policy.ALLOW
        return Policy.ASK if self.effect is ToolEffect.WRITE else Policy.ALLOW

    def subjects(self, arguments: A) -> tuple[Subject, ...]:  # noqa: ARG002  (for subclasses)
        """Return the subjects for the approval rules: each path and command of a call."""
        return (Subject(),)

    def is_portable(self, arguments: A) -> bool:  # noqa: ARG002  (for subclasses)
        """Whether a worker may run the call in its own checkout of the same commit.

        Such a call needs only the files of the commit, and its result has no absolute paths.
        """
        return False

    def content(self, result: R) -> str:
        """Return the text of the tool message: compact JSON without fields whose value is None.

        Fields have their aliases as names, since a name such as `_note` is not possible in a
        pydantic model.
        """
        return result.model_dump_json(exclude_none=True, by_alias=True)

    def view(self, arguments: A, result: R) -> ToolView:  # noqa: ARG002  (for subclasses)
        """Return the result as a person sees it."""
        return ToolView(summary=f"{self.name}: done")


AnyTool = Tool[Any, Any]


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as a model receives it. `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: JsonSchema


class Registry:
    """The tools of one session, in the given order."""

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        """Create a registry. Raises ValueError if two tools have the same name."""
        self._tools: dict[str, AnyTool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are named {tool.name}")
            self._tools[tool.name] = tool
        self._specs = tuple(
            ToolSchema(tool.name, tool.description, schema_of(tool.arguments)) for tool in self
        )

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> AnyTool | None:
        """Return the tool with this name, or None."""
        return self._tools.get(name)

    def only(self, names: Collection[str]) -> "Registry":
        """Return a registry of the tools with these names, in the same order."""
        return Registry(tool for tool in self if tool.name in names)

    def with_tools(self, tools: Iterable[AnyTool]) -> "Registry":
        """Return a registry with the tools of this registry, followed by `tools`."""
        return Registry((*self, *tools))

    def replacing(self, tools: Iterable[AnyTool]) -> "Registry":
        """Return a registry in which `tools` replace the tools of the same names."""
        others = {tool.name: tool for tool in tools}
        return Registry(others.get(tool.name, tool) for tool in self)

    def names(self) -> tuple[str, ...]:
        """Return the names of all tools, in order."""
        return tuple(self._tools)

    def specs(self) -> tuple[ToolSchema, ...]:
        """Return the tools as a model receives them, in order."""
        return self._specs
