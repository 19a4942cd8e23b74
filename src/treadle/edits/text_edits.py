"""Edits of the text of one file: located, checked, and turned into hunks of its bytes.

A file may have any encoding. Edits are matched against its text as UTF-8; `EncodedFile` maps the
result back to the exact bytes.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import assert_never

from treadle.charsets import Charset, EncodingError, ShiftStateError, Transcoded, is_utf8
from treadle.edits.hunks import build_hunks
from treadle.edits.indentation import as_item
from treadle.edits.model import EditError, Hunk, splice
from treadle.edits.patch_matches import match_hunks
from treadle.edits.requests import LineRangeEdit, PatchEdit, PatchHunk, RangeEdit, ReplaceEdit
from treadle.edits.text import REPLACEMENT, Source, encoded, line_end
from treadle.edits.text_matches import Replacement, replace_text
from treadle.events.types import ErrorKind

TextEdit = ReplaceEdit | RangeEdit | LineRangeEdit | PatchEdit


@dataclass(frozen=True, slots=True)
class _NumberedEdit:
    """A located edit with the number of its request."""

    number: int
    located: Replacement


@contextmanager
def locate_errors(path: str, number: int | None = None) -> Iterator[None]:
    """Adds the file and the number of the edit to an EditError."""
    try:
        yield
    except EditError as error:
        error.path = path if error.path is None else error.path
        error.number = number if error.number is None else error.number
        raise


def edit_text(
    path: str,
    edits: Sequence[tuple[int, TextEdit]],
    data: bytes,
    charset: Charset,
    notes: list[str],
) -> tuple[Hunk, ...]:
    """The hunks of all edits of the file at `path`, each with its number, in their order.

    Each edit is matched against the file as it is. Raises EditError for an edit that has no
    position, changes nothing or overlaps another one.
    """
    text = EncodedFile(path, data, charset)
    source = text.source
    pieces: list[_NumberedEdit] = []
    for number, request in edits:
        with locate_errors(path, number):
            for each in _texts(request):
                refuse_replacement(text.raw, each)
            located, note = _locate(source, text.prepared(request))
            if all(source.data[each.start : each.end] == each.new for each in located):
                raise changes_nothing(path)
            text.check_seen(request, located)
            pieces += [_NumberedEdit(number, each) for each in located]
            notes += note
            notes += _placeholders(source, located)
    pieces.sort(key=lambda piece: (piece.located.start, piece.located.end))
    _refuse_overlaps(source, pieces)
    hunks = text.hunks([piece.located for piece in pieces])
    if not hunks:
        raise changes_nothing(path)
    return hunks


def _placeholders(source: Source, located: Sequence[Replacement]) -> list[str]:
    found = (
        placeholder_note(source.path, source.data[each.start : each.end], each.new)
        for each in located
    )
    return [note for note in found if note is not None][:1]


def _locate(source: Source, request: TextEdit) -> tuple[list[Replacement], list[str]]:
    """The bytes that an edit replaces, the new bytes, and notes on what was not compared."""
    match request:
        case ReplaceEdit():
            return _replace_text(source, request)
        case RangeEdit():
            return replace_bytes(source, request)
        case LineRangeEdit():
            return replace_lines(source, request)
        case PatchEdit():
            return match_hunks(source, request.hunks)
        case _:
            assert_never(request)


def refuse_replacement(source: Source, text: str) -> None:
    """Refuse U+FFFD for a file in which that character stands for bytes that are not UTF-8."""
    if REPLACEMENT in text and not source.readable:
        raise EditError(
            ErrorKind.VALIDATION,
            f"The edit contains U+FFFD, and {source.path} has bytes that are not UTF-8, which "
            "are shown as that character; they would be lost.",
            hint="Edit only lines without such bytes.",
        )


def _texts(request: TextEdit) -> Iterator[str]:
    match request:
        case ReplaceEdit():
            yield from (request.old, request.new)
        case RangeEdit() | LineRangeEdit():
            yield request.code
        case PatchEdit():
            yield from (text for hunk in request.hunks for _, text in hunk.lines)
        case _:
            assert_never(request)


def _replace_text(source: Source, request: ReplaceEdit) -> tuple[list[Replacement], list[str]]:
    old, new = encoded(request.old, "The old text"), encoded(request.new, "The new text")
    if source.floor:
        mark = "\ufeff".encode()
        old, new = old.removeprefix(mark), new.removeprefix(mark)
    if not old:
        if len(source.data) > source.floor:
            raise EditError(
                ErrorKind.VALIDATION,
                "The old text is empty, so there is nothing to replace.",
                hint="Give the lines next to the new text, or a range of lines.",
            )
        return [Replacement(source.floor, source.floor, new)], []
    return replace_text(source, old, new, everywhere=request.everywhere)


def _refuse_overlaps(source: Source, pieces: Sequence[_NumberedEdit]) -> None:
    for one, other in pairwise(pieces):
        if other.located.start < one.located.end:
            first, second = sorted((one, other), key=lambda piece: piece.number)
            raise EditError(
                ErrorKind.CONFLICT,
                f"edits[{first.number}] ({_lines(source, first)}) and edits[{second.number}] "
                f"({_lines(source, second)}) overlap in {source.path}; all edits of a file are "
                "matched against the file as it is.",
                number=second.number,
                hint="Combine them into one edit.",
            )


def _lines(source: Source, piece: _NumberedEdit) -> str:
    first = source.line_of(piece.located.start)
    last = source.line_of(max(piece.located.start, piece.located.end - 1))
    return f"line {first}" if first == last else f"lines {first}-{last}"


def changes_nothing(path: str) -> EditError:
    """The error for an edit after which the file is the same."""
    return EditError(
        ErrorKind.VALIDATION,
        f"The edit changes nothing: the text is already in {path}.",
        hint="Remove this edit, or give a different new text.",
    )


class EncodedFile:
    """The file at `path` with content `data`, in the encoding `charset`.

    Edits are matched against `source`, its text as UTF-8; `raw` is its bytes. Both are the same for
    UTF-8 and for an unknown encoding. Raises EditError for a file that is not text.
    """

    def __init__(self, path: str, data: bytes, charset: Charset) -> None:
        self.raw = Source(path, data)
        self.raw.check()
        self.charset = charset
        self._text: Transcoded | None = None
        if charset.codec is not None and not charset.is_utf8:
            try:
                self._text = Transcoded(data, charset)
            except ShiftStateError as error:
                raise EditError(
                    ErrorKind.VALIDATION,
                    f"{path} is {charset.name}, and {error}, so that it cannot be edited.",
                    path=path,
                    hint="Ask the person to convert it to UTF-8 first.",
                ) from error
        self.source = self.raw if self._text is None else Source(path, self._text.text)

    def prepared(self, request: TextEdit) -> TextEdit:
        """The same edit of the text, with new text that the file can contain.

        Raises EditError that names the first character that cannot be encoded.
        """
        match request:
            case ReplaceEdit():
                return replace(request, new=self._writable(request.new, "The new text"))
            case LineRangeEdit():
                return replace(request, code=self._writable(request.code, "The code"))
            case RangeEdit():
                start, end = self._offset(request.start), self._offset(request.end)
                code = self._writable(request.code, "The code")
                return replace(request, start=start, end=end, code=code)
            case PatchEdit():
                return replace(request, hunks=tuple(self._patched(h) for h in request.hunks))

    def _patched(self, hunk: PatchHunk) -> PatchHunk:
        lines = tuple(
            (mark, self._writable(text, "A line of the patch") if mark == "+" else text)
            for mark, text in hunk.lines
        )
        return replace(hunk, lines=lines)

    def _writable(self, text: str, what: str) -> str:
        if self.charset.is_utf8:
            return text
        return writable(self.charset, text, what, self.path)

    @property
    def path(self) -> str:
        return self.source.path

    def _offset(self, at: int) -> int:
        """The offset in the text for an offset in the file."""
        size = len(self.raw.data)
        if self._text is None:
            return at
        if not 0 <= at <= size:
            raise self._refused(f"Byte {at} is not in {self.path}, which has {size} bytes.")
        found = self._text.offset(at, self.raw.data)
        if found is None:
            raise self._refused(
                f"Byte {at} of {self.path}, which is {self.charset.name}, does not begin a "
                f"{'line' if self.charset.stateful else 'character'}."
            )
        return found

    def _refused(self, message: str) -> EditError:
        return EditError(
            ErrorKind.VALIDATION,
            message,
            path=self.path,
            hint="Use `replace` or `lines`, which do not use byte offsets.",
        )

    def check_seen(self, request: TextEdit, located: Sequence[Replacement]) -> None:
        """Refuse to replace text that a model may not have been able to read."""
        if self._text is None or isinstance(request, ReplaceEdit | PatchEdit):
            return
        for each in located:
            old = self.source.data[each.start : each.end]
            lost = _count_unseen(old) - _count_unseen(each.new)
            if lost > 0 and self.charset.rivals:
                raise self._refused(
                    f"The range (line {self.source.line_of(each.start)} of {self.path}) has "
                    "characters whose encoding is not certain; they would be lost."
                )
            if lost > 0 and each.new.count(b"?") > old.count(b"?"):
                raise self._refused(
                    f"The code has question marks where {self.path}, which is "
                    f"{self.charset.name}, has other characters; they would be lost."
                )

    def hunks(self, located: Sequence[Replacement]) -> tuple[Hunk, ...]:
        """The hunks of the file for ordered edits of its text that do not overlap."""
        found = build_hunks(self.source, located)
        if self._text is None:
            return found
        parts: list[Replacement] = []
        shown = at = 0
        for hunk in found:
            at += len(self._text.back(self.source.data[shown : hunk.start]))
            end = at + len(self._text.back(hunk.old))
            parts.append(Replacement(at, end, self._text.back(hunk.new)))
            at, shown = end, hunk.end
        hunks = build_hunks(self.raw, parts)
        self._verify(splice(self.raw.data, hunks), splice(self.source.data, found))
        return hunks

    def _verify(self, result: bytes, text: bytes) -> None:
        """Refuse an edit after which the file would not contain exactly the edited text."""
        try:
            same = Transcoded(result, self.charset).text == text
        except ShiftStateError:
            same = False
        if not same:
            raise self._refused(
                f"The edit of {self.path} would join its text with bytes that are not "
                f"{self.charset.name}."
            )


def writable(charset: Charset, text: str, what: str, path: str) -> str:
    """`text` as the encoding of the file at `path` can represent it.

    Raises EditError with the character that cannot be encoded, its line and the encoding.
    """
    try:
        return charset.writable(text)
    except EncodingError as error:
        char = text[error.at]
        line = text.count("\n", 0, error.at) + 1
        column = error.at - text.rfind("\n", 0, error.at)
        raise EditError(
            ErrorKind.VALIDATION,
            f"{what} for {path} has {char!r} (U+{ord(char):04X}, line {line}, character {column}), "
            f"{error.reason}",
            path=path,
            hint=error.hint,
        ) from error


def _count_unseen(text: bytes) -> int:
    """The number of UTF-8 characters that are not ASCII."""
    return sum(byte >= 0xC0 for byte in text)


_COMMENT = re.compile(rb"^[ \t]*(?:\{/\*|/[/*]|<!--|--|[#;%*])(?P<text>[^\n]*)", re.MULTILINE)
_WORD = re.compile(r"[a-z]+")
_DOTS = ("...", "…")
_KEPT = frozenset(
    {"changes", "existing", "omitted", "original", "other", "previous", "remaining", "rest", "same"}
    | {"unchanged"}
)
_CODE = frozenset(
    {"body", "class", "code", "content", "file", "function", "functions", "implementation"}
    | {"implementations", "imports", "lines", "logic", "method", "methods"}
)
_FILLERS = frozenset(
    {"above", "all", "are", "as", "before", "below", "here", "is", "of", "remain", "remains"}
    | {"stay", "stays", "the"}
)
_MAX_WORDS = 12
_SHOWN = 60


def placeholder_note(path: str, removed: bytes, new: bytes) -> str | None:
    """A sentence if a comment of `new` is a placeholder for `removed` lines."""
    if removed.count(b"\n") < 2:
        return None
    for found in _COMMENT.finditer(new):
        comment = found[0].strip()
        if _is_placeholder(found["text"].decode("utf-8", "replace")) and comment not in removed:
            shown = comment.decode("utf-8", "replace")[:_SHOWN]
            return (
                f"{path}: `{shown}` is written literally; it does not stand for the code that "
                "the edit removes. To keep that code, write it in full."
            )
    return None


def _is_placeholder(text: str) -> bool:
    """Whether a comment states that code stays: by dots, or only by such words."""
    has_dots = any(dots in text for dots in _DOTS)
    words = set(_WORD.findall(text.lower()))
    if not words:
        return has_dots
    if len(words) > _MAX_WORDS or not words & _KEPT:
        return False
    if has_dots:
        return text.lstrip(" \t#/*-(").startswith(_DOTS) or bool(words & _CODE)
    return bool(words & _CODE) and words <= _KEPT | _CODE | _FILLERS


def replace_bytes(source: Source, request: RangeEdit) -> tuple[list[Replacement], list[str]]:
    """The bytes that a range edit replaces, and notes on its code.

    Raises EditError when the range is not in the file, splits a character, or contains bytes that
    are not UTF-8, which would be lost.
    """
    start, end = max(request.start, source.floor), max(request.end, source.floor)
    if not 0 <= request.start <= request.end <= len(source.data):
        raise _outside(
            f"Bytes {request.start} to {request.end} are not in {source.path}, which has "
            f"{len(source.data)} bytes."
        )
    for offset in (request.start, request.end):
        if source.splits_character(offset):
            raise _outside(f"Byte {offset} of {source.path} is inside a character or line end.")
    _refuse_unreadable(source, start, end)
    code = _code(source, request.code)
    notes = [request.note] if request.note else []
    if request.reindent:
        code, note = as_item(source, start, end, code)
        notes += [f"{source.path}: line {source.line_of(start)}: {note}."] if note else []
        code = _ended_alike(source, start, end, code)
    return [Replacement(start, end, _with_ends(source, start, code))], notes


def replace_lines(source: Source, request: LineRangeEdit) -> tuple[list[Replacement], list[str]]:
    """The lines that a line range edit replaces. Raises EditError like `bytes_replaced`."""
    starts = _line_starts(source)
    first, last = request.first, request.last
    if not 1 <= first <= last + 1 <= len(starts):
        raise _outside(
            f"Lines {first} to {last} are not in {source.path}, which has {len(starts) - 1} lines."
        )
    start, end = starts[first - 1], starts[last]
    _refuse_unreadable(source, start, end)
    code = _code(source, request.code)
    if code and not code.endswith(b"\n"):
        code += b"\n"
    unended = end == len(source.data) and end > source.floor and not source.starts_line(end)
    if unended and start == end:
        code = b"\n" + code
    if unended and code.endswith(b"\n"):
        code = code[:-1]
    return [Replacement(start, end, _with_ends(source, start, code))], []


def _line_starts(source: Source) -> list[int]:
    """The offset of each line, and the end of the file."""
    lengths = map((1).__add__, map(len, source.data[source.floor :].split(source.line_break)))
    starts = list(accumulate(lengths, initial=source.floor))
    starts[-1] = len(source.data)
    return starts[:-1] if starts[-2:-1] == starts[-1:] else starts


def _outside(message: str) -> EditError:
    return EditError(
        ErrorKind.VALIDATION, message, hint="Read the file again and use its current range."
    )


def _refuse_unreadable(source: Source, start: int, end: int) -> None:
    if not is_utf8(source.data[start:end]):
        raise EditError(
            ErrorKind.VALIDATION,
            f"The range has bytes that are not UTF-8 (from line {source.line_of(start)} of "
            f"{source.path}), which would be lost.",
            hint="Edit only lines without such bytes.",
        )


def _code(source: Source, code: str) -> bytes:
    written = with_crlf_plain(encoded(code, "The code"))
    return written.removeprefix("\ufeff".encode()) if source.floor else written


def with_crlf_plain(code: bytes) -> bytes:
    """`code` with CRLF as LF."""
    return code.replace(b"\r\n", b"\n")


def _with_ends(source: Source, start: int, code: bytes) -> bytes:
    """`code` with the line ends of its surroundings."""
    following = line_end(source.data[start : source.line_stop(start)])
    return code.replace(b"\n", following or source.end_near(start))


def _ended_alike(source: Source, start: int, end: int, code: bytes) -> bytes:
    """`code` with a last line end exactly if the range has one."""
    ended = source.data[start:end].endswith((b"\n", b"\r"))
    stripped = code.rstrip(b"\n")
    return stripped + b"\n" if ended and stripped else stripped
