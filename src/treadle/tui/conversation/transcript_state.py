"""The transcript of one conversation. Builds its items from events and saved messages."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from treadle.clock import Clock
from treadle.diagnosis.evidence import linked_spans
from treadle.display.event_lines import LATE, RESOLVED, notice, plan_lines
from treadle.events import Event, changes
from treadle.events import types as ev
from treadle.session.sources import lines_read
from treadle.tui.conversation.answer_parts import AnswerParts
from treadle.tui.conversation.items import (
    COMMAND_KEY,
    FAILED_STATES,
    CallItem,
    CallState,
    CodeItem,
    Item,
    NoticeItem,
    OutcomeItem,
    PromptItem,
    PromptState,
    ProseItem,
    ReasoningItem,
)
from treadle.tui.conversation.turn_activity import TurnActivity

if TYPE_CHECKING:  # not imported at the start, so that the start is quick
    from treadle.app.code_exploration import Excerpt
    from treadle.app.conversation_answers import Final, Session
    from treadle.app.turn_records import TurnRecord

_COMPARED = 400
"""The number of characters at the end of an answer that are compared with the shown text."""


@dataclass(slots=True)
class _Turn:
    """The items of a running turn that further events may change."""

    prompt: PromptItem
    parts: AnswerParts | None = None
    reasoning: ReasoningItem | None = None
    plan: NoticeItem | None = None
    calls: dict[ev.CallKey, CallItem] = field(default_factory=dict)


class TranscriptState:
    """The items of one conversation, oldest first.

    A view asks `take_changes` for the positions of the items that changed. `conversation_id` is
    None before the first message is sent.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.items: list[Item] = []
        self.conversation_id: UUID | None = None
        self.title = ""
        self.activity = TurnActivity(clock)
        self.branch: tuple[int, ...] = ()
        """The numbers of the loaded messages of the conversation."""
        self._turns: dict[UUID, _Turn] = {}
        self._positions: dict[int, int] = {}
        self._changed: set[int] = set()
        self._pending: list[PromptItem] = []
        self.joined: set[UUID] = set()

    def take_changes(self) -> list[int]:
        """The positions of the items that changed since the last call, in order."""
        changed = sorted(self._changed)
        self._changed.clear()
        return changed

    @property
    def running(self) -> Sequence[UUID]:
        """The ids of the turns that run or are queued, oldest first."""
        return tuple(self._turns)

    def add_pending(self, text: str) -> PromptItem:
        """Add a message that is not sent yet. `add_prompt` with the same text marks it as sent."""
        prompt = PromptItem(text=text, state=PromptState.PENDING)
        self._pending.append(prompt)
        self._append(prompt)
        return prompt

    def explain_pending(self, waits_for: str) -> None:
        """Show why the pending messages are not sent yet."""
        for prompt in self._pending:
            prompt.waits_for = waits_for
            self._touch(prompt)

    def remove_pending(self, prompt: PromptItem) -> None:
        """Hide a message that could not be sent."""
        if prompt in self._pending:
            self._pending.remove(prompt)
            prompt.text = ""
            self._touch(prompt)

    def add_prompt(self, request_id: UUID, text: str) -> PromptItem:
        """Add a message that was sent as the turn `request_id`."""
        turn = self._turns.get(request_id)
        if turn is not None:
            return turn.prompt
        if not self._turns:
            self.activity.clear()
        prompt = next((each for each in self._pending if each.text == text), None)
        if prompt is None:
            prompt = PromptItem(request_id=request_id, text=text)
            self._append(prompt)
        else:
            self._pending.remove(prompt)
            prompt.request_id, prompt.state = request_id, PromptState.SENT
            self._touch(prompt)
        self._turns[request_id] = _Turn(prompt)
        return prompt

    @property
    def cost(self) -> float | None:
        """The sum of the known costs of the turns in US dollars, or None if no cost is known."""
        costs = [
            item.cost for item in self.items
            if isinstance(item, OutcomeItem) and item.cost is not None
        ]  # fmt: skip
        return sum(costs) if costs else None

    def add_notice(self, text: str, *, level: str = "info") -> None:
        """Add a line that belongs to no turn."""
        self._append(NoticeItem(text=text, level=level))

    def add_command(self, command: str) -> CallItem:
        """Add a shell command that the person runs."""
        item = CallItem(
            key=COMMAND_KEY,
            name="$",
            arguments=command,
            unfolded=True,
            started=self._clock.monotonic(),
        )
        self._append(item)
        return item

    def update(self, item: Item) -> None:
        """Mark an item as changed, so that a view renders it again."""
        self._touch(item)

    def toggle(self, item: Item) -> None:
        """Fold or unfold an item."""
        item.unfolded = not item.unfolded
        self._touch(item)

    def finish(self, request_id: UUID, final: "Final") -> None:
        """Add the sources, quotes and mentioned spans of a completed turn to its outcome.

        Some answers do not arrive as a stream, such as a report or the answer of an agent. This
        method inserts such an answer as well.
        """
        for position in range(len(self.items) - 1, -1, -1):
            item = self.items[position]
            if isinstance(item, OutcomeItem) and item.request_id == request_id:
                item.sources, item.quotes = final.sources or (), final.quotes or ()
                item.spans = tuple(dict.fromkeys(linked_spans(final.text)))
                item.unfolded = item.unfolded or bool(item.spans)
                self._touch(item)
                self._insert_answer(position, request_id, final.text)
                return

    def _insert_answer(self, position: int, request_id: UUID, text: str) -> None:
        """Insert an answer at `position`, unless the items of its turn already show it."""
        of_turn = (
            item for item in reversed(self.items[:position]) if item.request_id == request_id
        )
        shown = next(filter(None, map(_content, of_turn)), "")[-_COMPARED:]
        if not text.strip() or (shown and shown in text[-2 * _COMPARED :]):
            return
        parts = AnswerParts(request_id)
        new = [*parts.feed(text), *parts.finish()]
        self.items[position:position] = new
        self._positions = {id(item): at for at, item in enumerate(self.items)}
        self._changed.update(range(position, len(self.items)))

    def apply(self, event: Event) -> bool:
        """Apply an event. Returns False if it belongs to another conversation."""
        if isinstance(event, ev.SessionStarted):
            return self._start(event)
        turn = self._turns.get(event.request_id)
        if turn is None:
            return False
        self.activity.apply(event)
        match event:
            case ev.ModelDelta():
                self._delta(turn, event)
            case ev.ModelRequestFinished():
                self._end_parts(turn)
            case ev.ToolCallRequested() | ev.ToolCallCompleted() | ev.ToolCallFailed():
                self._call(turn, event)
            case ev.SessionFinished() | ev.SessionFailed() | ev.SessionCancelled():
                self._end(turn, event)
            case ev.PlanChanged(steps=steps):
                self._plan(turn, event.request_id, steps)
            case _:
                if not (self._prompt_detail(turn, event) or self._call_detail(turn, event)):
                    self._notice(turn, event)
        return True

    def load(self, session: "Session", running: Collection[UUID] = ()) -> None:
        """Show the current branch of a saved conversation in place of the present items.

        Further events of the `running` turns change the items of these turns. `joined` then has the
        ids of these turns. When such a turn ends, its saved form has to be read, because its
        earlier events are missing.
        """
        from treadle.tui.conversation.saved_items import saved_items

        self.clear()
        self.branch = tuple(session.branch)
        self.conversation_id = session.conversation.id
        self.title = session.conversation.title
        for item in saved_items(session, running):
            self._append(item)
            self._join(item, running)
        if session.plan:
            self._append(NoticeItem(text="\n".join(plan_lines(session.plan))))

    def _join(self, item: Item, running: Collection[UUID]) -> None:
        request_id = item.request_id
        if request_id is None or request_id not in running:
            return
        if isinstance(item, PromptItem) and not item.steers:
            self._turns[request_id] = _Turn(item)
            self.joined.add(request_id)
        elif isinstance(item, CallItem) and request_id in self._turns:
            self._turns[request_id].calls[item.key] = item

    def add_records(self, records: "Mapping[UUID, TurnRecord]") -> None:
        """Add the recorded usage, cost, calls and sources to the turns of a loaded conversation."""
        for item in self.items:
            record = None if item.request_id is None else records.get(item.request_id)
            if record is None:
                continue
            match item:
                case PromptItem(steers=False):
                    item.sources = record.context
                case CallItem(span=span) if span and span.span_id in record.calls:
                    call = record.calls[span.span_id]
                    item.summary = "" if item.state is CallState.CANCELLED else call.summary
                    item.duration, item.sources = call.duration, call.sources
                case OutcomeItem():
                    item.usage, item.cost = record.usage, record.cost
                    item.tool_calls, item.duration = record.tool_calls, record.duration
                    item.sources = record.sources
                    if item.stop_reason is ev.StopReason.FAILED:
                        item.error = record.error
                case _:
                    continue
            self._touch(item)

    def show_excerpt(
        self, item: Item, source: ev.SourceRange, excerpt: "Excerpt | str | None"
    ) -> None:
        """Show the lines of a source below it, or the reason why they cannot be read.

        If `excerpt` is None, hide the lines.
        """
        if id(item) not in self._positions:
            return
        if excerpt is None:
            item.excerpts.pop(source, None)
        else:
            item.excerpts[source] = excerpt
        self._touch(item)

    def clear(self) -> None:
        """Remove all items. The next message begins a new conversation."""
        self.items = []  # a new list, because a view may still show the old one
        self._positions.clear()
        self._turns.clear()
        self._changed.clear()
        self._pending.clear()
        self.joined.clear()
        self.activity.clear()
        self.conversation_id, self.title, self.branch = None, "", ()

    def _start(self, event: ev.SessionStarted) -> bool:
        known = event.request_id in self._turns or event.session_id == self.conversation_id
        if event.parent_key is not None or not known:
            return False
        prompt = self.add_prompt(event.request_id, event.user_text)
        prompt.state = PromptState.SENT
        self._touch(prompt)
        return True

    def _prompt_detail(self, turn: _Turn, event: Event) -> bool:
        """Apply an event about a message of a turn. Returns False for another event."""
        match event:
            case ev.MessageQueued(steers=False):
                turn.prompt.state = PromptState.QUEUED
            case ev.RetrievalFinished(key=None, sources=sources, tokens=tokens):
                turn.prompt.sources, turn.prompt.context_tokens = sources, tokens
            case ev.MessageSteered(text=text):
                self._end_parts(turn)
                self._append(PromptItem(request_id=event.request_id, text=text, steers=True))
                return True
            case _:
                return False
        self._touch(turn.prompt)
        return True

    def _plan(self, turn: _Turn, request_id: UUID, steps: Sequence[ev.PlanStep]) -> None:
        """Show the plan of a turn. Its later changes replace its text in the same item."""
        text = "\n".join(plan_lines(steps))
        if turn.plan is None:
            self._end_parts(turn)
            turn.plan = NoticeItem(request_id=request_id, text=text)
            self._append(turn.plan)
        else:
            turn.plan.text = text
            self._touch(turn.plan)

    def _notice(self, turn: _Turn, event: Event) -> None:
        sentence = notice(event)
        if sentence is None:
            return
        self._end_parts(turn)
        warns = isinstance(event, ev.RetryScheduled | ev.FallbackApplied)
        level = event.level if isinstance(event, ev.Notice) else "warning" if warns else "info"
        self._append(NoticeItem(request_id=event.request_id, text=sentence, level=level))

    def _delta(self, turn: _Turn, event: ev.ModelDelta) -> None:
        if event.reasoning:
            if turn.reasoning is None:
                self._end_parts(turn)
                turn.reasoning = ReasoningItem(request_id=event.request_id)
                self._append(turn.reasoning)
            turn.reasoning.parts.append(event.text)
            self._touch(turn.reasoning)
            return
        self._end_reasoning(turn)
        if turn.parts is None:
            turn.parts = AnswerParts(event.request_id)
        before = len(self.items) - 1
        self._extend(turn.parts.feed(event.text))
        if before >= 0:
            self._changed.add(before)  # the item before the new ones may have changed too

    def _end_parts(self, turn: _Turn) -> None:
        self._end_reasoning(turn)
        if turn.parts is not None:
            if self.items:
                self._changed.add(len(self.items) - 1)
            self._extend(turn.parts.finish())
            turn.parts = None

    def _end_reasoning(self, turn: _Turn) -> None:
        if turn.reasoning is not None:
            turn.reasoning.finished = True
            self._touch(turn.reasoning)
            turn.reasoning = None

    def _call(
        self,
        turn: _Turn,
        event: ev.ToolCallRequested | ev.ToolCallCompleted | ev.ToolCallFailed,
    ) -> None:
        if isinstance(event, ev.ToolCallRequested):
            self._end_parts(turn)
            call = CallItem(
                request_id=event.request_id, key=event.key, name=event.name,
                arguments=event.arguments, started=self._clock.monotonic(),
            )  # fmt: skip
            turn.calls[event.key] = call
            self._append(call)
            return
        found = turn.calls.get(event.key)
        if found is None:
            return
        found.duration = event.duration
        if isinstance(event, ev.ToolCallCompleted):
            found.state = CallState.DONE
            found.summary, found.content = event.ui.summary, event.content
            found.details = event.ui.details or ""
            found.sources = found.sources or tuple(lines_read(event.content))
        else:
            found.state = FAILED_STATES.get(event.error.kind, CallState.FAILED)
            found.failure = event.error
            found.summary = "" if found.state is CallState.CANCELLED else event.error.message
        self._touch(found)

    def _call_detail(self, turn: _Turn, event: Event) -> bool:
        """Apply an event about a call, except its start and its end. Otherwise return False."""
        call = turn.calls.get(getattr(event, "key", None) or COMMAND_KEY)
        if call is None:
            return False
        match event:
            case ev.ToolProgress(text=text):
                call.summary = text
            case ev.RetrievalFinished(sources=sources):
                call.sources = sources
            case ev.ApprovalRequested(proposal_id=proposal_id):
                call.state, call.proposal_id = CallState.ASKING, proposal_id
            case ev.ApprovalResolved(scope=scope, words=words):
                if call.state is CallState.ASKING:
                    call.state = CallState.RUNNING
                if scope is not ev.ApprovalScope.WITHDRAWN:  # the end of the call states the reason
                    call.notes.append(f"{RESOLVED[scope]}: {words}" if words else RESOLVED[scope])
            case ev.ToolCallLate():
                call.notes.append(LATE)
            case changes.ProposalEvent(proposal_id=proposal_id):
                call.proposal_id = proposal_id
            case _:
                return False
        self._touch(call)
        return True

    def _end(
        self, turn: _Turn, event: ev.SessionFinished | ev.SessionFailed | ev.SessionCancelled
    ) -> None:
        self._end_parts(turn)
        for call in turn.calls.values():
            if call.state in {CallState.RUNNING, CallState.ASKING}:
                call.state = CallState.CANCELLED
                self._touch(call)
        outcome = OutcomeItem(
            request_id=event.request_id, stop_reason=ev.StopReason.CANCELLED, usage=event.usage,
            cost=None if event.usage.input is None else event.cost, duration=event.duration,
            tool_calls=len(turn.calls),
        )  # fmt: skip
        match event:
            case ev.SessionFinished(stop_reason=reason, tool_calls=tool_calls):
                outcome.stop_reason, outcome.tool_calls = reason, tool_calls
            case ev.SessionFailed(message=message, hint=hint):
                outcome.stop_reason = ev.StopReason.FAILED
                outcome.error, outcome.hint = message, hint
        self._hide_cut_notice(outcome)
        self._append(outcome)
        del self._turns[event.request_id]

    def _hide_cut_notice(self, outcome: OutcomeItem) -> None:
        """Hide the notice of a cut reply if the outcome right below it states the same."""
        from treadle.session.cut_replies import CUT_NOTICES

        last, reason = self.items[-1], outcome.stop_reason
        if reason is None or not isinstance(last, NoticeItem):
            return
        if last.text == CUT_NOTICES.get(reason):
            last.text = ""
            self._touch(last)

    def _append(self, item: Item) -> None:
        self._positions[id(item)] = len(self.items)
        self._changed.add(len(self.items))
        self.items.append(item)

    def _extend(self, items: Iterable[Item]) -> None:
        for item in items:
            self._append(item)

    def _touch(self, item: Item) -> None:
        item.touch()
        position = self._positions.get(id(item))
        if position is not None:  # otherwise another conversation was loaded
            self._changed.add(position)


def _content(item: Item) -> str | None:
    """Return the text of a part of an answer, or None for any other item."""
    match item:
        case ProseItem(text=text):
            return text.strip()
        case CodeItem(lines=lines):
            return "\n".join(lines).strip()
    return None
