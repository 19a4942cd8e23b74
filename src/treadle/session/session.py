"""The request session: the loop that serves one user message."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.config.model import LimitSettings, ToolSettings
from treadle.errors import TreadleError
from treadle.events import EventBus, Outcome
from treadle.events.types import (
    ErrorKind,
    Notice,
    PromptConstructed,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
    SessionStarted,
    SourceRange,
    StopReason,
    ToolCallCompleted,
    ToolFailure,
    Usage,
)
from treadle.ids import IdSource, new_id
from treadle.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Message,
    ModelReply,
    NoteMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from treadle.llm.port import ChatModel
from treadle.secrets import redact
from treadle.session.calls import OpenCalls, ill_kinds, whole_calls
from treadle.session.conversation import Conversation
from treadle.session.conversations import ConversationStore
from treadle.session.cutting import cut_to_tokens
from treadle.session.history import Prompt, TokenCounts, build_prompt
from treadle.session.limits import LimitReachedError, Limits
from treadle.session.observer import ReplyObserver
from treadle.session.prompts import LAST_TURN, system_prompt
from treadle.session.repetition import Repetitions
from treadle.session.sources import SourceCollector
from treadle.session.tally import Tally
from treadle.tools.failures import failure_content
from treadle.tools.registry import Registry

AutomaticContext = Callable[[str, UUID], Awaitable[str]]
"""Given the user's text and the request's id, the context that is sent in front of the text; empty
when there is none. It publishes RetrievalFinished for that request, so that its lines are sources.
"""

_CUTS = {"length": StopReason.LENGTH, "content_filter": StopReason.CONTENT_FILTER}
"""Finish reasons of replies that are not whole."""

_CUT_NOTICES = {
    StopReason.LENGTH: "The reply was cut: the provider's limit of its length was reached.",
    StopReason.CONTENT_FILTER: "The reply was cut by the provider's content filter.",
}


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """What came of one user message.

    `text` is the last reply's text, `tool_calls` how many calls were answered, `sources` the lines
    that the model was given. `cost` is in US dollars. What is None is unknown.
    """

    text: str
    stop_reason: StopReason
    usage: Usage
    cost: float | None
    tool_calls: int
    sources: tuple[SourceRange, ...]


class RequestSession:
    """Serves one user message: model call, tool calls, results, model call, … until an answer.

    Its calls go out on `bus` and are answered there by a dispatcher or a front end. Whatever
    happens, each call in `conversation` has its one result, and the next session can go on.
    """

    def __init__(
        self,
        *,
        bus: EventBus,
        model: ChatModel,
        registry: Registry,
        conversation: Conversation,
        store: ConversationStore | None = None,
        settings: ToolSettings | None = None,
        limits: LimitSettings | None = None,
        automatic_context: AutomaticContext | None = None,
        stream: bool = True,
        clock: Clock | None = None,
        ids: IdSource = new_id,
    ) -> None:
        """Without `store` nothing is saved. An empty registry offers no tools."""
        self._bus = bus
        self._model = model
        self._registry = registry
        self._conversation = conversation
        self._store = store
        self._settings = settings or ToolSettings()
        self._automatic_context = automatic_context
        self._stream = stream
        self._clock = clock or SystemClock()
        self._limits = Limits(limits or LimitSettings(), self._clock)
        self._repetitions = Repetitions()
        self._text = ""
        self._tools = tuple(
            ToolSpec(spec.name, spec.description, spec.parameters) for spec in registry.specs()
        )
        self._system = system_prompt(conversation.root, registry.names())
        self._counts = TokenCounts()
        self._tally = Tally()
        self._tool_calls = 0
        self._turn = conversation.next_turn()
        self._user_place: int | None = None
        self._started: float | None = None
        self.request_id: UUID = ids()

    async def run(self, user_text: str) -> SessionOutcome:
        """Serve the message; once. Events tell what happens meanwhile.

        Raises what the model raises for good (`llm.faults.ProviderError`), `ContextWindowError`
        and `StoreError`, after SessionFailed was published; when the task is cancelled,
        CancelledError after SessionCancelled.
        """
        if self._started is not None:
            raise RuntimeError("a request session serves one message; make another one")
        self._started = self._clock.monotonic()
        async with SourceCollector(self._bus, self.request_id) as collector:
            try:
                text, reason = await self._serve(user_text)
                await self._end_turn(reason)
            except asyncio.CancelledError:
                await self._cancelled()
                raise
            except Exception as error:
                await self._failed(error)
                raise
            await self._finished(text, reason)
        return SessionOutcome(
            text, reason, self._usage, self._tally.cost, self._tool_calls, collector.sources()
        )

    async def _serve(self, user_text: str) -> tuple[str, StopReason]:
        await self._bus.publish(
            SessionStarted(
                request_id=self.request_id,
                session_id=self._conversation.id,
                user_text=user_text,
                model=self._model.model,
                provider=self._model.provider,
                tools=self._registry.names(),
            )
        )
        await self._take_user_message(user_text)
        try:
            return await self._loop()
        except LimitReachedError as limit:
            await self._notice("warning", f"Stopped: {limit}.")
            return self._text, limit.reason

    async def _loop(self) -> tuple[str, StopReason]:
        """Ask and run calls until a reply holds none; the text of the last reply."""
        ill: list[set[ErrorKind]] = []
        for remaining in range(self._settings.max_turns - 1, -1, -1):
            ending = self._ending(remaining)
            last = ending is not None and bool(self._tools)
            reply, operation_id = await self._ask(last=ending if last else None)
            message = reply.message
            text = self._text = message.text or ""
            cut = _CUTS.get(reply.finish_reason or "")
            if cut:
                await self._notice("warning", _CUT_NOTICES[cut])
                finished = whole_calls(message.calls) if cut is StopReason.LENGTH else ()
                message = replace(message, calls=finished)
            if not message.calls:
                if text:
                    await self._append(message)
                elif not cut:
                    await self._notice("warning", "The model replied with nothing.")
                completed = ending.reason if ending and last else StopReason.COMPLETED
                return text, cut or completed
            if not await self._may_run(message, ending):
                continue
            outcomes = await self._run_calls(message, operation_id)
            kinds = ill_kinds(outcomes)
            ill = [*ill, kinds] if kinds else []
            if len(ill) > self._settings.invalid_call_retries:
                return text, await self._stop_ill(ill)
            self._repetitions.check()
        raise AssertionError("the last turn ends the loop")

    def _ending(self, remaining: int) -> LimitReachedError | None:
        """Why the next reply has to be the last; None when it need not be."""
        if remaining == 0:
            said = f"the limit of {self._settings.max_turns} turns is reached"
            return LimitReachedError(StopReason.TURN_LIMIT, said)
        if self._limits.no_more_calls:
            said = "the limit of tool calls is reached"
            return LimitReachedError(StopReason.TOOL_CALL_LIMIT, said)
        return None

    async def _may_run(self, message: AssistantMessage, ending: LimitReachedError | None) -> bool:
        """Whether the calls of a reply may run; where not, each has its refusal as its result.

        Raises LimitReachedError when the loop is over.
        """
        try:
            if ending:
                raise ending
            self._limits.check()
        except LimitReachedError as limit:
            await self._refuse_calls(message, str(limit))
            raise
        if self._limits.take_calls(len(message.calls)):
            return True
        await self._refuse_calls(message, "the limit of tool calls would be passed")
        return False

    async def _take_user_message(self, text: str) -> None:
        context = ""
        try:
            if self._automatic_context:
                context = await self._automatic_context(text, self.request_id)
        except TreadleError as error:
            await self._notice("warning", f"No automatic context: {error}")
        finally:  # what the person said is kept even when the turn is cancelled here
            self._user_place = len(self._conversation.entries)
            await self._append(UserMessage(text, context))

    async def _ask(self, *, last: LimitReachedError | None) -> tuple[ModelReply, UUID | None]:
        """The next reply and the id of the model request that brought it; no tools if `last`."""
        self._limits.check()
        tools = () if last else self._tools
        history = self._conversation.messages
        if last:
            history = (*history, NoteMessage(LAST_TURN))
            await self._notice("warning", f"No more tools are offered: {last}.")
        prompt = await asyncio.to_thread(
            build_prompt,
            self._system,
            history,
            tools,
            context_window=self._model.context_window,
            counts=self._counts,
        )
        turn = self._turn
        self._turn += 1
        await self._publish_prompt(prompt, turn)
        request = ChatRequest(prompt.messages, tools, turn, stream=self._stream)
        observer = ReplyObserver(self._bus, self.request_id, turn, self._model)
        try:
            reply = await self._limits.within(self._model.complete(request, observer))
        except BaseException:
            self._tally.add(Usage(), None)
            raise
        self._tally.add(reply.usage, reply.cost)
        estimated = prompt.estimated_tokens + self._counts.of([reply.message])
        if self._limits.spend(reply.usage, reply.cost, estimated=estimated):
            said = f"{self._model.provider} does not tell its cost: the limit of cost cannot hold."
            await self._notice("warning", said)
        return reply, observer.operation_id

    async def _run_calls(
        self, message: AssistantMessage, operation_id: UUID | None
    ) -> Sequence[Outcome]:
        """Run the calls of `message`; it and one result for each are then in the conversation."""
        calls = OpenCalls(
            self._bus,
            self._registry,
            self._settings,
            self._clock,
            request_id=self.request_id,
            parent_id=operation_id,
            calls=message.calls,
        )
        try:
            await self._append(message)
            await self._limits.within(calls.run())
        except LimitReachedError as limit:
            await calls.give_up(ErrorKind.LIMIT, f"Not finished: {limit}.")
            raise
        except asyncio.CancelledError:
            await calls.give_up(ErrorKind.CANCELLED, "Cancelled by the user.")
            raise
        except BaseException:
            await calls.give_up(ErrorKind.INTERNAL, "The session failed while the call ran.")
            raise
        finally:
            outcomes = calls.outcomes()
            self._tool_calls += len(outcomes)
            results = [await self._result(outcome) for outcome in outcomes]
            await self._append(*self._repetitions.note(message.calls, results))
        return outcomes

    async def _result(self, outcome: Outcome) -> ToolMessage:
        """The message of a result: the one place where it is cut to `result_tokens`."""
        if ok := isinstance(outcome, ToolCallCompleted):
            whole = outcome.content
        else:
            whole = failure_content(outcome.error)
        limit = self._settings.result_tokens
        # A long one takes a while: off the loop. No token is shorter than a byte.
        short = len(whole) * 4 <= limit
        content = whole if short else await asyncio.to_thread(cut_to_tokens, whole, limit)
        return ToolMessage(outcome.key, content, ok=ok)

    async def _refuse_calls(self, message: AssistantMessage, why: str) -> None:
        """Keep a reply whose calls may not run, each call with its refusal."""
        content = failure_content(ToolFailure(ErrorKind.LIMIT, f"Not run: {why}."))
        results = [ToolMessage(call.key, content, ok=False) for call in message.calls]
        await self._append(message, *results)

    async def _stop_ill(self, ill: Sequence[set[ErrorKind]]) -> StopReason:
        unknown = all(kinds == {ErrorKind.UNKNOWN_TOOL} for kinds in ill)
        what = "tools that do not exist" if unknown else "tools wrongly"
        await self._notice(
            "error", f"Stopped: the model called {what} in {len(ill)} replies in a row."
        )
        return StopReason.UNKNOWN_TOOLS if unknown else StopReason.INVALID_CALLS

    async def _append(self, *messages: Message) -> None:
        """Add to the conversation; all are in it, in memory, before this first waits."""
        first = len(self._conversation.entries)
        for message in messages:
            self._conversation.add(message, self._clock.now_us())
        if self._store and messages:
            await self._store.append(self._conversation, first)

    async def _end_turn(self, reason: StopReason) -> None:
        """Note on the user message how its turn ended."""
        if self._user_place is None:
            return
        self._conversation.entries[self._user_place].stop_reason = reason
        if self._store:
            await self._store.end_turn(self._conversation, self._user_place)

    async def _finished(self, text: str, reason: StopReason) -> None:
        await self._bus.publish(
            SessionFinished(
                request_id=self.request_id,
                session_id=self._conversation.id,
                text=text,
                stop_reason=reason,
                usage=self._usage,
                cost=self._tally.cost,
                tool_calls=self._tool_calls,
                duration=self._duration,
            )
        )

    async def _cancelled(self) -> None:
        try:
            await self._end_turn(StopReason.CANCELLED)
        except TreadleError as error:
            await self._notice("error", str(error))
        finally:  # also when it is cancelled once more meanwhile
            await self._bus.publish(
                SessionCancelled(
                    request_id=self.request_id,
                    session_id=self._conversation.id,
                    usage=self._usage,
                    cost=self._tally.cost,
                    duration=self._duration,
                )
            )

    async def _failed(self, error: Exception) -> None:
        try:
            await self._end_turn(StopReason.FAILED)
        except TreadleError as saving:
            await self._notice("error", str(saving))
        if isinstance(error, TreadleError):
            message, hint = error.message, error.hint
        else:
            message, hint = redact(f"Unexpected {type(error).__name__}: {error}"), None
        await self._bus.publish(
            SessionFailed(
                request_id=self.request_id,
                session_id=self._conversation.id,
                message=message,
                hint=hint,
                usage=self._usage,
                cost=self._tally.cost,
                duration=self._duration,
            )
        )

    async def _publish_prompt(self, prompt: Prompt, turn: int) -> None:
        await self._bus.publish(
            PromptConstructed(
                request_id=self.request_id,
                parent_id=self.request_id,
                turn=turn,
                messages=len(prompt.messages),
                estimated_tokens=prompt.estimated_tokens,
                budget_tokens=prompt.budget_tokens,
                left_out=prompt.left_out,
                reason=prompt.reason,
            )
        )

    async def _notice(self, level: str, text: str) -> None:
        await self._bus.publish(
            Notice(request_id=self.request_id, parent_id=self.request_id, level=level, text=text)
        )

    @property
    def _usage(self) -> Usage:
        return self._tally.usage or Usage()

    @property
    def _duration(self) -> float:
        return self._clock.monotonic() - (self._started or 0.0)
