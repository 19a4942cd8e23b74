"""The panel above the prompt that shows the oldest question for approval."""

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from treadle.events.types import ApprovalRequested
from treadle.tui.text import foreign, foreign_line

_LINE_CHARACTERS = 400
_HEIGHT_PERCENT = 40
_OTHER_LINES = 6
"""The number of lines of the panel without the preview.

These are the two lines of the border, the question, its reason, the number of further preview
lines, and the key.
"""
_LOW_ROWS = 18
"""On a terminal with fewer rows, the panel shows neither the reason nor a preview."""
_DIFF_STYLES = {"+": "$text-success", "-": "$text-error", "@": "$text-muted"}


class ApprovalPanel(Static, can_focus=True):
    """Shows a question. It never takes the keyboard by itself.

    The person has to move to the panel or click on it to answer the question.
    """

    DEFAULT_CSS = """
    ApprovalPanel {
        display: none;
        height: auto;
        max-height: 40vh;
        padding: 0 1;
        border: round $warning;
        &:focus { border: round $primary; }
    }
    """

    class Entered(Message):
        """The panel got the focus, because the person moved to it or clicked on it."""

    def __init__(self) -> None:
        super().__init__()
        self._question: ApprovalRequested | None = None
        self._waiting = 0

    def show(self, question: ApprovalRequested | None, waiting: int) -> None:
        """Show a question. `waiting` is the number of all waiting questions."""
        self._question, self._waiting = question, waiting
        self.display = question is not None
        self._draw()

    def on_focus(self) -> None:
        """Report that the person wants to answer the question."""
        self.post_message(self.Entered())

    def on_resize(self) -> None:
        """Show as much of the preview as fits into the new size."""
        self._draw()

    def _draw(self) -> None:
        question = self._question
        if question is None:
            return
        height = self.app.size.height
        room = 0 if height < _LOW_ROWS else height * _HEIGHT_PERCENT // 100 - _OTHER_LINES
        others = f" · {self._waiting - 1} more waiting" if self._waiting > 1 else ""
        columns = max(20, self.app.size.width - 6)
        reason = foreign_line(question.reason, "$text-muted", columns=2 * columns)
        lines = [
            Content.assemble(
                ("? ", "$text-warning bold"),
                foreign_line(question.summary, "bold", columns=columns),
            ),
            *([reason] if height >= _LOW_ROWS else []),
            *preview(question, room),
            Content.styled(f"Tab: answer{others}", "$text-primary"),
        ]  # fmt: skip
        self.update(Content("\n").join(lines))


def preview(question: ApprovalRequested, lines: int | None = None) -> list[Content]:
    """Return the first `lines` lines of the preview of a question. None means all lines.

    The preview of a proposal is a coloured diff. Any other preview is plain text.
    """
    text = (question.preview or "").rstrip("\n")
    if not text or lines == 0:
        return []
    if question.proposal_id is not None:
        return diff_lines(text if lines is None else _without_context(text), lines)
    return _first_lines([foreign(line[:_LINE_CHARACTERS]) for line in text.split("\n")], lines)


def _without_context(diff: str) -> str:
    """Leave out the unchanged lines of a diff, so that a few lines show the change."""
    return "\n".join(line for line in diff.split("\n") if line[:1] not in {"", " "})


def diff_lines(diff: str, lines: int | None = None) -> list[Content]:
    """Return the first `lines` lines of a unified diff in colours. None means all lines.

    One line with the name of the file replaces the header lines of each file.
    """
    drawn = []
    old = ""
    in_head = False
    for line in diff.split("\n"):
        if line.startswith("diff --git "):
            in_head = True
        elif in_head and line.startswith("--- "):
            old = line[4:]
        elif in_head and line.startswith("+++ "):
            name = old if line[4:] == "/dev/null" else line[4:]
            drawn.append(foreign(name.removeprefix("a/").removeprefix("b/"), "bold"))
        else:
            in_head = in_head and not line.startswith("@@")
            drawn.append(foreign(line[:_LINE_CHARACTERS], _DIFF_STYLES.get(line[:1], "")))
    return _first_lines(drawn, lines)


def _first_lines(drawn: list[Content], lines: int | None) -> list[Content]:
    more = 0 if lines is None else len(drawn) - lines
    if more <= 0:
        return drawn
    return [*drawn[:lines], Content.styled(f"… {more:,} more lines", "$text-muted")]
