"""How a file is written, and how a model writes the parts that it saw."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.edits.blocks import Block, indent_of


def _same(line: str) -> str:
    return line


@dataclass(frozen=True, slots=True)
class Variant:
    """One way in which file and edit differ, or do not.

    `stored` is the content of a line in the file, `added` the form that a new line should get,
    `told` the form in which the model writes an existing line, `told_added` a new one. `ends` are
    the line ends, chosen by a fixed draw.
    """

    name: str
    stored: Callable[[str], str] = _same
    added: Callable[[str], str] = _same
    told: Callable[[str], str] = _same
    told_added: Callable[[str], str] = _same
    ends: tuple[bytes, ...] = (b"\n",)
    mark: bytes = b""
    top: tuple[bytes, ...] = ()
    last_end: bool = True
    dedented: bool = False


def _trailing(line: str) -> str:
    return f"{line}  " if line.strip() and len(line) % 2 else line


def _tabs(line: str) -> str:
    indent = indent_of(line)
    return "\t" * (len(indent) // 4) + " " * (len(indent) % 4) + line[len(indent) :]


def _spaces(line: str) -> str:
    indent = indent_of(line)
    return indent.replace("\t", "    ") + line[len(indent) :]


EXACT = Variant("as it is")
CRLF = Variant("CRLF", ends=(b"\r\n",))
MIXED = Variant("mixed line ends", ends=(b"\n", b"\r\n", b"\n"))
MARK = Variant("byte order mark", mark=b"\xef\xbb\xbf")
LATIN = Variant("other encoding elsewhere", top=(b"# caf\xe9 \xff\n", b"# \x80\n"))
UNENDED = Variant("no last line end", last_end=False)
TRAILING = Variant("blanks at ends in the file", stored=_trailing)
TOLD_TRAILING = Variant("blanks at ends in the edit", told=_trailing)
DEDENTED = Variant("edit not indented", dedented=True)
MOVED = Variant("changed elsewhere", top=(b"// one\n", b"// two\n", b"// three\n"))
SPACES = Variant("tabs in the file, spaces in the edit", told=_spaces, told_added=_spaces)
TABS = Variant("tabs in the file, spaces in the edit", stored=_tabs, added=_tabs)

ALWAYS = (EXACT, CRLF, MIXED, MARK, LATIN, UNENDED, MOVED)
LENIENT = (TRAILING, TOLD_TRAILING, DEDENTED, SPACES, TABS)


def fits(
    variant: Variant, block: Block, written: Sequence[str], olds: Sequence[Sequence[str]]
) -> bool:
    """Whether the variant makes sense for a block.

    `written` are the lines that a model writes, `olds` those of each location that must exist. If
    none of these is indented, nothing shows that other lines need another indentation.
    """
    filled = [line for line in written if line.strip()]
    indents = [indent_of(line) for line in filled]
    if variant is DEDENTED:
        return common(filled) > 0
    if variant is SPACES:
        return all(any(map(indent_of, old)) for old in olds) and all(
            set(indent) <= {"\t"} for indent in indents
        )
    if variant is TABS:
        return all(any(map(indent_of, old)) for old in olds) and all(
            set(indent_of(line)) <= {" "} and len(indent_of(line)) % 4 == 0 for line in block.lines
        )
    if variant is TRAILING:
        return any(_trailing(line) != line for line in block.old)
    return True


def common(lines: Sequence[str]) -> int:
    """The number of leading blanks that all lines with text share."""
    indents = [indent_of(line) for line in lines if line.strip()]
    shortest = min(indents, key=len, default="")
    return len(shortest) if all(indent.startswith(shortest) for indent in indents) else 0


@dataclass(frozen=True, slots=True)
class File:
    """A block in a file as a variant writes it: its bytes and the expected bytes after the edit."""

    data: bytes
    expected: bytes
    start: int
    stop: int
    """The bytes of the block."""


def written_file(block: Block, variant: Variant, seed: int) -> File:
    """The file, and how it should be after the edit."""
    chance = random.Random(seed)
    ends = [chance.choice(variant.ends) for _ in block.lines]
    stored = [
        variant.stored(line).encode() + end for line, end in zip(block.lines, ends, strict=True)
    ]
    head = variant.mark + b"".join(variant.top) + b"".join(stored[: block.first])
    old = b"".join(stored[block.first : block.last])
    tail = b"".join(stored[block.last :])
    new = b"".join(
        variant.added(line).encode() + variant.ends[0]
        if place is None
        else stored[block.first + place]
        for line, place in block.new
    )
    data, expected = head + old + tail, head + new + tail
    if not variant.last_end:
        end = variant.ends[0]
        data, expected = data.removesuffix(end), expected.removesuffix(end)
        old = old if tail else old.removesuffix(end)
    return File(data, expected, len(head), len(head) + len(old))


def is_right(file: File, result: bytes, *, mixed: bool) -> bool:
    """Whether the result is right; ends of new lines are free if the file mixes them."""
    if result == file.expected:
        return True
    return (
        mixed
        and result.startswith(file.data[: file.start])
        and result.endswith(file.data[file.stop :])
        and _plain(result) == _plain(file.expected)
    )


def _plain(data: bytes) -> bytes:
    return re.sub(rb"\r\n?", b"\n", data)
