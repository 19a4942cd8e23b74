"""The last line of the terminal: the repository, the model, the context and the cost."""

from textual import events
from textual.content import Content
from textual.widgets import Static

from treadle.tui.status import Status
from treadle.tui.text import foreign_line

_SEPARATOR = "  "
_PART_COLUMNS = 40


class StatusLine(Static):
    """Shows as many parts of `status` as fit. The least important parts are left out."""

    DEFAULT_CSS = """
    StatusLine {
        height: 1;
        padding: 0 1;
        background: $panel;
        text-wrap: nowrap;
    }
    """

    def __init__(self, status: Status) -> None:
        super().__init__()
        self._status = status

    def on_resize(self, _: events.Resize) -> None:
        """Show as many parts as fit into the new width."""
        self.sync()

    def sync(self) -> None:
        """Show the present values."""
        columns = self.size.width - 2
        texts = {
            shown.part: foreign_line(shown.text, shown.style, columns=_PART_COLUMNS)
            for shown in self._status.parts()
        }
        left = columns + len(_SEPARATOR)
        kept = []
        for part in sorted(texts):
            needed = texts[part].cell_length + len(_SEPARATOR)
            if needed <= left:
                kept.append(part)
                left -= needed
        line = Content(_SEPARATOR).join(texts[part] for part in texts if part in kept)
        if line != self.content:
            self.update(line, layout=False)
