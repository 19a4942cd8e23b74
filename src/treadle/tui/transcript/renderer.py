"""Renders the items of a transcript as lines."""

import json
from collections.abc import Sequence
from functools import singledispatchmethod

from textual.content import Content
from textual.strip import Strip

from treadle.display.call_arguments import main_argument
from treadle.display.event_lines import STOPPED
from treadle.events.types import SourceRange, StopReason
from treadle.session.sources import Quote, QuoteVerdict
from treadle.traces.amounts import cost, duration, tokens
from treadle.tui.conversation.items import (
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
from treadle.tui.text import foreign, foreign_line
from treadle.tui.transcript.look import Look

_UNFOLDED_LINES = 400
"""The maximum lines of an unfolded result. The trace has the rest."""

_CALL_MARKS = {
    CallState.RUNNING: ("◌", "$text-primary"),
    CallState.ASKING: ("?", "$text-warning bold"),
    CallState.DONE: ("●", "$text-success"),
    CallState.FAILED: ("✗", "$text-error"),
    CallState.DENIED: ("⊖", "$text-warning"),
    CallState.CANCELLED: ("⊘", "$text-muted"),
    CallState.TIMED_OUT: ("◷", "$text-error"),
}
_QUOTES = {
    QuoteVerdict.EXACT: "✓ matches",
    QuoteVerdict.MOVED: "✓ matches at other bytes than stated,",
    QuoteVerdict.DIFFERENT: "✗ differs from",
    QuoteVerdict.UNREADABLE: "✗ not a readable file:",
}
_BLANK = Strip([])


class Renderer:
    """Renders items at one width and in one theme."""

    def __init__(self, look: Look) -> None:
        self._look = look

    @singledispatchmethod
    def render(self, item: Item) -> list[Strip]:
        """Return the lines of an item, without a gutter."""
        raise TypeError(f"{type(item).__name__} has no rendering")

    @render.register
    def _(self, item: PromptItem) -> list[Strip]:
        note = {
            PromptState.QUEUED: " (queued)",
            PromptState.STEERING: " (waits for the next model request)",
            PromptState.SENT: " (sent to the running turn)" if item.steers else "",
        }[item.state]
        head = Content.styled("> ", "$text-primary bold")
        text = foreign(item.text.rstrip("\n"), "bold")
        lines = self._hanging(head, Content.assemble(text, Content.styled(note, "$text-muted")))
        if item.sources:
            size = "" if item.context_tokens is None else f", {item.context_tokens:,} tokens"
            count = _count(len(item.sources), "source")
            lines += self._fold(item, f"automatic context: {count}{size}")
            lines += self._sources(item.sources) if item.unfolded else []
        return [_BLANK, *lines, _BLANK]

    @render.register
    def _(self, item: ReasoningItem) -> list[Strip]:
        text = item.text.strip()
        what = "reasoning" if item.finished else "thinking"
        lines = self._fold(item, f"{what} ({_count(text.count(chr(10)) + 1, 'line')})")
        if item.unfolded:
            lines += self._indented(foreign(text, "$text-muted italic"))
        return lines

    @render.register
    def _(self, item: ProseItem) -> list[Strip]:
        if not item.text.strip():
            return []
        lines = self._look.markdown(item.text)
        while lines and not lines[-1].text.strip():
            lines.pop()
        return [*lines, _BLANK] if item.finished else lines

    @render.register
    def _(self, item: CodeItem) -> list[Strip]:
        bar = Strip(self._look.strips(Content.styled("│ ", "$text-muted"))[0])
        code = self._look.code(item.lines, item.label)
        lines: list[Strip] = []
        if item.starts and item.label:
            label = foreign_line(item.label, "$text-muted", columns=self._look.width - 2)
            lines += self._look.strips(Content.assemble(("│ ", "$text-muted"), label))
        width = self._look.width - 2
        for line in code.split("\n", allow_blank=True) if item.lines else ():
            wrapped = self._look.strips(line, width=width) or [_BLANK]
            lines += [Strip.join([bar, each]) for each in wrapped]
        return [*lines, _BLANK] if item.ends else lines

    @render.register
    def _(self, item: CallItem) -> list[Strip]:
        mark, style = _CALL_MARKS[item.state]
        room = self._look.width
        time = "" if item.duration is None else f" {duration(round(item.duration * 1e6))}"
        name = foreign_line(item.name, "bold", columns=40)
        about = foreign_line(main_argument(item.arguments), columns=max(8, room // 2))
        summary = foreign_line(item.summary, "$text-muted", columns=max(8, room))
        head = Content.assemble(
            (f"{mark} ", style), name, " ", about, *(("  ", summary) if item.summary else ()),
            (time, "$text-muted"),
        ).truncate(room, ellipsis=True)  # fmt: skip
        lines = self._look.strips(head)
        for note in item.notes:
            lines += self._indented(foreign_line(note, "$text-warning"))
        if item.unfolded:
            lines += self._call_details(item)
        return lines

    @render.register
    def _(self, item: NoticeItem) -> list[Strip]:
        style = "$text-warning" if item.level in {"warning", "error"} else "$text-muted"
        return self._hanging(Content.styled("! ", style), foreign(item.text, style))

    @render.register
    def _(self, item: OutcomeItem) -> list[Strip]:
        lines: list[Strip] = []
        if item.error is not None:
            lines += self._hanging(
                Content.styled("✗ ", "$text-error"), foreign(item.error, "$text-error")
            )
            lines += self._indented(foreign(item.hint)) if item.hint else []
        elif item.stop_reason not in {StopReason.COMPLETED, None}:
            lines += self._hanging(
                Content.styled("! ", "$text-warning"),
                Content.styled(STOPPED[item.stop_reason], "$text-warning"),
            )
        if (summary := _outcome_summary(item)) and (item.sources or item.quotes):
            lines += self._fold(item, summary)
        elif summary:
            lines += self._look.strips(Content.styled(summary, "$text-muted"))
        if item.unfolded:
            lines += [*self._sources(item.sources), *self._quotes(item.quotes)]
        return lines

    def _call_details(self, item: CallItem) -> list[Strip]:
        lines = self._indented(foreign(_pretty(item.arguments), "$text-muted"))
        if item.failure is not None:
            failure = item.failure
            for text in filter(None, (failure.expected, failure.received, failure.hint)):
                lines += self._indented(foreign(text, "$text-error"))
        lines += self._sources(item.sources)
        result = (item.details or item.content).splitlines()
        lines += self._indented(foreign("\n".join(result[:_UNFOLDED_LINES])))
        if (more := len(result) - _UNFOLDED_LINES) > 0:
            lines += self._indented(Content.styled(f"… {more:,} more lines", "$text-muted"))
        return lines

    def _sources(self, sources: Sequence[SourceRange]) -> list[Strip]:
        lines: list[Strip] = []
        for source in sources:
            where = foreign_line(f"{source.file}:{source.start_line}-{source.end_line}")
            name = foreign_line(f"  {source.name}", "$text-muted") if source.name else ""
            stale = " (changed since)" if source.stale else ""
            lines += self._indented(Content.assemble(where, name, (stale, "$text-warning")))
        return lines

    def _quotes(self, quotes: Sequence[Quote]) -> list[Strip]:
        lines: list[Strip] = []
        for quote in quotes:
            where = f":{quote.start_line}-{quote.end_line}" if quote.start_line else ""
            lines += self._indented(
                Content.assemble(f"{_QUOTES[quote.verdict]} ", foreign_line(quote.file + where))
            )
        return lines

    def _fold(self, item: Item, text: str) -> list[Strip]:
        """The line that folds and unfolds an item."""
        mark = "▾" if item.unfolded else "▸"
        return self._look.strips(Content.styled(f"{mark} {text}", "$text-muted"))

    def _indented(self, content: Content) -> list[Strip]:
        return self._hanging(Content("  "), content)

    def _hanging(self, head: Content, content: Content) -> list[Strip]:
        """Put `head` before the first line, and as many spaces before the other lines."""
        width = head.cell_length
        first = self._look.strips(head)[0]
        rest = Strip.blank(width)
        body = self._look.strips(content, width=max(4, self._look.width - width))
        return [Strip.join([rest if row else first, line]) for row, line in enumerate(body)]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _outcome_summary(item: OutcomeItem) -> str:
    parts = [
        _count(len(item.sources), "source") if item.sources else "",
        _count(item.tool_calls, "tool call") if item.tool_calls else "",
        tokens(item.usage),
        "" if item.cost is None else cost(item.cost),
        "" if item.duration is None else duration(round(item.duration * 1e6)),
    ]
    return " · ".join(filter(None, parts))


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments
