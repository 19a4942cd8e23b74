"""The search of the code: results while a person types, a preview, and walks between items.

A step of a walk lists the callers, callees or implementations of an item.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from textual import work
from textual.content import Content

from treadle.app.code_exploration import Relation
from treadle.clock import Clock
from treadle.code.model import TEXT_KINDS
from treadle.errors import TreadleError
from treadle.events.types import SourceRange
from treadle.session.attachments import CodeAttachment, ItemAttachment
from treadle.tui.actions import Where
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.picker import Picker
from treadle.tui.screens.row_list import Row, fields
from treadle.tui.text import foreign_line
from treadle.tui.transcript.look import Look
from treadle.tui.workbench import Workbench

if TYPE_CHECKING:
    from treadle.app.code_exploration import Excerpt

PAUSE_SECONDS = 0.12
"""A search starts when no key was pressed for this number of seconds."""
_RESULTS = 50
_PREVIEW_LINES = 300
_KIND_COLUMNS = 10
_NAMES = {
    Relation.CALLERS: "callers of",
    Relation.CALLEES: "called by",
    Relation.IMPLEMENTATIONS: "implementations of",
}


class _Located(Protocol):
    """An item or a search result."""

    @property
    def name(self) -> str: ...
    @property
    def canonical_path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def start_line(self) -> int: ...
    @property
    def end_line(self) -> int: ...


@dataclass(frozen=True, slots=True)
class FoundCode:
    """An item or a range of lines that was found.

    `reason` states why it was found, if its own words are not the reason. Otherwise it is empty.
    """

    name: str
    canonical_path: str
    kind: str
    file: str
    start_line: int
    end_line: int
    reason: str = ""

    @classmethod
    def of(cls, found: _Located, reason: str = "") -> "FoundCode":
        """The code of an item or a search result."""
        return cls(
            found.name, found.canonical_path, found.kind, found.file, found.start_line,
            found.end_line, reason,
        )  # fmt: skip

    @property
    def title(self) -> str:
        """The name that a list shows.

        The name of a method includes its class. The name of a range of lines is that of its file.
        """
        if self.kind == "chunk":
            return self.file.rpartition("/")[2]
        if self.kind != "method" or not self.canonical_path.endswith(self.name):
            return self.name
        owner = self.canonical_path.removesuffix(self.name).rstrip(".:#")
        return self.canonical_path[len(owner) - len(re.split("[.:#]", owner)[-1]) :]

    @property
    def source(self) -> SourceRange:
        """The lines of the code."""
        return SourceRange(self.file, self.start_line, self.end_line, self.canonical_path)

    @property
    def attachment(self) -> CodeAttachment | ItemAttachment:
        """The attachment that contains exactly this code."""
        if self.kind in TEXT_KINDS:
            return CodeAttachment(self.file, self.start_line, self.end_line)
        return ItemAttachment(self.canonical_path, self.file)

    @property
    def key(self) -> str:
        """A key that identifies the code in a list."""
        return f"{self.file}\0{self.start_line}\0{self.canonical_path}"


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of a walk: its rows, and the item from which it started."""

    start: FoundCode
    relation: Relation
    found: tuple[FoundCode, ...]
    unresolved: int


class SearchScreen(Picker[FoundCode, FoundCode]):
    """Searches the index. The result is the code that the person attaches."""

    TITLE_TEXT = "Search the code"
    ENTER = "Attach"
    PLACE = Where.SEARCH
    FILTER = "Type a symbol, a path or a question"
    EMPTY = "Type a symbol, a path or a question."
    NO_MATCH = "No code matches."
    BINDINGS = bindings(Where.SEARCH)

    def __init__(
        self,
        workbench: Workbench,
        open_in_editor: Callable[[SourceRange], Awaitable[None]],
        clock: Clock,
        query: str = "",
    ) -> None:
        super().__init__(query)
        self._workbench = workbench
        self._open_in_editor = open_in_editor
        self._clock = clock
        self._walk: list[_Step] = []
        self._walked_query = ""
        self._summary = ""
        self._rows: Sequence[Row[FoundCode]] = ()

    async def find_rows(self, query: str) -> Sequence[Row[FoundCode]]:
        """The results of a search, or the items of the present step of a walk."""
        if self._walk and query == self._walked_query:
            return self._rows_of_step(self._walk[-1])
        self._walk.clear()
        if not query.strip():
            self._summary = ""
            return ()
        await self._clock.sleep(PAUSE_SECONDS)
        if query != self.query_text:  # the person typed on
            return self._rows
        results = await self._workbench.search(query, top_k=_RESULTS)
        number = len(results.results)
        noun = "result" if number == 1 else "results"
        self._summary = f"{number} {noun} in {results.took * 1e3:.0f} ms"
        found = [FoundCode.of(result, result.reason) for result in results.results]
        notes = [_note(number, note) for number, note in enumerate(results.notes)]
        self._rows = [*map(_row, range(1, len(found) + 1), found), *notes]
        return self._rows

    async def choose_row(self, value: FoundCode) -> None:
        """Attach the code to the prompt."""
        self.finish(value)

    async def preview(self, value: FoundCode, columns: int) -> Content:
        """The lines of the code with their numbers."""
        excerpt = await self._workbench.excerpt(value.source)
        look = Look(columns, self.app.stylesheet.parse_style)
        return await asyncio.to_thread(_numbered, look, excerpt, value)

    def summary(self) -> str:
        """The number of results and the time of a search, or the number of results of a step."""
        return self._summary

    def action_search_callers(self) -> None:
        """List the callers of the highlighted item."""
        self._step(Relation.CALLERS)

    def action_search_callees(self) -> None:
        """List the items that the highlighted item calls."""
        self._step(Relation.CALLEES)

    def action_search_implementations(self) -> None:
        """List the subclasses, implementations and overrides of the highlighted item."""
        self._step(Relation.IMPLEMENTATIONS)

    def action_search_back(self) -> None:
        """Go back to the list before the last step of a walk."""
        if not self._walk:
            return
        step = self._walk.pop()
        if not self._walk:
            self._walked_query = ""
        self.reload()
        self.call_later(self._highlight_later, step.start.key)

    @work(exclusive=True, group="editor")
    async def action_search_edit(self) -> None:
        """Open the highlighted code in the editor at its line."""
        code = await self.settled()
        if code is None:
            return
        try:
            await self._open_in_editor(code.source)
        except TreadleError as error:
            self.show_error(error)

    @work(exclusive=True, group="walk")
    async def _step(self, relation: Relation) -> None:
        code = await self.settled()
        if code is None:
            return
        if code.kind in TEXT_KINDS:
            self.show_message("These lines are text. Only items of code have relations.")
            return
        try:
            found = await self._workbench.neighbours(code.canonical_path, code.file, relation)
        except TreadleError as error:
            self.show_error(error)
            return
        if not (found.items or found.possible):
            more = f" {found.unresolved:,} names are unresolved." if found.unresolved else ""
            self.show_message(Content.assemble(
                f"There are no {relation.value} of ", foreign_line(code.name, columns=60), ".", more
            ))  # fmt: skip
            return
        items = (
            *(FoundCode.of(item) for item in found.items),
            *(FoundCode.of(item, "by name only") for item in found.possible),
        )
        self._walk.append(_Step(code, relation, items, found.unresolved))
        self._walked_query = self.query_text
        self.reload()

    def _rows_of_step(self, step: _Step) -> Sequence[Row[FoundCode]]:
        self._summary = f"step {len(self._walk)}, {len(step.found)} found"
        if step.unresolved:
            self._summary += f", {step.unresolved:,} unresolved"
        title = Content.assemble(
            f"{_NAMES[step.relation]} ", foreign_line(step.start.canonical_path, columns=200)
        )
        heading: Row[FoundCode] = Row("heading", None, lambda _: title)
        return [heading, *map(_row, range(1, len(step.found) + 1), step.found)]

    async def _highlight_later(self, key: str) -> None:
        await self.workers.wait_for_complete(
            [worker for worker in self.workers if worker.name == "_read_rows"]
        )
        self.highlight(key)


def _row(rank: int, code: FoundCode) -> Row[FoundCode]:
    def draw(columns: int) -> Content:
        lines = f":{code.start_line}-{code.end_line}"
        width = max(12, columns // 2 - 4)
        path = foreign_line(code.file + lines, "$text-muted").plain
        if len(path) > width:
            path = f"…{path[len(path) - width + 1 :]}"
        head = Content.assemble(
            (f"{rank:>2} ", "$text-muted"),
            foreign_line(code.title, "bold", columns=max(8, columns)),
            (f"  {code.kind}"[: _KIND_COLUMNS + 2], "$text-secondary"),
            "  ",
            foreign_line(code.reason, "$text-muted", columns=max(8, columns)),
        )
        return fields(columns, head, (Content.styled(path, "$text-muted"), len(path)))

    return Row(code.key, code, draw)


def _note(number: int, note: str) -> Row[FoundCode]:
    return Row(f"note {number}", None, lambda columns: foreign_line(note, columns=max(8, columns)))


def _numbered(look: Look, excerpt: "Excerpt", code: FoundCode) -> Content:
    """The heading of a preview, and its highlighted lines with their numbers."""
    lines = excerpt.lines[:_PREVIEW_LINES]
    digits = len(str(excerpt.first_line + len(lines)))
    rows = look.code(lines, excerpt.file).split("\n", allow_blank=True) if lines else []
    shown = [
        Content.assemble((f"{excerpt.first_line + row:>{digits}}  ", "$text-muted"), line)
        for row, line in enumerate(rows)
    ]
    if (more := len(excerpt.lines) - len(lines)) > 0:
        shown.append(Content.styled(f"… {more:,} more lines", "$text-warning"))
    return Content("\n").join([foreign_line(code.canonical_path, "bold"), Content(), *shown])
