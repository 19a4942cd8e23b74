"""The visible rows of a trace. Folded parts and rows without the searched text are hidden."""

from collections.abc import Iterator

from treadle.display.trace_tree import Row, TraceView


class TraceTreeState:
    """A trace whose rows a person folds, unfolds and searches.

    Rows are identified by their position in `view.rows`.
    """

    def __init__(self, view: TraceView) -> None:
        self.view = view
        self._ends = _subtree_ends(view.rows)
        self._folded: set[int] = set()
        self._searched: list[str] = []
        self._positions = {
            row.span_id: position for position, row in enumerate(view.rows) if row.span_id
        }

    def position(self, span_id: str) -> int | None:
        """The position of the row of a span, or None if the trace has no such span."""
        return self._positions.get(span_id)

    def has_children(self, position: int) -> bool:
        """Whether other rows are below a row."""
        return self._ends[position] > position + 1

    def is_folded(self, position: int) -> bool:
        """Whether the rows below a row are hidden."""
        return position in self._folded

    def fold(self, position: int) -> bool:
        """Hide the rows below a row. Returns False if nothing changes."""
        if not self.has_children(position) or position in self._folded:
            return False
        self._folded.add(position)
        return True

    def unfold(self, position: int) -> bool:
        """Show the rows below a row. Returns False if nothing changes."""
        if position not in self._folded:
            return False
        self._folded.remove(position)
        return True

    def reveal(self, position: int) -> None:
        """Unfold all rows above a row."""
        self._folded.difference_update(self._parents(position))

    def parent(self, position: int) -> int | None:
        """The position of the row above a row in the tree. None for a root."""
        return next(self._parents(position), None)

    def visible(self, text: str = "") -> list[int]:
        """The positions of the visible rows.

        With `text`, they are the rows that contain it and the rows above them in the tree.
        """
        words = text.casefold().split()
        if words:
            return self._matching(words)
        shown: list[int] = []
        position = 0
        while position < len(self._ends):
            shown.append(position)
            position = self._ends[position] if position in self._folded else position + 1
        return shown

    def _matching(self, words: list[str]) -> list[int]:
        if not self._searched:
            self._searched = [_text(row) for row in self.view.rows]
        shown: set[int] = set()
        for position, text in enumerate(self._searched):
            if all(word in text for word in words):
                shown.add(position)
                shown.update(self._parents(position))
        return sorted(shown)

    def _parents(self, position: int) -> Iterator[int]:
        """The positions of the rows above a row in the tree, the nearest first."""
        depth = self.view.rows[position].depth
        for above in range(position - 1, -1, -1):
            if depth == 0:
                return
            if self.view.rows[above].depth < depth:
                depth = self.view.rows[above].depth
                yield above


def _subtree_ends(rows: tuple[Row, ...]) -> list[int]:
    """Return, for each row, the position after the last row below it in the tree."""
    ends = [len(rows)] * len(rows)
    open_rows: list[int] = []
    for position, row in enumerate(rows):
        while open_rows and rows[open_rows[-1]].depth >= row.depth:
            ends[open_rows.pop()] = position
        open_rows.append(position)
    return ends


def _text(row: Row) -> str:
    return "\n".join((row.name, row.detail, row.span_id or "", *row.notes)).casefold()
