"""The context plan: what a prompt contains, what it leaves out, and why."""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from textual import work
from textual.binding import BindingType
from textual.content import Content

from treadle.app.context_choices import ChoicesChange
from treadle.app.context_plan import ContextPlan, ItemState, PlanItem, Section, SectionKind
from treadle.errors import TreadleError, UsageError
from treadle.session.attachments import CodeAttachment
from treadle.session.context_choices import ContextChoices
from treadle.tui.actions import Where
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.past_requests import PastRequestsScreen
from treadle.tui.screens.picker import CLOSE_BINDINGS, LIST_BINDINGS, Picker
from treadle.tui.screens.row_list import Row, RowList, fields
from treadle.tui.screens.words import WordsScreen
from treadle.tui.text import foreign, foreign_line
from treadle.tui.workbench import Workbench

ReadPlan = Callable[[], Awaitable[ContextPlan]]

_BAR, _WIDE_BAR = 10, 30
_TITLES = {
    SectionKind.SYSTEM: "System prompt",
    SectionKind.TOOLS: "Tools",
    SectionKind.HISTORY: "History",
    SectionKind.RESULTS: "Results of tools",
    SectionKind.AUTOMATIC_CONTEXT: "Automatic context",
    SectionKind.PINNED: "Pinned code",
    SectionKind.INSTRUCTIONS: "Instructions",
    SectionKind.ATTACHED: "Attached",
    SectionKind.IMAGES: "Images",
}
_STATES = {
    ItemState.WHOLE: "",
    ItemState.SHORTENED: "shortened",
    ItemState.LEFT_OUT: "left out",
    ItemState.SUMMARIZED: "summarized",
    ItemState.LATER: "later",
}
_MARKS = {ItemState.LEFT_OUT: "○ ", ItemState.SUMMARIZED: "○ ", ItemState.SHORTENED: "◐ "}
_LINES = re.compile(r"(.+):(\d+)-(\d+)")
_FIXED = "This part is always in the prompt."


@dataclass(frozen=True, slots=True)
class Part:
    """An item of the plan, its section, and its position in the section."""

    kind: SectionKind
    item: PlanItem
    position: int


class ContextPlanScreen(Picker[Part, None]):
    """Shows a plan. The person can change the plan of the next prompt, but no recorded plan."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *LIST_BINDINGS,
        *CLOSE_BINDINGS,
        *bindings(Where.CONTEXT_PLAN),
    ]
    PLACE = Where.CONTEXT_PLAN
    FILTER = None
    TITLE_TEXT = "Context plan"
    ENTER = None  # the key of `leave_out` is listed

    def __init__(
        self, workbench: Workbench, read: ReadPlan, conversation_id: UUID | None = None
    ) -> None:
        """`read` reads the plan. `conversation_id` is the conversation whose plan can change."""
        super().__init__()
        self._workbench = workbench
        self._read = read
        self._conversation_id = conversation_id
        self._plan: ContextPlan | None = None

    async def find_rows(self, query: str) -> Sequence[Row[Part]]:  # noqa: ARG002
        """Return the items of the plan by section."""
        self._plan = plan = await self._read()
        total = plan.window or plan.tokens
        return [row for section in plan.sections for row in _rows(section, total)]

    def summary(self) -> Content | str:
        """Return the size of the prompt and the size of the context window."""
        plan = self._plan
        if plan is None:
            return ""
        if plan.window is None:
            return f"{plan.tokens:,} tokens, in a window of unknown size"
        share = f"{plan.tokens:,} of {plan.window:,} ({plan.tokens / plan.window:.0%}) "
        return Content.assemble(share, (_bar(plan.tokens, plan.window, _WIDE_BAR), "$text-primary"))

    async def preview(self, value: Part, columns: int) -> Content:  # noqa: ARG002
        """Return the facts of an item and of the whole plan."""
        plan = self._plan
        lines = [*_item_lines(value), Content(), *_plan_lines(plan)] if plan else []
        return Content("\n").join(lines)

    async def choose_row(self, value: Part) -> None:
        """Leave out the part, or take it in again."""
        await self._toggle(value)

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        """Explain the state of the item."""
        super().on_row_list_highlighted(message)
        problem = None if self._plan is None else self._plan.problem
        part = self.highlighted
        reason = None if part is None else part.item.reason
        self.show_message(problem or reason or "", error=problem is not None)

    # The methods that run the actions in `treadle.tui.actions`.

    async def action_leave_out(self) -> None:
        """Leave out the part, or take it in again.

        The change is one of the plan as it is read, so the plan must be read before it.
        """
        if (value := await self.settled()) is not None:
            try:
                await self._toggle(value)
            except TreadleError as error:
                self.show_error(error)

    @work
    async def action_pin_code(self) -> None:
        """Ask for a file or some of its lines, and pin them.

        If an attached file is highlighted, it is suggested.
        """
        value = await self.settled()
        suggested = value.item.name if value and value.kind is SectionKind.ATTACHED else ""
        question = Content("Pin the file PATH, or lines of it as PATH:FIRST-LAST:")
        name = await self.app.push_screen_wait(WordsScreen(question, suggested))
        if name is None or not name.strip():
            return
        try:
            pinned = (*self._choices().pinned, _code(name.strip()))
            await self._change(ChoicesChange(pinned=pinned))
        except TreadleError as error:
            self.show_error(error)

    @work
    async def action_past_requests(self) -> None:
        """Let the person choose a recorded request, and show its plan."""
        if self._conversation_id is None:
            self.show_message("Past requests are listed in the plan of a conversation.")
            return
        chosen = await self.app.push_screen_wait(
            PastRequestsScreen(self._workbench, self._conversation_id)
        )
        if chosen is None:
            return
        trace_id, span_id = chosen
        await self.app.push_screen_wait(
            RecordedContextScreen(
                self._workbench, lambda: self._workbench.recorded_context(trace_id, span_id)
            )
        )

    async def _toggle(self, part: Part) -> None:
        choices, item = self._choices(), part.item
        match part.kind:
            case SectionKind.TOOLS:
                names = choices.tools_left_out ^ {item.name}
                await self._change(ChoicesChange(tools_left_out=names))
            case SectionKind.AUTOMATIC_CONTEXT:
                switched = not choices.automatic_context
                await self._change(ChoicesChange(automatic_context=switched))
            case SectionKind.PINNED:
                kept = [*choices.pinned]
                del kept[part.position]
                await self._change(ChoicesChange(pinned=tuple(kept)))
            case _ if item.message is not None:
                await self._change(ChoicesChange(left_out=choices.left_out ^ {item.message}))
            case _:
                self.show_message(_FIXED)

    def _choices(self) -> ContextChoices:
        plan = self._plan
        if plan is None or plan.choices is None:
            raise UsageError("A recorded request cannot be changed.")
        if self._conversation_id is None:
            raise UsageError(
                "The conversation does not exist yet.",
                hint="Send its first message, then change it.",
            )
        return plan.choices

    async def _change(self, change: ChoicesChange) -> None:
        assert self._conversation_id is not None
        await self._workbench.change_context(self._conversation_id, change)
        self.reload()


class RecordedContextScreen(ContextPlanScreen):
    """Shows the plan of a recorded request."""

    TITLE_TEXT = "Recorded request"


def _rows(section: Section, total: int) -> Iterator[Row[Part]]:
    title = _TITLES[section.kind]

    def draw_heading(columns: int) -> Content:
        tokens = f"{section.tokens:,}"
        bar = Content.styled(_bar(section.tokens, total, _BAR), "$text-primary")
        return fields(columns, Content(title), (Content(tokens), 9), (bar, _BAR), (Content(), 11))

    yield Row(f"section {section.kind}", None, draw_heading)
    for position, item in enumerate(section.items):
        key = f"{section.kind} {position} {item.name}"
        yield Row(key, Part(section.kind, item, position), _drawing(item, total), item.name)


def _drawing(item: PlanItem, total: int) -> Callable[[int], Content]:
    mark, state = _MARKS.get(item.state, "● "), _STATES[item.state]
    style = "$text-muted" if item.state is ItemState.LEFT_OUT else ""

    def draw(columns: int) -> Content:
        name = Content.assemble((mark, "$text-primary"), foreign_line(item.name, style))
        bar = Content.styled(_bar(item.tokens, total, _BAR), "$text-muted")
        tokens = Content(f"{item.tokens:,}")
        return fields(
            columns, name, (tokens, 9), (bar, _BAR), (Content.styled(state, "$text-warning"), 11)
        )

    return draw


def _bar(tokens: int, total: int, columns: int) -> str:
    """Return a bar for `tokens`. Its full width stands for `total`. Only 0 tokens have no bar."""
    eighths = round(8 * columns * min(1.0, tokens / total)) if total else 0
    eighths = max(eighths, 1 if tokens else 0)
    full, rest = divmod(eighths, 8)
    return ("█" * full + ("▏▎▍▌▋▊▉"[rest - 1] if rest else "")).ljust(columns)


def _item_lines(part: Part) -> Iterator[Content]:
    item = part.item
    yield foreign_line(item.name, "bold")
    if item.state is ItemState.LATER:
        size = "found when the message is sent"
    elif item.tokens == item.whole_tokens:
        size = f"{item.tokens:,} tokens"
    else:
        size = f"{item.tokens:,} of its {item.whole_tokens:,} tokens"
    yield Content(f"{_TITLES[part.kind]}: {size}")
    if item.reason:
        yield foreign(item.reason, "$text-warning")


def _plan_lines(plan: ContextPlan) -> Iterator[Content]:
    yield foreign_line(f"{plan.provider}/{plan.model}", "bold")
    if plan.window is not None:
        yield Content(f"window       {plan.window:,}")
    if plan.budget is not None and plan.reserve is not None:
        yield Content(f"for prompts  {plan.budget:,}")
        yield Content(f"for replies  {plan.reserve:,}")
    yield Content(f"this prompt  {plan.tokens:,} (estimated)")
    if plan.counted is not None:
        yield Content(f"counted      {plan.counted:,} by the provider")
    yield Content(f"calibration  estimates × {plan.calibration:.2f}")  # noqa: RUF001
    if plan.problem is not None:
        yield foreign(plan.problem, "$text-error")
    for note in plan.notes:
        yield foreign(note, "$text-warning")


def _code(name: str) -> CodeAttachment:
    found = _LINES.fullmatch(name)
    if found is None:
        return CodeAttachment(name)
    return CodeAttachment(found[1], int(found[2]), int(found[3]))
