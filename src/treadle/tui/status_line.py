"""The last line of the terminal: the repository, the model, and what a turn does."""

from textual.content import Content
from textual.widgets import Static

from treadle.tui.text import foreign_line


class StatusLine(Static):
    """One line with the state of the terminal."""

    DEFAULT_CSS = """
    StatusLine {
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $text-muted;
    }
    """

    def show(self, root: str, activity: str) -> None:
        """Show the folder of the repository and the activity of the turn."""
        folder = foreign_line(root.rpartition("/")[2] or root, columns=30)
        what = foreign_line(activity, columns=60)
        self.update(Content.assemble(folder, "  ", what))
