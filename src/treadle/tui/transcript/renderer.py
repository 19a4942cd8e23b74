"""Renders the items of a transcript as lines."""

import json
from collections.abc import Mapping, Sequence
from functools import singledispatchmethod
from typing import NamedTuple

from textual.content import Content
from textual.strip import Strip

from treadle.display.call_arguments import main_argument
from treadle.display.event_lines import STOPPED
from treadle.events.types import SourceRange, StopReason
from treadle.session.sources import Quote, QuoteVerdict
from treadle.traces.amounts import cost, duration, tokens
from treadle.tui.conversation.answer_parts import CODE_LINES
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
    Target,
)
from treadle.tui.text import foreign, foreign_line
from treadle.tui.transcript.look import Look

_UNFOLDED_LINES = 400
"""The maximum number of lines of an unfolded text. The trace has the rest."""
_UNFOLDED_CHARACTERS = 40_000
_EXCERPT_LINES = 60
"""The maximum number of lines of an excerpt. The editor shows the rest."""
_SUMMARY_COLUMNS = 30
"""The argument of a call keeps up to this number of columns, even if the summary needs them."""
_COMMAND_SPARE = 16
"""The number of columns that the mark, the name and the time of a shell command need."""

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


class Rendered(NamedTuple):
    """The lines of an item. `targets` has the targets of some lines by line number, from 0.

    `fold` is the number of the line that folds and unfolds the item. None if it cannot be folded.
    """

    strips: list[Strip]
    targets: Mapping[int, Target]
    fold: int | None


class _Lines:
    """Collects the lines of an item."""

    def __init__(self) -> None:
        self.strips: list[Strip] = []
        self.targets: dict[int, Target] = {}
        self.fold: int | None = None

    def add(self, strips: Sequence[Strip], target: Target | None = None) -> None:
        """Add lines. The first of them leads to `target`."""
        if target is not None and strips:
            self.targets[len(self.strips)] = target
        self.strips.extend(strips)


class Renderer:
    """Renders items at one width and in one theme."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def render(self, item: Item, previous: Item | None = None) -> Rendered:
        """Return the lines of an item, without a gutter. `previous` is the item above it."""
        lines = _Lines()
        if previous is not None and _has_gap(previous, item):
            lines.add([_BLANK])
        self._add(item, lines)
        if len(lines.strips) == 1 and lines.strips[0] is _BLANK:
            lines.strips.clear()
        return Rendered(lines.strips, lines.targets, lines.fold)

    @singledispatchmethod
    def _add(self, item: Item, lines: _Lines) -> None:  # noqa: ARG002
        raise TypeError(f"{type(item).__name__} has no rendering")

    @_add.register
    def _(self, item: PromptItem, lines: _Lines) -> None:
        if not item.text:
            return  # the prompt could not be sent
        note = {
            PromptState.PENDING: f" ({item.waits_for})" if item.waits_for else "",
            PromptState.QUEUED: " (queued)",
            PromptState.STEERING: " (waits for the next model request)",
            PromptState.SENT: " (sent to the running turn)" if item.steers else "",
        }[item.state]
        head = Content.styled("> ", "$text-primary bold")
        shown = (item.text if item.unfolded else item.beginning).strip("\n")
        folded = []
        if item.beginning != item.text:
            folded.append(f"the message has {_count(item.text.count(chr(10)) + 1, 'line')}")
        if item.sources:
            size = "" if item.context_tokens is None else f", {item.context_tokens:,} tokens"
            count = _count(len(item.sources), "source")
            folded.append(f"automatic context: {count}{size}")
        content = Content.assemble(foreign(shown, "bold"), Content.styled(note, "$text-muted"))
        lines.add(self._hanging(head, content))
        if folded:
            self._fold(item, " · ".join(folded), lines)
        if item.unfolded:
            self._sources(item, item.sources, lines)

    @_add.register
    def _(self, item: ReasoningItem, lines: _Lines) -> None:
        text = item.text.strip("\n")
        what = "reasoning" if item.finished else "thinking"
        self._fold(item, f"{what} ({_count(text.count(chr(10)) + 1, 'line')})", lines)
        if item.unfolded:
            self._text(text, "$text-muted italic", lines)

    @_add.register
    def _(self, item: ProseItem, lines: _Lines) -> None:
        if item.text.strip():
            lines.add(self._look.markdown(item.table_head + item.text))

    @_add.register
    def _(self, item: CodeItem, lines: _Lines) -> None:
        if item.starts:
            label = foreign_line(item.label, "$text-muted", columns=self._look.width - 2)
            lines.add(self._look.panel([label]))
        if item.lines:
            complete = item.ends or len(item.lines) >= CODE_LINES
            # It costs too much to highlight the earlier lines again with each line that arrives.
            before = item.before if complete else ()
            code = self._look.code([*before, *item.lines], item.label)
            shown = code.split("\n", allow_blank=True)[len(before) :] if before else code
            lines.add(self._look.panel(shown))

    @_add.register
    def _(self, item: CallItem, lines: _Lines) -> None:
        lines.fold = len(lines.strips)
        lines.add([self._call_line(item)])
        for note in item.notes:
            lines.add(self._indented(foreign_line(note, "$text-warning")))
        if not item.unfolded:
            return
        if not (item.is_command and self._fits(item.arguments)):  # the call's line shows it whole
            self._text(_arguments(item.arguments), "$text-muted", lines)
        if item.failure is not None:
            failure = item.failure
            self._text(failure.message, "$text-error", lines)
            for name, text in (("expected", failure.expected), ("received", failure.received)):
                if text:
                    self._text(f"{name}: {text}", "$text-muted", lines)
            self._text(failure.hint or "", "", lines)
        self._sources(item, item.sources, lines)
        self._text(item.details or item.content, "", lines)
        if item.span is not None:
            about = Content.styled("→ this call in the flight recorder", "$text-secondary")
            lines.add(self._indented(about), item.span)

    @_add.register
    def _(self, item: NoticeItem, lines: _Lines) -> None:
        if not item.text:
            return  # the outcome below states the same
        style = "$text-warning" if item.level in {"warning", "error"} else "$text-muted"
        lines.add(self._hanging(Content.styled("! ", style), foreign(item.text, style)))

    @_add.register
    def _(self, item: OutcomeItem, lines: _Lines) -> None:
        if item.error is not None:
            head = Content.styled("✗ ", "$text-error")
            lines.add(self._hanging(head, foreign(item.error, "$text-error")))
            if item.hint:
                lines.add(self._indented(foreign(item.hint)))
        elif item.stop_reason not in {StopReason.COMPLETED, None}:
            head = Content.styled("! ", "$text-warning")
            stopped = Content.styled(STOPPED[item.stop_reason], "$text-warning bold")
            lines.add(self._hanging(head, stopped))
        summary = _outcome_summary(item, self._look.width - 2)
        if item.sources or item.quotes or item.spans:
            self._fold(item, summary, lines)
        elif summary:
            lines.add(self._look.strips(Content.styled(summary, "$text-muted")))
        if item.unfolded:
            self._sources(item, item.sources, lines)
            self._quotes(item.quotes, lines)
            for span in item.spans:
                about = Content.assemble("→ span ", foreign_line(span.span_id, columns=60))
                lines.add(self._indented(about.stylize("$text-secondary")), span)

    def _call_line(self, item: CallItem) -> Strip:
        """One line with the state, the name, the main argument and the summary of a call.

        The time is at the right end.
        """
        mark, style = _CALL_MARKS[item.state]
        time = "" if item.duration is None else duration(round(item.duration * 1e6))
        width = self._look.width
        room = width - len(time) - 1
        head = Content.assemble(
            (f"{mark} ", style), foreign_line(item.name, "bold", columns=max(8, room // 2)), " "
        )
        argument = main_argument(item.arguments)
        outcome = item.summary.removeprefix(f"{argument}: ")
        summary = foreign_line(outcome, "$text-muted", columns=max(8, room))
        about = foreign_line(argument, columns=max(8, room))
        left = room - head.cell_length
        if item.summary and about.cell_length + summary.cell_length + 2 > left:
            about = about.truncate(
                max(min(_SUMMARY_COLUMNS, left // 2), left - summary.cell_length - 2),
                ellipsis=True,
            )
        head = Content.assemble(head, about, *(("  ", summary) if item.summary else ()))
        shown = head.truncate(max(1, room), ellipsis=True)
        gap = max(1, width - shown.cell_length - len(time)) if time else 0
        line = Content.assemble(shown, " " * gap, (time, "$text-muted"))
        return self._look.strips(line.truncate(width))[0]

    def _sources(self, item: Item, sources: Sequence[SourceRange], lines: _Lines) -> None:
        for source in sources:
            excerpt = item.excerpts.get(source)
            mark = "▸ " if excerpt is None else "▾ "
            lines_read = f"{source.file}:{source.start_line}-{source.end_line}"
            where = foreign_line(lines_read)
            named = source.name and source.name != lines_read  # unnamed text is named by its lines
            name = foreign_line(f"  {source.name}", "$text-muted") if named else ""
            stale = "  (changed since)" if source.stale else ""
            head = Content.assemble((mark, "$text-muted"), where, name, (stale, "$text-warning"))
            lines.add(self._indented(head), source)
            if isinstance(excerpt, str):
                self._text(excerpt, "$text-error", lines)
            elif excerpt is not None:
                code = self._look.code(excerpt.lines[:_EXCERPT_LINES], source.file)
                lines.add(self._look.panel(code, first_line=excerpt.first_line))
                self._more(len(excerpt.lines) - _EXCERPT_LINES, lines)

    def _quotes(self, quotes: Sequence[Quote], lines: _Lines) -> None:
        for quote in quotes:
            where = f":{quote.start_line}-{quote.end_line}" if quote.start_line else ""
            head = Content.assemble(f"{_QUOTES[quote.verdict]} ", foreign_line(quote.file + where))
            target = SourceRange(quote.file, quote.start_line, quote.end_line) if where else None
            lines.add(self._indented(head), target)

    def _fold(self, item: Item, text: str, lines: _Lines) -> None:
        """Add the line that folds and unfolds an item."""
        mark = "▾" if item.unfolded else "▸"
        lines.fold = len(lines.strips)
        indented = text.replace("\n", "\n  ")
        lines.add(self._look.strips(Content.styled(f"{mark} {indented}", "$text-muted")))

    def _text(self, text: str, style: str, lines: _Lines) -> None:
        """Add the beginning of a foreign text, and the number of the lines that are left out."""
        rows = text[:_UNFOLDED_CHARACTERS].rstrip("\n").split("\n")
        if text:
            lines.add(self._indented(foreign("\n".join(rows[:_UNFOLDED_LINES]), style)))
        rest = text[_UNFOLDED_CHARACTERS:]
        more = max(0, len(rows) - _UNFOLDED_LINES) + rest.count("\n") + bool(rest)
        self._more(more, lines)

    def _more(self, count: int, lines: _Lines) -> None:
        if count > 0:
            more = Content.styled(f"… {_count(count, 'more line')}", "$text-muted")
            lines.add(self._indented(more))

    def _fits(self, command: str) -> bool:
        """Whether one line has space for the whole shell command and its time."""
        return "\n" not in command and len(command) <= self._look.width - _COMMAND_SPARE

    def _indented(self, content: Content) -> list[Strip]:
        return self._hanging(Content("  "), content)

    def _hanging(self, head: Content, content: Content) -> list[Strip]:
        """Put `head` before the first line, and as many spaces before the other lines."""
        width = head.cell_length
        first = self._look.strips(head)[0]
        rest = self._look.strips(Content(" " * width))[0]
        body = self._look.strips(content, width=max(4, self._look.width - width))
        return [Strip.join([rest if row else first, line]) for row, line in enumerate(body)]


def _has_gap(previous: Item, item: Item) -> bool:
    """Whether a blank line separates two items."""
    if isinstance(item, CodeItem):
        return item.starts
    if isinstance(item, CallItem | NoticeItem):
        return type(previous) is not type(item)
    return True


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _outcome_summary(item: OutcomeItem, columns: int) -> str:
    """The figures of a turn, in lines of up to `columns` columns. No figure is split."""
    parts = [
        _count(len(item.sources), "source") if item.sources else "",
        _count(len(item.quotes), "quote") if item.quotes else "",
        _count(len(item.spans), "span") if item.spans else "",
        _count(item.tool_calls, "tool call") if item.tool_calls else "",
        tokens(item.usage),
        "" if item.cost is None else cost(item.cost),
        "" if not item.duration else duration(round(item.duration * 1e6)),
    ]
    lines = [""]
    for part in filter(None, parts):
        joined = f"{lines[-1]} · {part}" if lines[-1] else part
        if lines[-1] and len(joined) > columns:
            lines.append(part)
        else:
            lines[-1] = joined
    return "\n".join(lines)


def _arguments(text: str) -> str:
    """The arguments of a call, one on each line. Other text than a JSON object is kept as it is."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(parsed, dict):
        return text
    return "\n".join(
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in parsed.items()
    )
