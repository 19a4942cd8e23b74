"""The plan of a rewind or of its undo. The person sees every effect before it happens."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Generic, TypeVar
from uuid import UUID

from textual.binding import BindingType
from textual.content import Content

from treadle.app.rewind_plan import (
    CodePlan,
    Conflict,
    PlannedFile,
    RewindOutcome,
    RewindPlan,
    UndoRewindPlan,
)
from treadle.errors import TreadleError
from treadle.session.rewinds import RewindScope
from treadle.tui.actions import Where
from treadle.tui.conversation.branches import Exchange
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.picker import CLOSE_BINDINGS, LIST_BINDINGS, Picker
from treadle.tui.screens.row_list import Row
from treadle.tui.text import foreign, foreign_line
from treadle.tui.workbench import Workbench

T = TypeVar("T")

_DIFF_LINES = 60
"""The maximum number of lines of the diff of each file."""
_PROMPT_COLUMNS = 200
_TITLES = {
    RewindScope.BOTH: "Conversation and code",
    RewindScope.CONVERSATION: "Conversation alone",
    RewindScope.CODE: "Code alone",
}
_KEEPING = "Enter changes nothing now. “Keep files” leaves these files as they are."


class PlanScreen(Picker[T, RewindOutcome], Generic[T]):
    """Lets the person choose a rewind. The plan of the highlighted rewind is below the list."""

    DEFAULT_CSS = """
    PlanScreen {
        & #columns, &.-wide #columns { layout: vertical; }
        & #list, &.-wide #list { width: 100%; height: 3; }
        & #preview, &.-wide #preview {
            display: block; width: 100%; height: 1fr;
            border-left: none; border-top: solid $border-blurred;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *LIST_BINDINGS,
        *CLOSE_BINDINGS,
        *bindings(Where.REWIND),
    ]
    PLACE = Where.REWIND
    FILTER = None

    @abstractmethod
    async def carry_out(self, value: T, *, keep_changed: bool) -> RewindOutcome:
        """Carry out the rewind. Raises TreadleError."""

    async def choose_row(self, value: T) -> None:
        """Carry out the rewind if no file is in conflict."""
        self.finish(await self.carry_out(value, keep_changed=False))

    async def action_rewind_keeping(self) -> None:
        """Carry out the rewind, and leave the files in conflict as they are."""
        if (value := self.highlighted) is None:
            return
        try:
            self.finish(await self.carry_out(value, keep_changed=True))
        except TreadleError as error:
            self.show_error(error)


class RewindPlanScreen(PlanScreen[RewindScope]):
    """Rewinds the conversation, the code, or both to the state before a prompt."""

    TITLE_TEXT = "Go back to before"
    ENTER = "Go back"

    def __init__(self, workbench: Workbench, conversation_id: UUID, exchange: Exchange) -> None:
        super().__init__()
        self._workbench = workbench
        self._conversation_id = conversation_id
        self._prompt = exchange.messages[0].entry.number
        self._text = exchange.prompt.text if exchange.prompt else ""

    async def find_rows(self, query: str) -> Sequence[Row[RewindScope]]:  # noqa: ARG002
        """Return the three scopes."""
        return [Row(scope, scope, _constant(title)) for scope, title in _TITLES.items()]

    async def preview(self, value: RewindScope, columns: int) -> Content:  # noqa: ARG002
        """Return the plan for a scope."""
        plan = await self._workbench.plan_rewind(self._conversation_id, self._prompt, value)
        return Content("\n").join(_rewind_lines(plan))

    def summary(self) -> Content:
        """Return the prompt."""
        return foreign_line(self._text, columns=_PROMPT_COLUMNS)

    async def carry_out(self, value: RewindScope, *, keep_changed: bool) -> RewindOutcome:
        """Carry out the rewind."""
        return await self._workbench.rewind(
            self._conversation_id, self._prompt, value, keep_changed=keep_changed
        )


class UndoRewindScreen(PlanScreen[UUID]):
    """Undoes the newest rewind of a conversation."""

    DEFAULT_CSS = """
    UndoRewindScreen { & #list, &.-wide #list { height: 1; } }
    """
    TITLE_TEXT = "Undo the newest rewind"
    ENTER = "Undo the rewind"

    def __init__(self, workbench: Workbench, conversation_id: UUID) -> None:
        super().__init__()
        self._workbench = workbench
        self._conversation_id = conversation_id

    async def find_rows(self, query: str) -> Sequence[Row[UUID]]:  # noqa: ARG002
        """Return the undo of the newest rewind as the only row."""
        plan = await self._workbench.plan_undo_rewind(self._conversation_id)
        title = f"Restore: {_TITLES[plan.scope].lower()}"
        return [Row("undo", self._conversation_id, _constant(title))]

    async def preview(self, value: UUID, columns: int) -> Content:  # noqa: ARG002
        """Return the plan."""
        plan = await self._workbench.plan_undo_rewind(value)
        return Content("\n").join(_undo_lines(plan))

    async def carry_out(self, value: UUID, *, keep_changed: bool) -> RewindOutcome:
        """Undo the rewind."""
        return await self._workbench.undo_rewind(value, keep_changed=keep_changed)


def _rewind_lines(plan: RewindPlan) -> Iterator[Content]:
    yield from _file_lines(plan.code)
    for sentence in plan.not_undone:
        yield foreign(f"! {sentence}", "$text-warning")
    if plan.scope.moves_conversation:
        yield Content(_messages(plan.messages))
        yield Content("The prompt returns to the editor.")
    else:
        yield Content("The conversation stays as it is.")
    yield from _diffs(plan.code)


def _undo_lines(plan: UndoRewindPlan) -> Iterator[Content]:
    yield from _file_lines(plan.code)
    if plan.scope.moves_conversation:
        yield Content("The earlier branch becomes the current one again.")
    if plan.messages:
        yield Content(_messages(plan.messages))
    yield from _diffs(plan.code)


def _messages(count: int) -> str:
    if count == 1:
        return "1 message leaves the branch and stays as another branch."
    return f"{count} messages leave the branch and stay as another branch."


def _file_lines(code: CodePlan) -> Iterator[Content]:
    """Yield the conflicts, and the files that change."""
    for conflict in code.conflicts:
        yield _conflict(conflict)
    if code.conflicts:
        yield Content.styled(_KEEPING, "$text-error")
    for file in code.files:
        yield _file(file)
    if not code.files:
        yield Content("No file changes.")


def _diffs(code: CodePlan) -> Iterator[Content]:
    for file in code.files:
        yield Content()
        yield from _diff(file)


def _conflict(conflict: Conflict) -> Content:
    text = f"✗ {conflict.path}: {conflict.reason}"
    return foreign_line(text, "$text-error")


def _file(file: PlannedFile) -> Content:
    added = f"+{file.added} ", "$text-success"
    removed = f"-{file.removed}  ", "$text-error"
    return Content.assemble(added, removed, foreign_line(file.sentence))


def _diff(file: PlannedFile) -> Iterator[Content]:
    lines = file.diff.splitlines()
    for line in lines[:_DIFF_LINES]:
        style = {"+": "$text-success", "-": "$text-error", "@": "$text-accent"}.get(line[:1], "")
        yield foreign(line[:1_000], style)
    if len(lines) > _DIFF_LINES:
        yield Content.styled(f"… {len(lines) - _DIFF_LINES} more lines", "$text-muted")


def _constant(text: str) -> Callable[[int], Content]:
    return lambda _: Content(text)
