"""Reads the content of a file: its items with their terms, and the references of its code."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from treadle.code.languages import Language, Outline
from treadle.code.languages.limits import TooMuchError, nested_too_deep
from treadle.code.model import FUNCTION_KINDS, TYPE_KINDS, Item, Kind, Reading
from treadle.code.parse.fields import Owner, weighted_file_terms, weighted_terms
from treadle.code.parse.items import extract
from treadle.code.parse.outlines import outlined
from treadle.code.references import FileReferences
from treadle.code.text import Lines, plain_text

_CHUNK_LINES = 40

_CHUNK_BYTES = 4_000

_WORD = re.compile(rb"[^\W_]|[\x80-\xff]")

_CONTAINERS = TYPE_KINDS | {Kind.MODULE, Kind.SECTION}


class IndexedItem(NamedTuple):
    """An item and its terms with their weighted counts (see `fields`)."""

    item: Item
    terms: dict[str, int]


class Content(NamedTuple):
    """The content of a file, and how the file was read. `terms` are those of the whole file."""

    items: list[IndexedItem]
    references: FileReferences
    reading: Reading
    terms: Mapping[str, int]


def read_content(path: str, data: bytes, language: Language | Outline | None) -> Content:
    """Return the items of a file with their terms, and the references of its code.

    A file that exceeds a limit of its parser, or has too many items, is split by lines.
    """
    if isinstance(language, Language) and nested_too_deep(data):
        language = None
    try:
        return _read_content(path, data, language)
    except TooMuchError:
        return _read_content(path, data, None)


def _read_content(path: str, data: bytes, language: Language | Outline | None) -> Content:
    path = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    lines = Lines(data)
    if language is None:
        items = _chunks(path, data, lines, 0, len(data))
        children: list[list[int]] = [[] for _ in items]
        trailing: dict[int, tuple[int, int]] = {}
        references, reading = FileReferences(), Reading.LINES
    elif isinstance(language, Outline):
        found, large = outlined(language, data, path, lines)
        rest = _gaps(data, found, []) if language.index_rest else _Rest([], {})
        items = [*found, *_rest_chunks(path, data, lines, rest)]
        trailing = rest.trailing
        children = _children(items)
        references = FileReferences(module=language.module(path, data))
        reading = Reading.LINES if large else Reading.PARSED
    else:
        extracted = extract(language, data, path, lines)
        module = _module_item(path, data, language, extracted.items, lines)
        head = (module.signature_start, module.signature_end)
        rest = _gaps(data, extracted.items, [head])
        items = [*extracted.items, *_rest_chunks(path, data, lines, rest), module]
        trailing = rest.trailing
        children = _children(items)
        references = extracted.references
        reading = Reading.ERRORS if extracted.errors else Reading.PARSED
    documented = [item for item in reversed(items) if item.kind in TYPE_KINDS and item.doc]
    types = {item.name: item.doc for item in documented}
    source = _Source(path, data, language.text if isinstance(language, Outline) else plain_text)
    indexed = [
        _with_terms(
            source, item, _owner(items, item, types), [items[child] for child in below],
            trailing.get(index, (0, 0)),
        )
        for index, (item, below) in enumerate(zip(items, children, strict=True))
    ]  # fmt: skip
    return Content(indexed, references, reading, weighted_file_terms(source.text_of(data)))


def _children(items: list[Item]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in items]
    for index, item in enumerate(items):
        if item.parent is not None:
            children[item.parent].append(index)
    return children


def _owner(items: list[Item], item: Item, types: Mapping[str, str]) -> Owner:
    """Return the name of the enclosing item, and the doc comment of the type with that name.

    `types` has the doc comments of all types of the file by name. Therefore a method in an impl
    block or an extension gets the doc comment of the type. The doc comment is empty if `item` is
    not a function or method.
    """
    name = items[item.parent].name if item.parent is not None else ""
    return Owner(name, types.get(name, "") if item.kind in FUNCTION_KINDS else "")


class _Source(NamedTuple):
    """The bytes of a file, and a function that returns their text."""

    path: str
    data: bytes
    text_of: Callable[[bytes], str]


def _with_terms(
    source: _Source, item: Item, owner: Owner, children: list[Item], trailing: tuple[int, int]
) -> IndexedItem:
    """Return an item with its terms.

    The text of a type, module or section excludes the items inside it, except the constants of a
    type. `trailing` is the range after the item on its last line.
    """
    path, data, text_of = source
    body: list[str] = []
    position = item.start_byte
    whole_file = item.kind is Kind.MODULE and item.parent is None and item.start_byte == 0
    if not (whole_file and item.end_byte == len(data)):
        for child in children if item.kind in _CONTAINERS else ():
            if child.kind is Kind.CONSTANT and item.kind in TYPE_KINDS:
                continue
            body.append(text_of(data[position : child.start_byte]))
            position = max(position, child.end_byte)
        body.append(text_of(data[position : item.end_byte]))
    if trailing[0] < trailing[1]:
        body.append(text_of(data[slice(*trailing)]))
    signature = text_of(data[item.signature_start : item.signature_end])
    return IndexedItem(item, weighted_terms(path, item, owner, signature, "\n".join(body)))


def _module_item(
    path: str, data: bytes, language: Language, items: list[Item], lines: Lines
) -> Item:
    """Return the item of the whole file. Its signature is the first comment or docstring."""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    first = min((item.start_byte for item in items), default=len(data))
    head = _HEAD.match(data, 3 if data.startswith(b"\xef\xbb\xbf") else 0, first)
    start, end = head.span(1) if head else (0, 0)
    prefix = language.prefix(path, "")
    return Item(
        name=stem,
        canonical_path=prefix or path,
        kind=Kind.MODULE,
        parent=None,
        start_byte=0,
        end_byte=len(data),
        start_line=1,
        end_line=lines.of(max(0, len(data) - 1)),
        signature_start=start,
        signature_end=end,
        doc=plain_text(data[start:end]),
    )


_HEAD = re.compile(
    rb"\s*(?:#![^\n]*\n\s*)?("
    rb'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""|'
    rb"'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''|"
    rb"/\*(?:[^*]|\*(?!/))*\*/|"
    rb"(?://[^\n]*(?:\n[ \t]*(?=//))?)+|"
    rb"(?:#(?![ \t]*(?:include|define|if|pragma|!))[^\n]*(?:\n[ \t]*(?=#))?)+)",
    re.DOTALL,
)


class _Rest(NamedTuple):
    """The text outside of top-level items.

    `ranges` has the ranges of this text. `trailing` maps the position of an item to the range after
    the item on its last line, such as the comment of a constant or the `;` of a class.
    """

    ranges: list[tuple[int, int]]
    trailing: dict[int, tuple[int, int]]


def _gaps(data: bytes, items: Sequence[Item], remaining: Iterable[tuple[int, int]]) -> _Rest:
    """Find the parts of a file that are in no top-level item and in no range of `remaining`.

    `remaining` has the ranges that another item covers, such as the docstring of the module.
    """
    taken = [
        (item.start_byte, item.end_byte, index)
        for index, item in enumerate(items)
        if item.parent is None
    ]
    taken += [(start, end, -1) for start, end in remaining if start < end]
    rest = _Rest([], {})
    position, last = 0, -1
    for start, end, index in [*sorted(taken), (len(data), len(data), -1)]:
        if start > position:
            begin = position
            if last >= 0 and data[position - 1 : position] != b"\n":
                line_end = data.find(b"\n", position, start)
                begin = start if line_end < 0 else line_end
                rest.trailing[last] = (position, begin)
            rest.ranges.append((begin, start))
        if end > position:
            position, last = end, index
    return rest


def _rest_chunks(path: str, data: bytes, lines: Lines, rest: _Rest) -> list[Item]:
    """Split the ranges of `rest` into chunks.

    A range that contains only punctuation is left out.
    """
    return [
        chunk
        for start, end in rest.ranges
        if _WORD.search(data, start, end)
        for chunk in _chunks(path, data, lines, start, end)
    ]


def _chunks(path: str, data: bytes, lines: Lines, start: int, end: int) -> list[Item]:
    """Split the range into chunks of whole lines. A line longer than 2 * `_CHUNK_BYTES` is cut."""
    found: list[Item] = []
    name = path.rpartition("/")[2]
    while start < end:
        first = lines.of(start)
        last = min(first + _CHUNK_LINES, len(lines.starts))
        stop = min(end, _line_end(lines, last, data))
        while stop - start > _CHUNK_BYTES and last > first:
            last = first + (last - first) // 2
            stop = min(end, _line_end(lines, last, data))
        stop = _cut(data, start, min(stop, start + 2 * _CHUNK_BYTES), stop)
        trimmed = start + len(data[start:stop]) - len(data[start:stop].lstrip())
        tail = start + len(data[start:stop].rstrip())
        if trimmed < tail:
            top, bottom = lines.of(trimmed), lines.of(tail - 1)
            span = f":{top}-{bottom}"
            found.append(
                Item(
                    name + span,
                    path + span,
                    Kind.CHUNK,
                    None,
                    trimmed,
                    tail,
                    top,
                    bottom,
                    trimmed,
                    trimmed,
                )
            )
        start = stop
    return found


def _line_end(lines: Lines, line: int, data: bytes) -> int:
    """Return the start of the line after `line`."""
    return lines.starts[line] if line < len(lines.starts) else len(data)


def _cut(data: bytes, start: int, requested: int, stop: int) -> int:
    """Return the position `requested`, moved back to the start of a UTF-8 sequence."""
    if requested >= stop:
        return stop
    cut = requested
    while cut > start + 1 and cut > requested - 4 and data[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut
