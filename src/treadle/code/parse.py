"""One file from its bytes to what the index stores: items, terms, or the reason to skip it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from treadle.code.extract import Lines, extract
from treadle.code.fields import Owner, weighted_file_terms, weighted_terms
from treadle.code.files import MAX_FILE_BYTES, MAX_NOTEBOOK_BYTES, content_hash, read_file
from treadle.code.graph.tables import packed
from treadle.code.languages import Language, Outline, language_of
from treadle.code.languages.notebook import NOTEBOOK
from treadle.code.languages.outline import plain_text
from treadle.code.limits import TooMuchError, nested_too_deep
from treadle.code.model import FUNCTION_KINDS, TYPE_KINDS, Item, Kind, Origin, Reading
from treadle.code.origins import origin_of
from treadle.code.outlined import outlined
from treadle.code.references import FileReferences
from treadle.private_files import why_private_content

MAX_TEXT_BYTES = 500_000
"""The limit for texts without a grammar: beyond it they are data too."""
_BINARY_PROBE = 8_192  # as git does
_MINIFIED_LINE = 1_000
"""Bytes of a mean line from which a file counts as minified."""
_CHUNK_LINES = 40
_CHUNK_BYTES = 4_000
_WORD = re.compile(rb"[^\W_]|[\x80-\xff]")
_CONTAINERS = TYPE_KINDS | {Kind.MODULE, Kind.SECTION}
_LOCK_FILES = re.compile(
    r"(?:^|/)(?:[^/]*\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum)$"
)
_MINIFIED_NAME = re.compile(r"\.min\.(?:js|css|mjs)$|\.(?:map|svg)$")


class IndexedItem(NamedTuple):
    """An item and its terms with their weighted counts (see `fields`)."""

    item: Item
    terms: dict[str, int]


class ParsedFile(NamedTuple):
    """What a read of a file gave. `content_hash` is BLAKE2b-256, empty if it was not read.

    `unchanged`: the hash was the known one, so `items` were not made. `references` are packed, with
    the keys of the names that they mention (see `treadle.code.graph.tables`). `failed`: its parser
    crashed or went over a limit.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    content_hash: bytes
    language: str | None = None
    lines: int = 0
    skipped: str | None = None
    items: Sequence[IndexedItem] = ()
    unchanged: bool = False
    reading: Reading = Reading.SKIPPED
    origin: Origin = Origin.OWN
    references: tuple[bytes, set[int]] | None = None
    failed: bool = False
    terms: Mapping[str, int] = MappingProxyType({})


class Content(NamedTuple):
    """What is in the bytes of a file, and how they were read."""

    items: list[IndexedItem]
    references: FileReferences
    reading: Reading
    terms: Mapping[str, int]


_NO_FAILURES: Mapping[bytes, str] = {}


class ReadFile(NamedTuple):
    """A file as it was read: its path and bytes, or the reason why there are none."""

    path: str
    data: bytes | None
    stat: tuple[int, int, int, int]
    """Size, `mtime_ns`, `ctime_ns` and inode; zeros if it could not be opened."""
    skipped: str | None = None


def file_to_parse(root: Path | str, path: str) -> ReadFile:
    """One file as it is now; never raises for what a file may hold."""
    try:
        data, status = read_file(root, path)
    except OSError as error:
        return ReadFile(path, None, (0, 0, 0, 0), f"unreadable: {error.strerror}")
    stat = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return ReadFile(path, data, stat, _too_large(path) if data is None else None)


def parse_file(root: Path, path: str) -> ParsedFile:
    """Read and parse one file in this process."""
    return parse_read(file_to_parse(root, path))


def parse_read(
    file: ReadFile, known_hash: bytes = b"", failures: Mapping[bytes, str] = _NO_FAILURES
) -> ParsedFile:
    """Parse what was read; never raises for what a file may hold.

    With `known_hash` equal to the hash of the bytes, parsing is left out and `items` is empty.
    `failures` are the hashes of texts that no parser is given again, with the reasons.
    """
    path, data, stat, _ = file
    if data is None:
        return ParsedFile(path, *stat, b"", skipped=file.skipped)
    digest = content_hash(data)
    language = language_of(path, data)
    name = language.name if language else None
    skipped = (
        why_private_content(data) or _reason_to_skip(path, data, language) or failures.get(digest)
    )
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    unchanged = digest == known_hash
    content = _NOTHING if skipped or unchanged else read_content(path, data, language)
    return ParsedFile(
        path, *stat, digest, name, lines, skipped, content.items, unchanged, content.reading,
        origin_of(path, data), packed(content.references), terms=content.terms,
    )  # fmt: skip


def failed_file(file: ReadFile, reason: str) -> ParsedFile:
    """A file whose text is given to no parser, since one failed at it."""
    path, data, stat, skipped = file
    if data is None:
        return ParsedFile(path, *stat, b"", skipped=skipped)
    return ParsedFile(path, *stat, content_hash(data), skipped=reason, failed=True)


def _too_large(path: str) -> str:
    most = MAX_NOTEBOOK_BYTES if path.endswith(".ipynb") else MAX_FILE_BYTES
    return f"larger than {most // 1_000_000} MB"


def _reason_to_skip(path: str, data: bytes, language: Language | Outline | None) -> str | None:
    if b"\0" in data[:_BINARY_PROBE]:
        return "binary"
    if _LOCK_FILES.search(path):
        return "lock file"
    if language is NOTEBOOK:
        return None
    long_lines = len(data) > 20 * _MINIFIED_LINE and len(data) > _MINIFIED_LINE * (
        data.count(b"\n") + 1
    )
    if _MINIFIED_NAME.search(path) or long_lines:
        return "minified or generated"
    if not isinstance(language, Language) and len(data) > MAX_TEXT_BYTES:
        return "text without a grammar, larger than 500 kB"
    return None


_NOTHING = Content([], FileReferences(), Reading.SKIPPED, {})


def read_content(path: str, data: bytes, language: Language | Outline | None) -> Content:
    """The items of a file with their terms, and what its code refers to.

    What a parser would take too long for, or fail at, is split by lines, and so is what would
    give too many items.
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
        rest = _gaps(data, found, []) if language.with_rest else _Rest([], {})
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
            trailing.get(place, (0, 0)),
        )
        for place, (item, below) in enumerate(zip(items, children, strict=True))
    ]  # fmt: skip
    return Content(indexed, references, reading, weighted_file_terms(source.text_of(data)))


def _children(items: list[Item]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in items]
    for place, item in enumerate(items):
        if item.parent is not None:
            children[item.parent].append(place)
    return children


def _owner(items: list[Item], item: Item, types: Mapping[str, str]) -> Owner:
    """What encloses an item. `types` are the doc comments of the file's types by name.

    Of an impl block or an extension, the doc comment is that of its type.
    """
    name = items[item.parent].name if item.parent is not None else ""
    return Owner(name, types.get(name, "") if item.kind in FUNCTION_KINDS else "")


class _Source(NamedTuple):
    """The bytes of a file, and how its text is taken from them."""

    path: str
    data: bytes
    text_of: Callable[[bytes], str]


def _with_terms(
    source: _Source, item: Item, owner: Owner, children: list[Item], trailing: tuple[int, int]
) -> IndexedItem:
    """An item with its terms. What encloses items does not repeat their text, except constants.

    `trailing` is the range that follows the item on its last line.
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
    """The file itself: found by its name, path and leading comment or docstring."""
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
    """What no top-level item holds: `ranges` of text, and what is `trailing` each item, by place.

    The latter is on the last line of the item: the comment of a constant, the `;` of a class.
    """

    ranges: list[tuple[int, int]]
    trailing: dict[int, tuple[int, int]]


def _gaps(data: bytes, items: Sequence[Item], others: Iterable[tuple[int, int]]) -> _Rest:
    """All of a file that is neither in a top-level item nor in one of the `others`."""
    taken = [
        (item.start_byte, item.end_byte, place)
        for place, item in enumerate(items)
        if item.parent is None
    ]
    taken += [(start, end, -1) for start, end in others if start < end]
    rest = _Rest([], {})
    position, last = 0, -1
    for start, end, place in [*sorted(taken), (len(data), len(data), -1)]:
        if start > position:
            begin = position
            if last >= 0 and data[position - 1 : position] != b"\n":
                line_end = data.find(b"\n", position, start)
                begin = start if line_end < 0 else line_end
                rest.trailing[last] = (position, begin)
            rest.ranges.append((begin, start))
        if end > position:
            position, last = end, place
    return rest


def _rest_chunks(path: str, data: bytes, lines: Lines, rest: _Rest) -> list[Item]:
    """The ranges in chunks; punctuation alone is none, since no search can ask for it."""
    return [
        chunk
        for start, end in rest.ranges
        if _WORD.search(data, start, end)
        for chunk in _chunks(path, data, lines, start, end)
    ]


def _chunks(path: str, data: bytes, lines: Lines, start: int, end: int) -> list[Item]:
    """The range in runs of whole lines; a line that is too long alone is cut into pieces."""
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
    """Where the line after `line` begins."""
    return lines.starts[line] if line < len(lines.starts) else len(data)


def _cut(data: bytes, start: int, wanted: int, stop: int) -> int:
    """`wanted`, moved back so that no UTF-8 sequence is cut."""
    if wanted >= stop:
        return stop
    cut = wanted
    while cut > start + 1 and cut > wanted - 4 and data[cut] & 0xC0 == 0x80:
        cut -= 1
    return cut
