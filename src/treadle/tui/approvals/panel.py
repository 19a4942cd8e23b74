"""The panel above the prompt that shows the oldest question for approval."""

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from treadle.events.types import ApprovalRequested
from treadle.tui.text import foreign, foreign_line

_LINE_CHARACTERS = 400
_HEIGHT_PERCENT = 40
_OTHER_LINES = 6
"""The border, the question, its reason, the number of further lines, and the key."""
_LOW_ROWS = 18
"""On a terminal with fewer rows, the panel shows neither the reason nor a preview."""
_DIFF_STYLES = {"+": "$text-success", "-": "$text-error", "@": "$text-muted"}


class ApprovalPanel(Static, can_focus=True):
    """Shows a question. It never takes the keyboard: the person moves to it and then answers."""

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
        """The person moved to the panel or clicked on it."""

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
        """Let the person answer."""
        self.post_message(self.Entered())

    def on_resize(self) -> None:
        """Show more or less of the preview."""
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
    """The first lines of the preview of a question: arguments, or a coloured diff."""
    text = (question.preview or "").rstrip("\n")
    if not text or lines == 0:
        return []
    if question.proposal_id is not None:
        return diff_lines(text, lines)
    return _first_lines([foreign(line[:_LINE_CHARACTERS]) for line in text.split("\n")], lines)


def diff_lines(diff: str, lines: int | None = None) -> list[Content]:
    """The first lines of a unified diff in colours, with one line for the name of each file."""
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
