"""The context plan: what a prompt contains, what it leaves out, and why.

`plan_next` builds the next prompt of a conversation with `build_prompt`, as a session does, and
describes the result. `treadle.app.recorded_context` describes a recorded request in the same form.
"""

import asyncio
import math
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum

from treadle.app.assistant import Assistant
from treadle.app.automatic_context import BUDGETS
from treadle.events.types import Mode
from treadle.instructions.model import LoadedFile
from treadle.llm.messages import Message, NoteMessage, SystemMessage, ToolSpec, UserMessage
from treadle.session import Conversation, Entry
from treadle.session.attachments import ResolvedAttachments
from treadle.session.context_choices import ContextChoices
from treadle.session.conversation import covered_by, numbered_messages, summary_before, title_of
from treadle.session.history import (
    ContextWindowError,
    Decision,
    Omission,
    Prompt,
    begins_turn,
    build_prompt,
)
from treadle.session.instructions import (
    InstructionState,
    instruction_note,
    instruction_texts,
    paths_in_text,
)
from treadle.session.message_tokens import MessagePart, PartKind, TokenCounts, tool_tokens
from treadle.session.state_notes import state_notes
from treadle.session.tool_specs import tool_specs


class SectionKind(StrEnum):
    """The kind of a section of a prompt."""

    SYSTEM = "system"
    TOOLS = "tools"
    HISTORY = "history"
    """The texts of the conversation, one item for each exchange (see `PlanItem`)."""
    RESULTS = "results"
    """The results of tool calls, one item for each exchange."""
    AUTOMATIC_CONTEXT = "automatic_context"
    PINNED = "pinned"
    INSTRUCTIONS = "instructions"
    """Instruction files."""
    ATTACHED = "attached"
    IMAGES = "images"


class ItemState(StrEnum):
    """The state of an item: whether a prompt contains it."""

    WHOLE = "whole"
    SHORTENED = "shortened"
    """A part of the item is left out."""
    LEFT_OUT = "left_out"
    SUMMARIZED = "summarized"
    """A summary replaces the item."""
    LATER = "later"
    """The item is known only when the message is sent."""


@dataclass(frozen=True, slots=True)
class PlanItem:
    """A part of a prompt, or a part that a prompt leaves out.

    `tokens` is the number of tokens that it takes in the prompt. `whole_tokens` is the number that
    it would take in full. An exchange is a user message with everything that follows up to the next
    user message. `message` is the number of the user message that begins the item's exchange. It is
    None for the next message, and for an item that is not part of an exchange. `reason` explains a
    state other than whole.
    """

    name: str
    tokens: int
    whole_tokens: int
    state: ItemState = ItemState.WHOLE
    reason: str | None = None
    message: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """The items of one kind. `tokens` is the sum of the tokens of these items."""

    kind: SectionKind
    tokens: int
    items: tuple[PlanItem, ...]


@dataclass(frozen=True, slots=True)
class ContextPlan:
    """The content of a prompt for a model.

    All numbers of tokens are estimates, multiplied by `calibration`. `tokens` is the sum of the
    sections. `calibration` is the ratio of the provider's counts to the estimates. `window` is the
    context window of the model. `reserve` is the part of the window for the reply, and `budget` is
    the part for the prompt. Each of the three is None if it is unknown. `problem` states why the
    prompt cannot be sent. `notes` are sentences about other changes and omissions. `counted` is the
    provider's count for a recorded request, or None if it is unknown. `choices` contains what the
    person pinned and left out. It is None for a recorded request.
    """

    provider: str
    model: str
    window: int | None
    budget: int | None
    reserve: int | None
    calibration: float
    tokens: int
    sections: tuple[Section, ...]
    problem: str | None = None
    notes: tuple[str, ...] = ()
    counted: int | None = None
    choices: ContextChoices | None = None


@dataclass(frozen=True, slots=True)
class UnscaledItem:
    """An item whose tokens are estimates that are not scaled to a model yet."""

    kind: SectionKind
    item: PlanItem


def scaled_sections(items: Iterable[UnscaledItem], scale: float) -> tuple[Section, ...]:
    """Group items into sections and scale their tokens.

    The rounded tokens of all items add up to the scaled sum, rounded up.
    """
    found: dict[SectionKind, list[PlanItem]] = {}
    unscaled = scaled = 0
    for each in items:
        unscaled += each.item.tokens
        tokens = math.ceil(unscaled * scale) - scaled
        scaled += tokens
        whole = max(tokens, math.ceil(each.item.whole_tokens * scale))
        if each.item.state is ItemState.WHOLE:
            whole = tokens
        found.setdefault(each.kind, []).append(
            replace(each.item, tokens=tokens, whole_tokens=whole)
        )
    return tuple(
        Section(kind, sum(item.tokens for item in found[kind]), tuple(found[kind]))
        for kind in SectionKind
        if kind in found
    )


_NOTHING = ResolvedAttachments()


@dataclass(frozen=True, slots=True)
class _Instructions:
    """The instruction files of the next prompt.

    `note` contains the files that the conversation does not have yet. `files` are all files with
    what is cut or left out.
    """

    note: NoteMessage | None = None
    files: tuple[LoadedFile, ...] = ()

    @classmethod
    async def of(
        cls, assistant: Assistant, conversation: Conversation, paths: AbstractSet[str]
    ) -> "_Instructions":
        """Load the files as a session would, if the next message names `paths`."""
        read = assistant.instruction_reader()
        if read is None:
            return cls()
        messages = conversation.messages
        new = await InstructionState(read, conversation.root).load(paths, messages, first=True)
        folders = {each.path for each in instruction_texts(messages) if not each.own}
        every = await read(paths | folders, frozenset(), 0)
        return cls(instruction_note(new) if new else None, every.files)

    def described(self, item: UnscaledItem) -> UnscaledItem:
        """Return the item of an instruction file with what is cut off it."""
        if item.kind is not SectionKind.INSTRUCTIONS or not item.item.tokens:
            return item
        cut = (each for each in self.files if each.path == item.item.name and each.cut)
        if (file := next(cut, None)) is None:
            return item
        return replace(
            item,
            item=replace(
                item.item,
                whole_tokens=max(item.item.tokens, file.whole_tokens),
                state=ItemState.SHORTENED,
                reason=file.reason,
            ),
        )

    def left_out(self) -> Iterator[UnscaledItem]:
        """Yield an item for each file that is left out as a whole."""
        for each in self.files:
            if each.reason is not None and not each.text:
                item = PlanItem(each.path, 0, each.whole_tokens, ItemState.LEFT_OUT, each.reason)
                yield UnscaledItem(SectionKind.INSTRUCTIONS, item)


async def plan_next(
    assistant: Assistant,
    conversation: Conversation,
    text: str = "",
    attachments: ResolvedAttachments | None = None,
) -> ContextPlan:
    """Return the plan of the next prompt of a conversation, if the next message is `text`.

    The automatic context of that message is not retrieved. The plan calls no model.
    """
    pinned = await assistant.read_pinned(conversation)
    message = (attachments or ResolvedAttachments()).message(text)
    sent = (*(entry.message for entry in conversation.entries), message)
    has_images = any(isinstance(each, UserMessage) and each.images for each in sent)
    images = await assistant.model.takes_images() if has_images else None
    named = paths_in_text(text) | {each.file for each in (attachments or _NOTHING).sources}
    instructions = await _Instructions.of(assistant, conversation, named)
    mode = await assistant.app.conversations.mode(conversation)
    plan = await asyncio.to_thread(
        _plan,
        assistant,
        conversation,
        message,
        pinned,
        instructions,
        images=images is not False,
        mode=mode,
    )
    return replace(plan, notes=(*pinned.problems, *plan.notes))


def _plan(
    assistant: Assistant,
    conversation: Conversation,
    message: UserMessage,
    pinned: ResolvedAttachments,
    instructions: _Instructions,
    *,
    images: bool,
    mode: Mode,
) -> ContextPlan:
    registry, role = assistant.offer(conversation)
    tools = tool_specs(registry, brief=role.brief)
    system = SystemMessage(role.system, role.system_without_tools)
    model, calibration, counts = assistant.model, assistant.calibration, TokenCounts()
    added: list[Message] = [message] if instructions.note is None else [instructions.note, message]
    entries = [
        *conversation.entries,
        *(Entry(each, 0, conversation.next_number + at, None) for at, each in enumerate(added)),
    ]
    notes = ((entries[-1].number, note) for note in state_notes(mode, entries))
    numbered = (*numbered_messages(entries, len(entries), conversation.choices), *notes)
    problem = None
    try:
        prompt = build_prompt(
            system,
            [each for _, each in numbered],
            tools,
            context_window=calibration.window(model),
            counts=counts,
            scale=calibration.scale(model),
            pinned=pinned.texts,
            images=images,
        )
    except ContextWindowError as error:
        prompt, problem = error.prompt, str(error)
    items = [
        UnscaledItem(SectionKind.SYSTEM, _whole("system prompt", counts.of([system]))),
        *_tool_items(assistant, conversation, tools),
        *map(
            instructions.described,
            _Exchanges(entries, prompt, [number for number, _ in numbered], counts).items(),
        ),
        *instructions.left_out(),
        *_automatic_context(assistant, conversation),
    ]
    sections = scaled_sections(items, prompt.scale)
    return ContextPlan(
        model.provider,
        model.model,
        prompt.context_window,
        prompt.budget_tokens,
        prompt.context_window - prompt.budget_tokens,
        prompt.scale,
        sum(section.tokens for section in sections),
        sections,
        problem,
        tuple(_notes(assistant, prompt)),
        choices=conversation.choices,
    )


def _whole(name: str, tokens: int) -> PlanItem:
    return PlanItem(name, tokens, tokens)


def _notes(assistant: Assistant, prompt: Prompt) -> Iterator[str]:
    if prompt.left_out and assistant.app.settings.history.compaction == "summary":
        yield (
            "The session asks the model for a summary before it leaves out exchanges, so the"
            " prompt will differ."
        )


def _tool_items(
    assistant: Assistant, conversation: Conversation, tools: Sequence[ToolSpec]
) -> Iterator[UnscaledItem]:
    offered = {tool.name for tool in tools}
    for tool in tools:
        yield UnscaledItem(SectionKind.TOOLS, _whole(tool.name, tool_tokens(tool)))
    for spec in tool_specs(assistant.available_tools()):
        if spec.name in offered:
            continue
        by_person = spec.name in conversation.choices.tools_left_out
        reason = "You left it out." if by_person else "The window has no space for it."
        whole = tool_tokens(spec)
        item = PlanItem(spec.name, 0, whole, ItemState.LEFT_OUT, reason)
        yield UnscaledItem(SectionKind.TOOLS, item)


def _automatic_context(assistant: Assistant, conversation: Conversation) -> Iterator[UnscaledItem]:
    """Yield an item for the automatic context, which is retrieved only with the next message."""
    budget = BUDGETS[assistant.app.settings.context.automatic]
    if not budget:
        return
    if conversation.choices.automatic_context:
        state, reason = ItemState.LATER, f"At most {budget:,} tokens, found for your next message."
    else:
        state, reason = ItemState.LEFT_OUT, "You switched it off for this conversation."
    item = PlanItem("next message", 0, 0, state, reason)
    yield UnscaledItem(SectionKind.AUTOMATIC_CONTEXT, item)


_SECTIONS = {
    PartKind.TEXT: SectionKind.HISTORY,
    PartKind.RESULT: SectionKind.RESULTS,
    PartKind.CONTEXT: SectionKind.AUTOMATIC_CONTEXT,
    PartKind.PINNED: SectionKind.PINNED,
    PartKind.ATTACHED: SectionKind.ATTACHED,
    PartKind.INSTRUCTIONS: SectionKind.INSTRUCTIONS,
    PartKind.IMAGE: SectionKind.IMAGES,
}
_NAMED = frozenset({PartKind.PINNED, PartKind.ATTACHED, PartKind.IMAGE, PartKind.INSTRUCTIONS})
_REASONS = {
    Omission.SPACE: "It does not fit into the window.",
    Omission.IMAGES: "The model takes no images.",
}


class _Exchanges:
    """Builds the items of the conversation from the decisions of `build_prompt`."""

    def __init__(
        self,
        entries: Sequence[Entry],
        prompt: Prompt,
        numbers: Sequence[int],
        counts: TokenCounts,
    ) -> None:
        self._counts = counts
        self._next = entries[-1].number
        self._covered = covered_by(summary_before(entries, len(entries)))
        self._entries: dict[int | None, list[tuple[int, Entry]]] = {}
        exchange_of: dict[int, int | None] = {}
        exchange = None
        for position, entry in enumerate(entries):
            exchange = entry.number if begins_turn(entry.message) else exchange
            exchange_of[entry.number] = exchange
            self._entries.setdefault(exchange, []).append((position, entry))
        self._summary: list[Decision] = []
        self._decisions: dict[int | None, list[Decision]] = {}
        exchange = None
        for decision in prompt.decisions:
            if decision.omission is Omission.INVALID:
                continue
            if isinstance(note := decision.original, NoteMessage) and note.covers:
                self._summary.append(decision)
                continue
            if decision.position is not None:
                exchange = exchange_of[numbers[decision.position]]
            self._decisions.setdefault(exchange, []).append(decision)

    def items(self) -> Iterator[UnscaledItem]:
        """Yield the items of the conversation, oldest first."""
        name = f"summary of the first {self._covered} messages"
        yield from self._decided(name, None, self._summary)
        for number, entries in self._entries.items():
            first = entries[0][1].message
            title = title_of(first.text) if isinstance(first, UserMessage) else "notes"
            if number == self._next:
                yield from self._decided("next message", None, self._decisions[number])
            elif number in self._decisions:
                yield from self._decided(title, number, self._decisions[number])
            else:
                yield self._absent(title, number, entries)

    def _absent(
        self, title: str, number: int | None, entries: Sequence[tuple[int, Entry]]
    ) -> UnscaledItem:
        """Return the item of an exchange that was not in the history given to `build_prompt`."""
        whole = self._counts.of([entry.message for _, entry in entries])
        state, reason = ItemState.LEFT_OUT, "You left it out."
        if entries[0][0] < self._covered:
            state, reason = ItemState.SUMMARIZED, "A summary replaces it."
        item = PlanItem(title, 0, whole, state, reason, number)
        return UnscaledItem(SectionKind.HISTORY, item)

    def _decided(
        self, title: str, number: int | None, decisions: Sequence[Decision]
    ) -> Iterator[UnscaledItem]:
        sums: dict[PartKind, tuple[int, int]] = {}
        for decision in decisions:
            sent = () if decision.sent is None else self._counts.parts(decision.sent)
            whole = self._counts.parts(decision.original)
            for kind in PartKind:
                if kind not in _NAMED:
                    tokens, whole_tokens = sums.get(kind, (0, 0))
                    sums[kind] = tokens + _sum(sent, kind), whole_tokens + _sum(whole, kind)
            yield from _named_items(sent, whole, number, decision.omission)
        for kind, (tokens, whole_tokens) in sums.items():
            if whole_tokens:
                yield _item(kind, title, tokens, whole_tokens, number)


def _named_items(
    sent: Sequence[MessagePart],
    whole: Sequence[MessagePart],
    number: int | None,
    omission: Omission | None,
) -> Iterator[UnscaledItem]:
    """Yield the items of pinned code, attachments and images of a message."""
    for part in sent:
        if part.kind in _NAMED:
            yield _item(part.kind, part.name, part.tokens, part.tokens, number)
    for part in whole:
        if part.kind in _NAMED and part not in sent:
            yield _item(part.kind, part.name, 0, part.tokens, number, omission=omission)


def _sum(parts: Sequence[MessagePart], kind: PartKind) -> int:
    return sum(part.tokens for part in parts if part.kind is kind)


def _item(
    kind: PartKind,
    name: str,
    tokens: int,
    whole_tokens: int,
    number: int | None,
    *,
    omission: Omission | None = None,
) -> UnscaledItem:
    state = ItemState.SHORTENED if tokens else ItemState.LEFT_OUT
    reason = _REASONS[omission or Omission.SPACE]
    if tokens >= whole_tokens:
        item = PlanItem(name, tokens, tokens, message=number)
    else:
        item = PlanItem(name, tokens, whole_tokens, state, reason, number)
    return UnscaledItem(_SECTIONS[kind], item)
