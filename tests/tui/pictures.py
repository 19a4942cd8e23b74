"""Pictures of the terminal as small SVG files, and their comparison with the stored ones.

`UPDATE_PICTURES=1 pytest tests/tui` writes the pictures in `tests/tui/pictures`. Read the changed
ones before they are committed: `git diff` shows one line for each line of the terminal.
"""

import difflib
import html
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from textual.app import App

FOLDER = Path(__file__).parent / "pictures"
CELL, LINE, ASCENT = 8.4, 18, 13.5
"""The width and height of a character in pixels, and the position of its baseline."""

_SVG_STYLE = (
    "<style>text { font: 14px 'DejaVu Sans Mono', 'Fira Code', Menlo, monospace;"
    " white-space: pre }</style>"
)
_EDGE = 3
_RICH_CELL, _RICH_LINE = 12.2, 24.4
_RECT = re.compile(r'<rect fill="(#\w+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"')
_TEXT = re.compile(
    r'<text class="[\w-]+-(r\d+)" x="([\d.]+)" y="([\d.]+)" textLength="([\d.]+)"[^>]*>([^<]*)<'
)
_STYLE = re.compile(r"^\s*\.[\w-]+-(r\d+) \{ (.*) \}$", re.MULTILINE)
_VARYING = (
    (re.compile(r"\b\d+(?:\.\d+)? [mµ]?s\b"), "0.0 s"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "2026-01-01"),
    (re.compile(r"\b\d\d:\d\d\b"), "12:00"),
    (re.compile(r"\b[0-9a-f]{16,32}\b"), "0" * 18),
)
"""Durations, dates, times and ids, and what a picture has in their place."""
_DIGIT = re.compile(r"\d")
"""A digit becomes 0 in a stored picture.

The path of a test's folder is in the prompt, so its length changes the numbers of tokens.
"""


@dataclass(frozen=True, slots=True)
class _Run:
    """Characters of one style, or a background of one colour, in cells of a line."""

    column: int
    cells: int
    style: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """What a terminal shows: texts and backgrounds for each line."""

    width: int
    texts: Sequence[Sequence[_Run]]
    backgrounds: Sequence[Sequence[_Run]]

    @classmethod
    def of(cls, app: App[Any], *, exact: bool = False) -> "Picture":
        """The present picture of an application.

        Times and ids are replaced, since they vary, unless the picture is to be `exact`.
        """
        exported = app.export_screenshot(simplify=True)
        width, height = app.size
        styles = {name: _style(css) for name, css in _STYLE.findall(exported)}
        texts: list[list[_Run]] = [[] for _ in range(height)]
        backgrounds: list[list[_Run]] = [[] for _ in range(height)]
        for fill, x, y, length in _RECT.findall(exported):
            row = round((float(y) - 1.5) / _RICH_LINE)
            run = _Run(_cells(x), _cells(length), fill)
            if row < height and run.cells:
                _join(backgrounds[row], run)
        for name, x, y, length, content in _TEXT.findall(exported):
            text = html.unescape(content).replace("\xa0", " ").rstrip("\n")
            if text:
                row = round((float(y) - 20) / _RICH_LINE)
                run = _Run(_cells(x), _cells(length), styles[name], text)
                texts[row].append(run if exact else _same(run, width))
        return cls(width, texts, backgrounds)

    @property
    def lines(self) -> list[str]:
        """The text of each line."""
        shown = []
        for runs in self.texts:
            line = ""
            for run in runs:
                line = line.ljust(run.column) + run.text
            shown.append(line.rstrip())
        return shown

    def svg(self) -> str:
        """The picture as SVG. Each line of the terminal has its own lines of SVG."""
        ground = _most_common(self.backgrounds)
        width, height = round(self.width * CELL + 16), len(self.texts) * LINE + 16
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
            _SVG_STYLE,
            f'<rect width="{width}" height="{height}" rx="6" fill="{ground}"/>',
            '<g transform="translate(8 8)">',
        ]
        for number, (texts, backgrounds) in enumerate(
            zip(self.texts, self.backgrounds, strict=True)
        ):
            lines += _rects(number, [run for run in backgrounds if run.style != ground])
            lines += _text(number, texts)
        return "\n".join([*lines, "</g>", "</svg>", ""])


def check_picture(app: App[Any], name: str) -> None:
    """Compare the present picture of an application with `pictures/<name>.svg`."""
    shown = Picture.of(app)
    texts = [[replace(run, text=_DIGIT.sub("0", run.text)) for run in row] for row in shown.texts]
    picture = replace(shown, texts=texts)
    path = FOLDER / f"{name}.svg"
    if os.environ.get("UPDATE_PICTURES"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(picture.svg(), encoding="utf-8")
        return
    stored = path.read_text(encoding="utf-8") if path.exists() else ""
    if picture.svg() != stored:
        raise AssertionError("\n".join(_difference(name, stored, picture)))


def _difference(name: str, stored: str, picture: Picture) -> Iterator[str]:
    yield f"The picture {name} differs. UPDATE_PICTURES=1 writes it."
    before, after = _stored_lines(stored), picture.lines
    changes = list(difflib.unified_diff(before, after, "stored", "now", lineterm="", n=1))
    yield from changes
    if not changes:
        yield "The text is the same. These lines of SVG differ:"
        yield from difflib.unified_diff(
            stored.splitlines(), picture.svg().splitlines(), "stored", "now", lineterm="", n=0
        )


def _stored_lines(svg: str) -> list[str]:
    """The text of each line of a stored picture."""
    height = re.search(r'viewBox="0 0 \d+ (\d+)"', svg)
    lines = [""] * ((int(height[1]) - 16) // LINE if height else 0)
    for y, line in re.findall(r'<text y="([\d.]+)">(.*)</text>', svg):
        text = ""
        for x, content in re.findall(r'<tspan x="([\d.]+)"[^>]*>([^<]*)', line):
            text = text.ljust(round(float(x) / CELL)) + html.unescape(content)
        lines[round((float(y) - ASCENT) / LINE)] = text.rstrip()
    return lines


def _same(run: _Run, width: int) -> _Run:
    """Replace what varies. A text at the right edge of the screen still ends there."""
    text = run.text
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    longer = len(text) - len(run.text)
    at_edge = run.column + run.cells >= width - _EDGE
    return _Run(run.column - longer * at_edge, run.cells + longer, run.style, text)


def _cells(pixels: str) -> int:
    return round(float(pixels) / _RICH_CELL)


def _style(css: str) -> str:
    """The attributes of SVG for a style of Rich."""
    rules = dict(rule.strip().split(": ", 1) for rule in css.strip(" ;").split(";") if rule.strip())
    names = {"fill": "fill", "font-weight": "font-weight", "font-style": "font-style",
             "text-decoration": "text-decoration"}  # fmt: skip
    return "".join(f' {names[key]}="{value.strip()}"' for key, value in rules.items())


def _join(runs: list[_Run], run: _Run) -> None:
    """Append a run, joined with the one before if both have the same style."""
    if runs and runs[-1].style == run.style and runs[-1].column + runs[-1].cells == run.column:
        last = runs.pop()
        run = _Run(last.column, last.cells + run.cells, run.style)
    runs.append(run)


def _most_common(backgrounds: Sequence[Sequence[_Run]]) -> str:
    cells = Counter[str]()
    for runs in backgrounds:
        for run in runs:
            cells[run.style] += run.cells
    return cells.most_common(1)[0][0] if cells else "#000000"


def _rects(number: int, runs: Sequence[_Run]) -> Iterator[str]:
    if runs:
        rects = (
            f'<rect x="{_pixels(run.column)}" y="{number * LINE}" width="{_pixels(run.cells)}"'
            f' height="{LINE}" fill="{run.style}"/>'
            for run in runs
        )
        yield "".join(rects)


def _text(number: int, runs: Sequence[_Run]) -> Iterator[str]:
    spans = "".join(
        f'<tspan x="{_pixels(run.column)}" textLength="{_pixels(run.cells)}"{run.style}>'
        f"{html.escape(run.text, quote=False)}</tspan>"
        for run in runs
        if run.text.strip()
    )
    if spans:
        yield f'<text y="{number * LINE + ASCENT:g}">{spans}</text>'


def _pixels(cells: int) -> str:
    return f"{cells * CELL:.1f}".removesuffix(".0")
