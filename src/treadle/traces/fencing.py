r"""Recorded text as quoted data, which a model cannot confuse with other text.

All recorded text for a model passes through `fenced` or `inline`, or through `quotable` if it
becomes a value in JSON.

::

    <recorded-5f0c9a1e62d4 source="span 01f9/00ab, output[0].content">
    | every line of the content, behind a bar
    </recorded-5f0c9a1e62d4>

This block is the fence of the content. The content cannot end its fence early, since each of its
lines begins with a bar, and every other line separator is escaped. The name of the fence is a keyed
digest of the content (`treadle.fences`). Hidden characters are escaped as well, as in `\u{202e}`.
The same applies to tags that look like code of a file (`<code="…`).
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from treadle.fences import fence_name
from treadle.spans.text_cuts import cut_before, cut_behind
from treadle.visible import braced, from_braces, in_braces

INLINE_CHARACTERS = 120
_SOURCE_CHARACTERS = 300

_TAG = re.compile(r"<(?=/?(?:code=|recorded-))")
"""Matches the beginning of a tag that a reader could take for code of a file, or for a fence."""
_OPENING = re.compile(r'<recorded-([0-9a-f]{12}) source=("(?:[^"\\\n]|\\[^\n])*+")>\n')


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded text and its source."""

    text: str
    source: str


def fenced(text: str, source: str) -> str:
    """Return `text` as a block of quoted data, which ends with a line break.

    `source` states the origin of the text, such as a span's id and a field. The source is also
    quoted and cut.
    """
    head = json.dumps(_visible(_cut(source, _SOURCE_CHARACTERS), also="<>\n"), ensure_ascii=False)
    body = "".join(f"| {line}\n" for line in _visible(text).split("\n"))
    name = fence_name(f"{head}\n{body}")
    return f"<recorded-{name} source={head}>\n{body}</recorded-{name}>\n"


def inline(text: str, *, limit: int = INLINE_CHARACTERS) -> str:
    """Return `text` as one line in quotation marks, for a sentence.

    A long text is cut in the middle.
    """
    # The escapes come last, since JSON would double the backslash of an earlier escape.
    return _visible(json.dumps(_cut(text, limit), ensure_ascii=False), also="<>")


def quotable(text: str, *, limit: int = INLINE_CHARACTERS) -> str:
    """Return `text`, cut to `limit` characters, as a value for a JSON string.

    The quotation marks of JSON serve as the fence.

    """
    return _visible(_cut(text, limit))


def recorded(message: str) -> Iterator[Recorded]:
    """Yield every fenced block of a message, in order, with its original content."""
    position = 0
    while (opening := _OPENING.search(message, position)) is not None:
        closing = f"</recorded-{opening[1]}>\n"
        end = message.find(f"\n{closing}", opening.end() - 1)
        if end < 0:
            position = opening.end()
            continue
        body = message[opening.end() : end + 1]
        lines = body.split("\n")[:-1]
        yield Recorded(
            from_braces("\n".join(line.removeprefix("| ") for line in lines)),
            from_braces(json.loads(opening[2])),
        )
        position = end + 1 + len(closing)


def _visible(text: str, *, also: str = "") -> str:
    """Return `text` with escapes for hidden characters and for the characters of `also`."""
    shown = _TAG.sub(lambda found: braced(found[0]), in_braces(text))
    for character in also:
        shown = shown.replace(character, braced(character))
    return shown


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    last = cut_behind(text, len(text) - limit + half + 1)
    return f"{text[: cut_before(text, half)]}…{text[last:]}"
