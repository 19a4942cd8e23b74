"""Splits Markdown into sections, with paths like `docs/page.md > Heading > Subheading`."""

import re
from collections.abc import Iterator

from treadle.code.languages.outline import MAX_HEAD, Outline, Part
from treadle.code.model import Kind

_HEADING = re.compile(rb" {0,3}(#{1,6})(?:[ \t]+([^\n]*?))?(?:[ \t]+#+)?[ \t\r]*$")
_UNDERLINE = re.compile(rb" {0,3}(=+|-+)[ \t\r]*$")
_FRONT_MATTER = re.compile(
    rb"(?:\xef\xbb\xbf)?(---|\+\+\+)[ \t]*\r?\n(?:(?!\1)[^\n]*\n){0,500}?\1[ \t]*(?:\r?\n|\Z)"
)
"""Front matter: settings of the page between two lines of `---` or `+++`.

These lines are not underlines of headings.
"""
_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_PARAGRAPH = re.compile(rb" {0,3}[^\s#>`~|-]")


def _headings(source: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Yield the name, start, end and level of each heading outside of fenced code."""
    fence = b""
    front = _FRONT_MATTER.match(source)
    above = front.end() if front is not None else 0
    before: tuple[bytes, int] | None = None
    position = 0
    for whole in source.split(b"\n"):
        start, end = position, position + len(whole)
        position = end + 1
        if end <= above:
            continue
        line = whole[:MAX_HEAD]
        marker = _FENCE.match(line)
        if fence:
            closes = marker is not None and marker.group(1).startswith(fence)
            if closes and not line.strip(b" \t\r`~"):
                fence = b""
            continue
        if marker is not None:
            fence, before = marker.group(1), None
            continue
        heading = _HEADING.match(line)
        underline = _UNDERLINE.match(line)
        if heading is not None and heading.group(2):
            yield _text(heading.group(2)), start, end, len(heading.group(1))
        elif underline is not None and before is not None:
            yield _text(before[0]), before[1], end, 1 if b"=" in line else 2
        before = (line, start) if _PARAGRAPH.match(line) else None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").strip()


def _sections(source: bytes) -> Iterator[Part]:
    """Yield each heading with the text up to the next heading of the same or a higher level."""
    found = list(_headings(source))
    ends = [len(source)] * len(found)
    around: list[int] = []
    for position, (_, start, _, level) in enumerate(found):
        while around and found[around[-1]][3] >= level:
            ends[around.pop()] = start
        around.append(position)
    for (name, start, head_end, level), end in zip(found, ends, strict=True):
        yield Part(name, start, end, head_end, level)


MARKDOWN = Outline("markdown", (".md", ".markdown", ".mdx"), Kind.SECTION, _sections)
