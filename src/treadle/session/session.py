"""The request session: the loop that serves one user message."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from treadle.clock import Clock, SystemClock
from treadle.config.model import HistorySettings, LimitSettings, ToolSettings
from treadle.errors import TreadleError
from treadle.events import Outcome
from treadle.events.types import (
    ErrorKind,
    Mode,
    SourceRange,
    StopReason,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
    ToolFailure,
    Usage,
)
from treadle.ids import IdSource, new_id
from treadle.llm.chat_model import ChatModel
from treadle.llm.messages import (
    AssistantMessage,
    AttachedText,
    NoteMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle.session.attachments import ResolvedAttachments
from treadle.session.calibration import Calibration
from treadle.session.conversation import Conversation, MessageState
from treadle.session.conversation_writer import ConversationWriter, ReplyDraft
from treadle.session.conversations import ConversationStore
from treadle.session.cut_replies import CUT_NOTICES, CUTS
from treadle.session.history import result_limit
from treadle.session.instructions import (
    InstructionState,
    ReadInstructions,
    instruction_note,
    omissions,
    paths_in_text,
    paths_of_calls,
)
from treadle.session.limits import LimitReachedError, Limits, UsageTotal
from treadle.session.model_requests import ModelRequests, ReceivedReply
from treadle.session.plan import plan_of
from treadle.session.role import Role, assistant_for
from treadle.session.session_events import SessionReporter
from treadle.session.sources import Quote, SourceCollector, check_quotes
from treadle.session.state_notes import state_notes
from treadle.session.tool_results import (
    RepeatedCalls,
    invalid_call_kinds,
    result_message,
    split_truncated_calls,
    truncated_results,
)
from treadle.session.tool_specs import tool_specs
from treadle.tools.approvals.question import READ_ONLY_HINT
from treadle.tools.contract import ReadMode, Registry, normal_mode
from treadle.tools.executor import Caller, ToolExecutor
from treadle.tools.failures import failure_content

AutomaticContext = Callable[[str, UUID], Awaitable[str]]
"""The type of functions that retrieve context for a user message.

The function gets the text of the user and the request id. It returns the context that precedes the
text, or an empty text. It also publishes RetrievalFinished with the request id. The session then
lists the lines of the context among the sources of the answer.
"""

ReadPinned = Callable[[], Awaitable[ResolvedAttachments]]
"""The type of functions that read the current text of a conversation's pinned code."""

MODE_REFUSALS = 3
"""If the mode refuses calls in so many replies in a row, the model gets no more tools."""

_CUT_NOTE = NoteMessage(
    "Your last reply reached its maximum length and was truncated: only the calls above were "
    "received. Send less in one reply."
)


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """The outcome of one user message.

    `text` is the text of the last reply, and `tool_calls` is the number of answered calls.
    `sources` are the lines of files that the model received. `quotes` are the quotes of code in
    `text`, each with the result of comparing it with its file. `cost` is in US dollars, or None if
    it is unknown.
    """

    text: str
    stop_reason: StopReason
    usage: Usage
    cost: float | None
    tool_calls: int
    sources: tuple[SourceRange, ...]
    quotes: tuple[Quote, ...] = ()


class RequestSession:
    """Serves one user message: calls the model and tools alternately until there is an answer.

    `executor` runs the tool calls, and all events are published on its bus. Each call in
    `conversation` gets one result, even if the session fails or is cancelled. Otherwise the next
    session could not continue.
    """

    def __init__(
        self,
        *,
        executor: ToolExecutor,
        model: ChatModel,
        registry: Registry,
        conversation: Conversation,
        role: Role | None = None,
        store: ConversationStore | None = None,
        settings: ToolSettings | None = None,
        limits: LimitSettings | None = None,
        history: HistorySettings | None = None,
        calibration: Calibration | None = None,
        automatic_context: AutomaticContext | None = None,
        pinned: ReadPinned | None = None,
        mode: ReadMode = normal_mode,
        asks_person: bool = True,
        instructions: ReadInstructions | None = None,
        stream: bool = True,
        clock: Clock | None = None,
        ids: IdSource = new_id,
    ) -> None:
        """Create a session for one user message.

        Without a `store` nothing is saved. An empty registry offers no tools. Without a `role` the
        session has the role of the assistant for the code at the conversation's root. Pass the same
        `calibration` to all sessions that use the same models. `pinned` is called for each prompt,
        and `mode` for each prompt and each call that writes.
        `instructions` loads instruction files for the message and for the results of calls.
        """
        self._executor = executor
        bus = executor.bus
        self._model = model
        self._registry = registry
        self._settings = settings or ToolSettings()
        self._automatic_context = automatic_context
        self._read_pinned = pinned
        self._mode = mode
        self._asks_person = asks_person
        plan = plan_of(conversation.entries)
        self._plan_steps = plan.steps if plan else ()
        self._refusals = 0
        """The number of replies in a row with a call that the mode refused."""
        self._instructions = (
            InstructionState(instructions, conversation.root) if instructions else None
        )
        self._reported: set[str] = set()
        """The problems of pinned code that a notice has reported."""
        self._clock = clock or SystemClock()
        self.limits = Limits(limits or LimitSettings(), self._clock)
        self._role = role or assistant_for(conversation.root, registry.names())
        self._repetitions = RepeatedCalls(self._role.repetition_limits)
        self._text = ""
        self.tally = UsageTotal()
        self._tool_calls = 0
        self._root = conversation.root
        self._conversation_id = conversation.id
        self._turn = conversation.next_turn()
        self._user_position: int | None = None
        self._steering: deque[str] = deque()
        self._begun = False
        self._over = False
        self.request_id: UUID = ids()
        self._sources = SourceCollector(bus, self.request_id)
        self._writer = ConversationWriter(conversation, store, self._clock)
        self._reporter = SessionReporter(
            bus, self.request_id, conversation.id, self.tally, self._clock
        )
        self._model_requests = ModelRequests(
            bus,
            self.request_id,
            model,
            system=SystemMessage(self._role.system, self._role.system_without_tools),
            tools=tool_specs(registry, brief=self._role.brief),
            pinned=self._pinned,
            state=self._state,
            writer=self._writer,
            reporter=self._reporter,
            tally=self.tally,
            limits=self.limits,
            history=history or HistorySettings(),
            calibration=calibration or Calibration(),
            stream=stream,
            clock=self._clock,
        )

    async def run(
        self, user_text: str, attachments: ResolvedAttachments | None = None
    ) -> SessionOutcome:
        """Serve one message of the person, and publish events about the progress.

        `attachments` are sent with the message. Their lines count as sources of the answer. If the
        session fails, this method publishes SessionFailed and raises ProviderError,
        ContextWindowError or StoreError. If the task is cancelled, it publishes SessionCancelled
        and raises CancelledError. A session serves only one message.
        """
        if self._begun:
            raise RuntimeError("a request session serves one message; create another one")
        self._begun = True
        async with self._sources:
            try:
                text, reason = await self._serve(user_text, attachments or ResolvedAttachments())
                await self._end_turn(reason)
            except asyncio.CancelledError:
                await self._cancelled()
                raise
            except Exception as error:
                await self._failed(error)
                raise
            finally:
                self._over = True
            await self._reporter.finished(text, reason, self._tool_calls)
        return SessionOutcome(
            text,
            reason,
            self._reporter.usage,
            self.tally.cost,
            self._tool_calls,
            self._sources.sources(),
            await asyncio.to_thread(check_quotes, Path(self._root), text) if text else (),
        )

    async def steer(self, text: str) -> bool:
        """Send another message of the person to the model, with the next model request.

        If the model answers before that request, its answer is kept. The message is then sent in a
        further request of the same session. Returns False if the session is over, so that the
        message needs a session of its own. If a limit ends the session before that request,
        `unserved` contains the message.
        """
        if self._over:
            return False
        self._steering.append(text)
        await self._reporter.steering(text, received=False)
        return True

    @property
    def unserved(self) -> tuple[str, ...]:
        """Steering messages that no request has sent to the model."""
        return tuple(self._steering)

    def remaining(self) -> LimitSettings:
        """Return what is left of the limits. A session that this session starts may use it."""
        return self.limits.remaining()

    def count(self, other: "RequestSession") -> None:
        """Count the usage of another session, which a call of this session started."""
        if other.tally.usage is not None:
            self.tally.add(other.tally.usage, other.tally.cost)
        self.limits.count(other.limits)

    async def _serve(
        self, user_text: str, attachments: ResolvedAttachments
    ) -> tuple[str, StopReason]:
        self._caller = Caller(
            self._registry,
            self._conversation_id,
            user_text,
            self._mode,
            asks_person=self._asks_person,
        )
        await self._reporter.started(user_text, self._model, self._registry.names(), self._role)
        self._sources.add(attachments.sources)
        await self._take_user_message(attachments.message(user_text))
        try:
            return await self._loop()
        except LimitReachedError as limit:
            await self._writer.cut_draft(MessageState.CANCELLED)
            await self._reporter.notice("warning", f"Stopped: {limit}.")
            return self._text, limit.reason

    async def _loop(self) -> tuple[str, StopReason]:
        """Alternate between model requests and tool calls until a reply has no calls."""
        invalid: list[set[ErrorKind]] = []
        cuts = 0
        for remaining in range(self._settings.max_turns - 1, -1, -1):
            await self._take_steering()
            ending = self._ending(remaining)
            last = ending is not None and bool(self._registry.names())
            turn, self._turn = self._turn, self._turn + 1
            received = await self._model_requests.ask(turn, last=ending if last else None)
            message = received.reply.message
            text = self._text = message.text or ""
            cut = CUTS.get((received.reply.finish_reason or "").lower())
            message, cut_off = await self._without_incomplete_calls(message, cut)
            if not message.calls:
                await received.draft.complete(message)
                if not text and not cut:
                    await self._reporter.notice("warning", "The model returned an empty reply.")
                if self._steering and not cut and not ending:
                    continue
                completed = ending.reason if ending and last else StopReason.COMPLETED
                return text, cut or completed
            if not await self._may_run(received.draft, message, ending):
                continue
            outcomes = await self._run_calls(received, message, cut_off)
            await self._report_plan()
            await self._add_instructions(paths_of_calls(message.calls, outcomes))
            if cut and not cut_off:
                await self._writer.append(_CUT_NOTE)
            cuts = 0 if outcomes else cuts + 1
            if cuts > self._settings.invalid_call_retries:
                return text, StopReason.LENGTH
            if (final := self._final(message, outcomes)) is not None:
                return final, StopReason.COMPLETED
            kinds = invalid_call_kinds(outcomes)
            invalid = [*invalid, kinds] if kinds else []
            if len(invalid) > self._settings.invalid_call_retries:
                return text, await self._stop_invalid(invalid)
            self._repetitions.check()
            self._refusals = self._refusals + 1 if any(map(_mode_refused, outcomes)) else 0
        raise AssertionError("the last turn ends the loop")

    async def _without_incomplete_calls(
        self, message: AssistantMessage, cut: StopReason | None
    ) -> tuple[AssistantMessage, tuple[ToolCall, ...]]:
        """Return the reply with the calls that need results, and the truncated ones among them.

        If a content filter ended the reply, all its calls are dropped.
        """
        if cut is None:
            return message, ()
        await self._reporter.notice("warning", CUT_NOTICES[cut])
        if cut is StopReason.CONTENT_FILTER:
            return replace(message, calls=()), ()
        whole, cut_off = split_truncated_calls(message.calls)
        return replace(message, calls=(*whole, *cut_off)), cut_off

    def _ending(self, remaining: int) -> LimitReachedError | None:
        """Return the limit because of which the next reply has to be the last one, or None."""
        if remaining == 0:
            text = f"the limit of {self._settings.max_turns} turns is reached"
            return LimitReachedError(StopReason.TURN_LIMIT, text)
        if self.limits.no_more_calls:
            text = "the limit of tool calls is reached"
            return LimitReachedError(StopReason.TOOL_CALL_LIMIT, text)
        if self._refusals >= MODE_REFUSALS:
            text = f"the mode {Mode.READ_ONLY} refused calls in {self._refusals} replies in a row"
            return LimitReachedError(StopReason.REPEATED_CALLS, text)
        return None

    async def _may_run(
        self, draft: ReplyDraft, message: AssistantMessage, ending: LimitReachedError | None
    ) -> bool:
        """Whether the calls of a reply may run.

        If they may not run, each call gets a refusal as its result. Raises LimitReachedError if the
        session has to end now.
        """
        try:
            if ending:
                raise ending
            self.limits.check()
        except LimitReachedError as limit:
            await self._refuse_calls(draft, message, str(limit))
            raise
        if self.limits.take_calls(len(message.calls)):
            return True
        await self._refuse_calls(draft, message, "the limit of tool calls would be exceeded")
        return False

    async def _take_user_message(self, message: UserMessage) -> None:
        """Retrieve the automatic context of a message, and add the message with it."""
        text, context = message.text, ""
        try:
            named = paths_in_text(text) | {each.file for each in self._sources.sources()}
            await self._add_instructions(named, first=not message.steers)
            if self._automatic_context:
                context = await self._automatic_context(text, self.request_id)
        except TreadleError as error:
            await self._reporter.notice("warning", f"Automatic context is missing: {error}")
        finally:  # the message is added even if the session is cancelled here
            if not message.steers:
                self._user_position = len(self._writer.conversation.entries)
            message = replace(message, context=context)
            await self._writer.append(message, request_id=self.request_id)
        await self._sources.add_pasted(Path(self._root), text)

    async def _add_instructions(self, paths: AbstractSet[str], *, first: bool = False) -> None:
        """Add the instruction files of folders to the conversation, if it does not have them."""
        if self._instructions is None:
            return
        messages = self._writer.conversation.messages
        loaded = await self._instructions.load(paths, messages, first=first)
        if loaded is None or not loaded.files:
            return
        note, omitted = instruction_note(loaded), omissions(loaded)
        if note is None and messages and first:
            return  # an earlier message has reported that these files are left out
        if note is not None:
            await self._writer.append(note)
        await self._reporter.instructions(loaded)
        if omitted:
            await self._reporter.notice("warning", omitted)

    async def _pinned(self) -> tuple[AttachedText, ...]:
        """Return the pinned code for the next prompt.

        Its lines are added to the sources of the answer.
        """
        if self._read_pinned is None:
            return ()
        pinned = await self._read_pinned()
        for problem in pinned.problems:
            if problem not in self._reported:
                self._reported.add(problem)
                await self._reporter.notice("warning", problem)
        self._sources.add(pinned.sources)
        return pinned.texts

    async def _state(self) -> tuple[NoteMessage, ...]:
        """Return the notes about the state of the conversation for the next prompt.

        They come last in the prompt, so the fitting of the history never leaves them out.
        """
        return state_notes(await self._mode(), self._writer.conversation.entries)

    async def _report_plan(self) -> None:
        """Publish the plan if the last calls changed it."""
        plan = plan_of(self._writer.conversation.entries)
        steps = plan.steps if plan else ()
        if steps != self._plan_steps:
            self._plan_steps = steps
            await self._reporter.plan(steps)

    async def _take_steering(self) -> None:
        """Move the waiting steering messages into the conversation, for the next request."""
        while self._steering:
            text = self._steering.popleft()
            await self._take_user_message(UserMessage(text, steers=True))
            await self._reporter.steering(text, received=True)

    async def _run_calls(
        self, received: ReceivedReply, message: AssistantMessage, cut_off: tuple[ToolCall, ...]
    ) -> Sequence[Outcome]:
        """Run the calls of a reply, and add the reply and their results to the conversation.

        Each call gets one result.

        The calls in `cut_off` do not run, and their results state the reason.
        """
        tokens = result_limit(received.room, len(message.calls), self._settings.result_tokens)
        requests = [
            self._request(call, received.operation_id, tokens)
            for call in message.calls
            if call not in cut_off
        ]
        calls = self._executor.calls_of_reply(requests, self._caller, self._settings)
        try:
            await received.draft.complete(message)
            await self.limits.run(calls.run())
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
            results = [await result_message(outcome, tokens) for outcome in outcomes]
            noted = self._repetitions.note(message.calls, results, tokens)
            await self._writer.append(*noted, *truncated_results(cut_off))
        return outcomes

    def _request(self, call: ToolCall, parent_id: UUID | None, tokens: int) -> ToolCallRequested:
        """Return the request of a call.

        The result of a final tool is the answer, so its length has no limit.
        """
        return ToolCallRequested(
            request_id=self.request_id,
            parent_id=parent_id,
            key=call.key,
            call_id=call.call_id,
            vendor=call.vendor,
            name=call.name,
            arguments=call.arguments,
            max_tokens=None if call.name in self._role.final_tools else tokens,
        )

    def _final(self, message: AssistantMessage, outcomes: Sequence[Outcome]) -> str | None:
        """Return the result of a final tool, which is the answer of the session, or None."""
        named = {call.key: call.name for call in message.calls}
        return next(
            (
                outcome.content
                for outcome in outcomes
                if isinstance(outcome, ToolCallCompleted)
                and named[outcome.key] in self._role.final_tools
            ),
            None,
        )

    async def _refuse_calls(
        self, draft: ReplyDraft, message: AssistantMessage, reason: str
    ) -> None:
        """Add a reply whose calls may not run to the conversation, with a refusal for each call."""
        content = failure_content(ToolFailure(ErrorKind.LIMIT, f"Not run: {reason}."))
        results = [ToolMessage(call.key, content, ok=False) for call in message.calls]
        try:
            await draft.complete(message)
        finally:
            await self._writer.append(*results)

    async def _stop_invalid(self, invalid: Sequence[set[ErrorKind]]) -> StopReason:
        unknown = all(kinds == {ErrorKind.UNKNOWN_TOOL} for kinds in invalid)
        what = "tools that do not exist" if unknown else "tools wrongly"
        await self._reporter.notice(
            "error", f"Stopped: the model called {what} in {len(invalid)} replies in a row."
        )
        return StopReason.UNKNOWN_TOOLS if unknown else StopReason.INVALID_CALLS

    async def _end_turn(self, reason: StopReason) -> None:
        """Save the reason why the run ended, in the user message that began the run."""
        if self._user_position is not None:
            entry = self._writer.conversation.entries[self._user_position]
            await self._writer.end_turn(entry, reason)

    async def _cancelled(self) -> None:
        try:
            await self._writer.cut_draft(MessageState.CANCELLED)
            await self._end_turn(StopReason.CANCELLED)
        except TreadleError as error:
            await self._reporter.notice("error", str(error))
        finally:  # this runs even after a second cancellation
            await self._reporter.cancelled()

    async def _failed(self, error: Exception) -> None:
        try:
            await self._writer.cut_draft(MessageState.FAILED)
            await self._end_turn(StopReason.FAILED)
        except TreadleError as saving:
            await self._reporter.notice("error", str(saving))
        await self._reporter.failed(error)


def _mode_refused(outcome: Outcome) -> bool:
    """Whether the mode of the conversation refused a call."""
    return isinstance(outcome, ToolCallFailed) and outcome.error.hint == READ_ONLY_HINT
