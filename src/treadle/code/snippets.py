"""The code snippet format: exact bytes of a file with their range, safe for any content.

::

    <code="/absolute/path.rs" #120:164>
    …bytes 120 to 164 of the file…
    </code>

Offsets are in bytes, and the end is exclusive. The bytes are between the line break after the
opening tag and the line break before the closing tag. A reader takes exactly `end - start` bytes,
so the content may contain `</code>`.
"""

import re
from dataclasses import dataclass

_OPENING = re.compile(rb'<code="([^"\r\n]{1,4096})" #(\d{1,18}):(\d{1,18})>\n')
_CLOSING = b"\n</code>"


@dataclass(frozen=True, slots=True)
class Snippet:
    """One snippet as it was written. The file may have changed since then."""

    path: str
    start: int
    end: int
    content: str


def write_snippet(absolute_path: str, start: int, end: int, content: str | bytes) -> str:
    """Return the snippet as text.

    Raises `ValueError` if the format cannot carry the arguments exactly. This is the case if the
    length of the content in UTF-8 is not `end - start`, if the content or the path is not UTF-8, or
    if the path has a line break or `"`.
    """
    data = content.encode() if isinstance(content, str) else content
    if not 0 <= start <= end or len(data) != end - start:
        raise ValueError(f"content of {len(data)} bytes is not the range {start}:{end}")
    head = f'<code="{absolute_path}" #{start}:{end}>\n'
    opening = _OPENING.match(head.encode())
    if opening is None or opening.group(1) != absolute_path.encode():
        raise ValueError("the path has characters that a snippet cannot contain")
    return f"{head}{data.decode()}\n</code>"


def claimed_snippets(text: str) -> tuple[Snippet, ...]:
    """Return every snippet in `text`, even if its content does not have the stated length.

    A snippet with a wrong length ends at the next closing tag.
    """
    data = text.encode("utf-8", "surrogatepass")
    found: list[Snippet] = []
    position = 0
    while (opening := _OPENING.search(data, position)) is not None:
        start, end = int(opening.group(2)), int(opening.group(3))
        stop = opening.end() + end - start
        if end < start or not data.startswith(_CLOSING, stop):
            stop = data.find(_CLOSING, opening.end() - 1)
        if stop < 0:
            break
        content = data[opening.end() : max(stop, opening.end())].decode("utf-8", "replace")
        found.append(Snippet(opening.group(1).decode("utf-8", "replace"), start, end, content))
        position = stop + len(_CLOSING)
    return tuple(found)


def parse_snippets(text: str) -> tuple[Snippet, ...]:
    """Return every well-formed snippet in `text`, in order. Other snippets are skipped."""
    data = text.encode("utf-8", "surrogatepass")
    found: list[Snippet] = []
    position = 0
    while (opening := _OPENING.search(data, position)) is not None:
        start, end = int(opening.group(2)), int(opening.group(3))
        stop = opening.end() + end - start
        if end < start or not data.startswith(_CLOSING, stop):
            position = opening.start() + 1
            continue
        try:
            content = data[opening.end() : stop].decode()
            found.append(Snippet(opening.group(1).decode(), start, end, content))
        except UnicodeDecodeError:
            position = opening.start() + 1
            continue
        position = stop + len(_CLOSING)
    return tuple(found)
