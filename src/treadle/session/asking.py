"""Asks the model for one reply after the other: prompt, request, and what it took."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from treadle.clock import Clock
from treadle.config.model import HistorySettings
from treadle.events import EventBus
from treadle.events.types import Usage
from treadle.llm.chat_model import ChatModel, ModelReplacedError
from treadle.llm.messages import (
    AssistantMessage,
    ChatRequest,
    Message,
    ModelReply,
    NoteMessage,
    SystemMessage,
    ToolSpec,
)
from treadle.llm.provider_errors import FaultKind, ProviderError
from treadle.session.calibration import Calibration
from treadle.session.compaction import (
    SUMMARY_SYSTEM,
    SUMMARY_TOKENS,
    coverable,
    summary_note,
    to_sum_up,
)
from treadle.session.conversation import MessageState
from treadle.session.history import (
    ContextWindowError,
    Prompt,
    TokenCounts,
    build_prompt,
    smaller_window,
)
from treadle.session.keeping import Draft, Keeper
from treadle.session.limits import LimitReachedError, Limits
from treadle.session.observer import ReplyObserver
from treadle.session.prompts import LAST_TURN
from treadle.session.reporting import Reporter
from treadle.session.tally import Tally


@dataclass(frozen=True, slots=True)
class Asked:
    """A reply, the draft that keeps its place, and the id of the request that brought it.

    `room` is how many tokens the results of its calls may take together in the next prompt.
    """

    reply: ModelReply
    draft: Draft
    operation_id: UUID | None
    room: int


class Asker:
    """The model requests of one session. Counts what they take in `tally` and `limits`."""

    def __init__(
        self,
        bus: EventBus,
        request_id: UUID,
        model: ChatModel,
        *,
        system: SystemMessage,
        tools: tuple[ToolSpec, ...],
        keeper: Keeper,
        reporter: Reporter,
        tally: Tally,
        limits: Limits,
        history: HistorySettings,
        calibration: Calibration,
        stream: bool,
        clock: Clock,
    ) -> None:
        self._bus = bus
        self._request_id = request_id
        self._model = model
        self._system = system
        self._tools = tools
        self._keeper = keeper
        self._reporter = reporter
        self._tally = tally
        self._limits = limits
        self._may_compact = history.compaction == "summary"
        self._calibration = calibration
        self._stream = stream
        self._clock = clock
        self._counts = TokenCounts()

    async def ask(self, turn: int, *, last: LimitReachedError | None) -> Asked:
        """The next reply; no tools are offered if `last` says why it has to be the last."""
        self._limits.check()
        tools = () if last else self._tools
        if last:
            await self._reporter.notice("warning", f"The model gets no more tools: {last}.")
        shrunk = False
        while True:
            prompt = await self._prompt(turn, tools, (NoteMessage(LAST_TURN),) if last else ())
            request = ChatRequest(prompt.messages, tools, turn, stream=self._stream)
            draft = await self._keeper.draft(
                AssistantMessage(provider=self._model.provider, model=self._model.model)
            )
            try:
                reply, operation_id = await self._complete(request, prompt, draft)
            except ModelReplacedError:
                await self._keeper.cut_draft(MessageState.FAILED)
            except ProviderError as error:
                if shrunk or draft.begun or not await self._shrink(prompt, tools, error):
                    raise
                shrunk = True
                await self._keeper.cut_draft(MessageState.FAILED)
            else:
                room = prompt.room - self._counts.of([reply.message])
                return Asked(reply, draft, operation_id, room)

    async def _prompt(
        self, turn: int, tools: tuple[ToolSpec, ...], notes: Sequence[Message]
    ) -> Prompt:
        """The prompt of a request, of a compacted history where that is wanted and needed."""
        conversation = self._keeper.conversation
        prompt = await self._build(self._system, (*conversation.messages, *notes), tools)
        if prompt.left_out and self._may_compact:
            self._may_compact = False  # once in a session: what still does not fit is left out
            if await self._compact(turn, prompt):
                prompt = await self._build(self._system, (*conversation.messages, *notes), tools)
        await self._reporter.prompt(prompt, turn)
        return prompt

    async def _shrink(
        self, prompt: Prompt, tools: tuple[ToolSpec, ...], error: ProviderError
    ) -> bool:
        """Take a smaller window where the model found the prompt too long and that can help."""
        if error.kind is not FaultKind.CONTEXT_LENGTH:
            return False
        smaller = smaller_window(prompt, error.window)
        try:
            shorter = await asyncio.to_thread(
                build_prompt,
                self._system,
                prompt.messages[1:],
                tools,
                context_window=smaller,
                counts=self._counts,
                scale=self._calibration.scale(self._model),
            )
        except ContextWindowError:
            return False
        if shorter.messages == prompt.messages:
            return False
        self._calibration.narrow(self._model, smaller)
        await self._reporter.notice(
            "warning",
            f"The prompt was too long for {self._model.model}. Treadle shortens older parts of "
            f"the conversation to {shorter.budget_tokens:,} tokens and tries again.",
        )
        return True

    async def _build(
        self, system: SystemMessage, history: Sequence[Message], tools: tuple[ToolSpec, ...]
    ) -> Prompt:
        return await asyncio.to_thread(
            build_prompt,
            system,
            history,
            tools,
            context_window=self._calibration.window(self._model),
            counts=self._counts,
            scale=self._calibration.scale(self._model),
        )

    async def _compact(self, turn: int, prompt: Prompt) -> bool:
        """Have the older part of the conversation summed up; whether it was."""
        conversation, started = self._keeper.conversation, self._clock.monotonic()
        covers = coverable(conversation, prompt.budget_tokens, self._counts)
        if not covers:
            return False
        before = self._counts.of(conversation.messages)
        asked = await self._build(
            SystemMessage(SUMMARY_SYSTEM), to_sum_up(conversation, covers), ()
        )
        request = ChatRequest(
            asked.messages, turn=turn, max_output_tokens=SUMMARY_TOKENS, stream=self._stream
        )
        try:
            reply, _ = await self._complete(request, asked, None)
        except (ProviderError, ModelReplacedError) as error:
            text = None
            why = str(error) or "another model replaced the requested model."
        else:
            text, why = reply.message.text, "The model returned no summary."
        if not text:
            await self._reporter.notice(
                "warning", f"The conversation could not be summarized: {why}"
            )
            return False
        await self._keeper.append(summary_note(text, covers))
        after = self._counts.of(conversation.messages)
        await self._reporter.compacted(covers, before, after, self._clock.monotonic() - started)
        return True

    async def _complete(
        self, request: ChatRequest, prompt: Prompt, draft: Draft | None
    ) -> tuple[ModelReply, UUID | None]:
        """One request, counted whether it brings a reply or not."""
        model = self._model
        observer = ReplyObserver(
            self._bus,
            self._request_id,
            request.turn,
            model,
            estimated_tokens=prompt.estimated_tokens,
            draft=draft,
        )
        try:
            reply = await self._limits.within(model.complete(request, observer))
        except ModelReplacedError:
            raise
        except BaseException:
            self._tally.add(Usage(), None)
            raise
        self._tally.add(reply.usage, reply.cost)
        if bool(observer.offered) == bool(request.tools):
            self._calibration.learn(model, prompt.unscaled_tokens, reply.usage.input)
        estimated = prompt.estimated_tokens + self._counts.of([reply.message])
        if self._limits.spend(reply.usage, reply.cost, estimated=estimated):
            said = (
                f"{model.provider} does not report costs, so no further request is made under "
                "limits.cost. Set limits.unknown_price to estimate the cost."
            )
            await self._reporter.notice("warning", said)
        return reply, observer.operation_id
