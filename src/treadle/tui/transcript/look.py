"""The styles of a transcript in the present theme, and the conversion of content to strips."""

import io
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import Heading, ListItem, Markdown, MarkdownElement, TableElement
from rich.segment import Segment
from rich.style import Style as RichStyle
from rich.table import Table
from rich.theme import Theme
from textual.content import Content
from textual.highlight import highlight
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions

from treadle.diagnosis.evidence import linked_spans
from treadle.tui.code_style import CodeTheme
from treadle.tui.text import foreign
from treadle.visible import in_line, printable

_HIGHLIGHTED_CHARACTERS = 20_000
"""A text with more characters is shown without highlighting."""

_MARKDOWN_STYLES = {
    "markdown.h1": "$text-primary bold underline",
    "markdown.h2": "$text-primary bold",
    "markdown.h3": "$text-primary bold",
    "markdown.h4": "$text-primary",
    "markdown.h5": "$text-primary",
    "markdown.h6": "$text-primary",
    "markdown.code": "$text-accent",
    "markdown.code_block": "$text-accent",
    "markdown.block_quote": "$text-muted italic",
    "markdown.item.bullet": "$text-primary bold",
    "markdown.item.number": "$text-primary bold",
    "markdown.hr": "$text-muted",
    "markdown.link": "$text-secondary underline",
    "markdown.link_url": "$text-secondary underline",
    "markdown.table.border": "$text-muted",
    "markdown.table.header": "bold",
}
"""Rich's names of Markdown styles, and the style of the theme for each."""


_PANEL = "on $surface"


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _ListItem(ListItem):
    """Draws an item of a numbered list with a full stop after its number."""

    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        parts = super().render_number(console, options, number, last_number)
        for position, part in enumerate(parts):
            if position == 0 and isinstance(part, Segment):
                yield Segment(f"{number}. ".rjust(len(part.text)), part.style)
            else:
                yield part


class _Table(TableElement):
    """Draws a table. Its cells break long words, so that no part of a word is hidden."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "list_item_open": _ListItem,
        "table_open": _Table,
    }


class Look:
    """Converts content to strips of one width.

    `parse` resolves a style with theme variables. After a change of the theme, callers create a new
    object.
    """

    def __init__(self, width: int, parse: Callable[[str], Style]) -> None:
        self.width = max(8, width)
        self._parse = parse

    def style(self, style: str) -> RichStyle:
        """Resolve a style such as `$text-muted italic`."""
        return self._parse(style).rich_style

    def strips(self, content: Content, *, width: int | None = None) -> list[Strip]:
        """Wrap content to the width."""
        options = RenderOptions(get_style=self._get_style, rules={})
        return content.render_strips(width or self.width, None, Style(), options)

    def markdown(self, text: str, *, width: int | None = None) -> list[Strip]:
        """Render foreign Markdown. HTML in it is shown as text.

        Markdown that does not fit, such as a table with too many columns, is shown as written.
        """
        width = width or self.width
        shown = _Markdown("", hyperlinks=False)
        shown.parsed = _PARSER.parse(foreign(text).plain)
        if not _may_fit(shown.parsed, width):
            return self.strips(foreign(text), width=width)
        _make_visible(shown.parsed)
        options = self._console.options.update(width=width)
        lines = self._console.render_lines(shown, options, pad=False)
        strips = [Strip(line).simplify() for line in lines]
        drawn = "".join(strip.text for strip in strips)
        if any(_count(kind, drawn) < _count_in(kind, shown.parsed) for kind in _VISIBLE):
            return self.strips(foreign(text), width=width)
        return _without_double_blanks(strips)

    def panel(
        self, code: Content | Sequence[Content], *, first_line: int | None = None
    ) -> list[Strip]:
        """Put lines of code on a background of the whole width.

        `first_line` is the number of the first line, if the numbers of the lines are shown.
        """
        rows = code.split("\n", allow_blank=True) if isinstance(code, Content) else code
        base = self.style(_PANEL)
        digits = 0 if first_line is None else len(str(first_line + len(rows)))
        strips: list[Strip] = []
        for row, line in enumerate(rows):
            number = "" if first_line is None else f"{first_line + row:>{digits}}  "
            margin = len(number) + 1
            width = max(4, self.width - margin - 1)
            for part, strip in enumerate(self.strips(line, width=width) or [Strip([])]):
                head = Segment(
                    f" {number}" if part == 0 else " " * margin, self.style("$text-muted")
                )
                strips.append(
                    Strip([head, *strip]).extend_cell_length(self.width).apply_style(base)
                )
        return strips

    def code(self, lines: Sequence[str], label: str) -> Content:
        """Highlight lines of foreign code. `label` is a language or a path."""
        code = foreign("\n".join(lines))
        if not label or len(code.plain) > _HIGHLIGHTED_CHARACTERS:
            return code
        is_path = "/" in label or "." in label
        path, language = (label, None) if is_path else (None, label)
        styled = highlight(code.plain, path=path, language=language, theme=CodeTheme)
        # The highlighter may drop the last line break.
        return styled if styled.plain.rstrip("\n") == code.plain.rstrip("\n") else code

    def _get_style(self, style: str | Style) -> Style:
        return self._parse(style) if isinstance(style, str) else style

    @cached_property
    def _console(self) -> Console:
        theme = Theme({name: self.style(style) for name, style in _MARKDOWN_STYLES.items()})
        return Console(
            file=io.StringIO(), force_terminal=True, color_system="truecolor", width=self.width,
            theme=theme, markup=False, highlight=False, emoji=False, legacy_windows=False,
        )  # fmt: skip


def _make_visible(tokens: Iterable[Token]) -> None:
    """Make characters from entities such as `&#x202e;` visible, and shorten the links to spans."""
    for token in tokens:
        token.content = printable(token.content)
        if token.type == "link_open" and (spans := linked_spans(str(token.attrs.get("href", "")))):
            token.attrs["href"] = f"span {in_line(spans[0].span_id)}"
        _make_visible(token.children or ())


def _may_fit(tokens: Sequence[Token], width: int) -> bool:
    """Whether the parser has read all levels, and the columns of a table may fit."""
    columns = sum(token.type == "th_open" for token in tokens)
    return 2 * columns <= width and all(token.level < _MAX_NESTING - 1 for token in tokens)


def _count_in(kind: Callable[[str], bool], tokens: Iterable[Token]) -> int:
    """The number of characters of a kind in the text of tokens, without the targets of links."""
    return sum(
        _count_in(kind, token.children) if token.children else _count(kind, token.content)
        for token in tokens
    )


def _count(kind: Callable[[str], bool], text: str) -> int:
    return sum(map(kind, text))


def _without_double_blanks(strips: Sequence[Strip]) -> list[Strip]:
    """Remove blank lines at the start, at the end, and after another blank line."""
    kept: list[Strip] = []
    for strip in strips:
        if strip.text.strip() or (kept and kept[-1].text.strip()):
            kept.append(strip)
    if kept and not kept[-1].text.strip():
        kept.pop()
    return kept


_VISIBLE = (str.isalpha, str.isdigit)
"""Kinds of characters that are counted to find out whether a part of a text is missing.

Each kind is counted separately, because the numbers of a list add digits to the drawn text, but no
letters.
"""

_MAX_NESTING = 60
"""The parser ignores text in more levels than this. A list has two levels."""

_PARSER = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING}).enable(
    ["strikethrough", "table"]
)
