"""Replays a cassette: runs the same session without calling a provider, a tool or a clock."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from treadle.clock import Clock
from treadle.config.model import HistorySettings, LimitSettings, ToolSettings
from treadle.errors import UsageError
from treadle.events import EventBus, Outcome
from treadle.events.types import (
    CallKey,
    Effect,
    ErrorKind,
    Mode,
    RetrievalFinished,
    SourceRange,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
    ToolFailure,
    ToolView,
    Usage,
)
from treadle.instructions.model import Instructions
from treadle.llm.chat_model import (
    AttemptFinished,
    AttemptStarted,
    ModelObserver,
    ModelReplacedError,
)
from treadle.llm.messages import AssistantMessage, ChatRequest, ModelReply
from treadle.llm.provider_errors import FaultKind, ProviderError
from treadle.session.attachments import ResolvedAttachments
from treadle.session.cassette import (
    MALFORMED,
    Cassette,
    CassetteMismatchError,
    Json,
    check,
    message_from,
)
from treadle.session.context_choices import ContextChoices
from treadle.session.conversation import Conversation, MessageState
from treadle.session.instructions import ReadInstructions
from treadle.session.role import assistant_for
from treadle.session.session import ReadPinned, RequestSession
from treadle.tools.contract import ReadMode, Registry, ToolSchema
from treadle.tools.executor import OpenCall, ToolExecutor


class StillClock:
    """A clock that stays at the time of the recording. Its `sleep` never returns."""

    def __init__(self, now_us: int) -> None:
        self._now_us = now_us

    def monotonic(self) -> float:
        return 0.0

    def now_us(self) -> int:
        return self._now_us

    async def sleep(self, seconds: float) -> None:  # noqa: ARG002  (the protocol has this argument)
        await asyncio.Event().wait()


class RecordedTools(Registry):
    """The recorded tools. None of them can run."""

    def __init__(self, specs: tuple[ToolSchema, ...]) -> None:
        super().__init__(())
        self._specs = specs

    def names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self._specs)


class ReplayExecutor(ToolExecutor):
    """Answers each call with its recorded outcome. No tool runs."""

    def __init__(self, cassette: Cassette, bus: EventBus, clock: Clock) -> None:
        root = Path(cassette.head["conversation"]["root"])
        super().__init__(bus, Registry(()), root, clock=clock)
        self._cassette = cassette

    async def answer(self, call: OpenCall) -> Outcome:
        position = (call.request.key.turn, call.request.key.slot)
        for event in self._cassette.retrievals.get(position, ()):
            await self.bus.publish(_retrieval(event))
        return _outcome(self._cassette.outcomes.get(position), call.request)


class ReplayModel:
    """A `ChatModel` that answers each request from a cassette, in the recorded order."""

    callable_tools: frozenset[str] | None = None

    def __init__(self, cassette: Cassette) -> None:
        self._cassette = cassette
        self._next = 0
        self._state: Json = cassette.head["model"]

    @property
    def provider(self) -> str:
        return str(self._state["provider"])

    @property
    def model(self) -> str:
        return str(self._state["model"])

    @property
    def context_window(self) -> int:
        return int(self._state["context_window"])

    async def takes_images(self) -> bool:
        """Return False, because a cassette contains no images."""
        return False

    async def complete(self, request: ChatRequest, observer: ModelObserver) -> ModelReply:
        """See `ChatModel.complete`. Raises CassetteMismatchError if the request differs."""
        number, cassette = self._next + 1, self._cassette
        if number > len(cassette.exchanges):
            raise CassetteMismatchError(
                f"The replay makes request {number}; {cassette.path} has only {number - 1}.",
                hint="Record the session again.",
            )
        exchange = cassette.exchanges[self._next]
        check(number, exchange["request"], request, cassette.head["treadle"])
        self._next = number
        try:
            reply = _reply(exchange["reply"]) if "reply" in exchange else None
            failed = _error(exchange.get("error"))
            for report in exchange["told"]:
                await _notify(observer, report, reply)
            self._state = exchange["model"]
        except MALFORMED as error:
            raise UsageError(
                f"Exchange {number} of {cassette.path} cannot be replayed: {error}.",
                hint="Record the session again.",
            ) from error
        if reply is not None:
            return reply
        if "replaced" in exchange:
            raise ModelReplacedError
        raise failed

    async def close(self) -> None:
        """Do nothing: no connection is open."""


def still_clock(cassette: Cassette) -> StillClock:
    """Return the clock for a replay. Create the bus of the replay with this clock."""
    return StillClock(cassette.head["started_us"])


@asynccontextmanager
async def replaying(cassette: Cassette, bus: EventBus) -> AsyncIterator[RequestSession]:
    """Yield a session that replays the cassette.

    Run it with the recorded question. Tool results and automatic contexts come from the cassette,
    and no tool runs. If the bus of each replay has a `still_clock`, all replays publish the same
    events with the same numbers and ids. Raises UsageError for an incomplete cassette.
    """
    head = cassette.head
    try:
        clock = still_clock(cassette)
        executor = ReplayExecutor(cassette, bus, clock)
        request_id = UUID(head["request_id"])
        tools = RecordedTools(tuple(ToolSchema(**spec) for spec in head["tools"]))
        conversation = _conversation(head, clock)
        session = RequestSession(
            executor=executor,
            model=ReplayModel(cassette),
            registry=tools,
            conversation=conversation,
            role=assistant_for(
                conversation.root, tools.names(), brief=bool(head.get("brief", False))
            ),
            settings=ToolSettings.model_validate(head["settings"]["tools"]),
            limits=LimitSettings.model_validate(head["settings"]["limits"]),
            history=HistorySettings.model_validate(head["settings"]["history"]),
            automatic_context=_contexts(cassette, bus) if cassette.contexts else None,
            pinned=_pinned(cassette) if cassette.pinned else None,
            mode=_mode(head),
            instructions=_instructions(cassette) if cassette.instructions else None,
            stream=head["stream"],
            clock=clock,
            ids=lambda: request_id,
        )
    except MALFORMED as error:
        raise UsageError(
            f"{cassette.path} is not a cassette that can be replayed: {error}.",
            hint="Record it again.",
        ) from error
    async with executor:
        yield session


def _conversation(head: Json, clock: StillClock) -> Conversation:
    recorded, model = head["conversation"], head["model"]
    now = clock.now_us()
    name = f"{model['provider']}/{model['model']}"
    conversation = Conversation(UUID(recorded["id"]), recorded["root"], name, now, now)
    conversation.choices = ContextChoices.decode(recorded.get("choices", ""))
    for entry in recorded["entries"]:
        added = conversation.add(message_from(entry["message"]), now, MessageState(entry["state"]))
        added.number = entry.get("number", added.number)  # `ContextChoices` contains such numbers
    return conversation


def _mode(head: dict[str, Any]) -> ReadMode:
    """Return a function that returns the mode at the start of the recorded session."""
    mode = Mode(head["conversation"].get("mode", Mode.NORMAL))

    async def recorded() -> Mode:
        return mode

    return recorded


def _contexts(cassette: Cassette, bus: EventBus) -> Callable[[str, UUID], Awaitable[str]]:
    texts = iter(cassette.contexts)
    retrievals = iter(cassette.retrievals.get(None, ()))

    async def recorded(_user_text: str, _request_id: UUID) -> str:
        event = next(retrievals, None)
        if event is not None:
            await bus.publish(_retrieval(event))
        return next(texts, "")

    return recorded


def _pinned(cassette: Cassette) -> ReadPinned:
    recorded = iter(cassette.pinned)

    async def read() -> ResolvedAttachments:
        return next(recorded, ResolvedAttachments())

    return read


def _instructions(cassette: Cassette) -> ReadInstructions:
    recorded = iter(cassette.instructions)

    async def read(*_: object) -> Instructions:
        return next(recorded, Instructions())

    return read


def _outcome(line: Json | None, call: ToolCallRequested) -> ToolCallCompleted | ToolCallFailed:
    common: dict[str, Any] = {
        "request_id": call.request_id,
        "parent_id": call.parent_id,
        "key": call.key,
        "call_id": call.call_id,
    }
    if line is None:
        failure = ToolFailure(ErrorKind.UNAVAILABLE, "The recording ends before this result.")
        return ToolCallFailed(**common, error=failure, duration=0.0)
    event = line["event"]
    if line["ok"]:
        view = event["ui"]
        ui = ToolView(view["summary"], tuple(map(tuple, view["fields"])), view["details"])
        return ToolCallCompleted(
            **common, content=event["content"], ui=ui, duration=event["duration"]
        )
    error = event["error"]
    failure = ToolFailure(
        **{**error, "kind": ErrorKind(error["kind"]), "effect": Effect(error["effect"])}
    )
    return ToolCallFailed(**common, error=failure, duration=event["duration"])


def _retrieval(event: Json) -> RetrievalFinished:
    key = CallKey(**event["key"]) if event["key"] else None
    ids = {name: event[name] and UUID(event[name]) for name in ("request_id", "parent_id")}
    sources = tuple(SourceRange(**source) for source in event["sources"])
    return RetrievalFinished(**{**event, **ids, "key": key, "sources": sources})


async def _notify(observer: ModelObserver, report: Json, reply: ModelReply | None) -> None:
    ((kind, value),) = report.items()
    match kind:
        case "started":
            operation = UUID(value["operation_id"])
            await observer.attempt_started(AttemptStarted(**{**value, "operation_id": operation}))
        case "finished":
            operation = UUID(value["operation_id"])
            made = reply if value["error"] is None else None
            await observer.attempt_finished(
                AttemptFinished(**{**value, "operation_id": operation, "reply": made})
            )
        case "text" | "reasoning":
            await observer.delta(value, reasoning=kind == "reasoning")
        case "retry":
            await observer.retry_scheduled(**value)
        case "fallback":
            await observer.fallback_applied(**value)
        case "waiting":
            await observer.waiting(**value)
        case _:
            await observer.notice(**value)


def _reply(recorded: Json) -> ModelReply:
    message = message_from(recorded["message"])
    if not isinstance(message, AssistantMessage):
        raise TypeError("its reply is not a model's message")
    return ModelReply(**{**recorded, "message": message, "usage": Usage(**recorded["usage"])})


def _error(recorded: Json | None) -> ProviderError:
    if recorded is None:
        return ProviderError(
            "The recording ends here: this request was interrupted.",
            kind=FaultKind.INCOMPLETE,
        )
    fields = dict(recorded)
    return ProviderError(fields.pop("message"), **{**fields, "kind": FaultKind(fields["kind"])})
