"""Locates and checks the edits of one file, and converts them to hunks of its bytes.

A file may have any encoding. Edits are matched against its text as UTF-8. `EncodedFile` maps the
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
from treadle.edits.indentation import reindent_item
from treadle.edits.model import EditError, Hunk, splice
from treadle.edits.patch_matches import match_hunks
from treadle.edits.requests import LineRangeEdit, PatchEdit, PatchHunk, RangeEdit, ReplaceEdit
from treadle.edits.text import REPLACEMENT, Source, encode_utf8, line_end
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
    """Adds the path and the number of the edit to an EditError that lacks them."""
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
    """The hunks that apply all `edits` to the file at `path`, whose content is `data`.

    `edits` contains each edit with its number in the request. Each edit is matched against the
    unchanged file. This function appends sentences for the author of the edits to `notes`. It
    raises EditError for an edit that has no position, changes nothing or overlaps another edit.
    """
    text = EncodedFile(path, data, charset)
    source = text.source
    numbered_edits: list[_NumberedEdit] = []
    for number, request in edits:
        with locate_errors(path, number):
            for each in _texts_of(request):
                refuse_replacement(text.raw, each)
            located, note = _locate(source, text.convert_request(request))
            if all(source.data[each.start : each.end] == each.new for each in located):
                raise changes_nothing(path)
            text.refuse_lost_text(request, located)
            numbered_edits += [_NumberedEdit(number, each) for each in located]
            notes += note
            notes += _placeholder_notes(source, located)
    numbered_edits.sort(key=lambda edit: (edit.located.start, edit.located.end))
    _refuse_overlaps(source, numbered_edits)
    hunks = text.hunks([edit.located for edit in numbered_edits])
    if not hunks:
        raise changes_nothing(path)
    return hunks


def _placeholder_notes(source: Source, located: Sequence[Replacement]) -> list[str]:
    found = (
        placeholder_note(source.path, source.data[each.start : each.end], each.new)
        for each in located
    )
    return [note for note in found if note is not None][:1]


def _locate(source: Source, request: TextEdit) -> tuple[list[Replacement], list[str]]:
    """The replacements that an edit makes, and notes for the author of the edit."""
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
    """Refuse U+FFFD in `text` if a decoder shows bytes of the file as that character."""
    if REPLACEMENT in text and not source.readable:
        raise EditError(
            ErrorKind.VALIDATION,
            f"The edit contains U+FFFD. Bytes of {source.path} that are not UTF-8 are shown as "
            "that character, and the edit would overwrite them.",
            hint="Edit only lines without such bytes.",
        )


def _texts_of(request: TextEdit) -> Iterator[str]:
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
    old, new = encode_utf8(request.old, "The old text"), encode_utf8(request.new, "The new text")
    if source.text_start:
        mark = "\ufeff".encode()
        old, new = old.removeprefix(mark), new.removeprefix(mark)
    if not old:
        if len(source.data) > source.text_start:
            raise EditError(
                ErrorKind.VALIDATION,
                "The old text is empty, so there is nothing to replace.",
                hint="Give a line as the old text and repeat it in the new text, or give a range.",
            )
        return [Replacement(source.text_start, source.text_start, new)], []
    return replace_text(source, old, new, everywhere=request.everywhere)


def _refuse_overlaps(source: Source, numbered_edits: Sequence[_NumberedEdit]) -> None:
    for one, other in pairwise(numbered_edits):
        if other.located.start < one.located.end:
            first, second = sorted((one, other), key=lambda edit: edit.number)
            raise EditError(
                ErrorKind.CONFLICT,
                f"edits[{first.number}] ({_lines(source, first)}) and edits[{second.number}] "
                f"({_lines(source, second)}) overlap in {source.path}; all edits of a file are "
                "matched against the file as it is.",
                number=second.number,
                hint="Combine them into one edit.",
            )


def _lines(source: Source, edit: _NumberedEdit) -> str:
    first = source.line_of(edit.located.start)
    last = source.line_of(max(edit.located.start, edit.located.end - 1))
    return f"line {first}" if first == last else f"lines {first}-{last}"


def changes_nothing(path: str) -> EditError:
    """The error for an edit that does not change the file."""
    return EditError(
        ErrorKind.VALIDATION,
        f"The edit changes nothing: the text is already in {path}.",
        hint="Remove this edit, or give a different new text.",
    )


class EncodedFile:
    """The file at `path` with content `data`, in the encoding `charset`.

    Edits are matched against `source`, which has the text as UTF-8. `raw` has the bytes of the
    file. For UTF-8 and for an unknown encoding, `source` and `raw` are the same object. Raises
    EditError for a file that is not text.
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

    def convert_request(self, request: TextEdit) -> TextEdit:
        """Convert an edit of the file to an edit of `source`.

        Byte offsets become offsets in `source`. New text that the encoding cannot represent is
        escaped if the file uses escapes. Raises an EditError that names the first character that
        cannot be encoded.
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
                return replace(request, hunks=tuple(self._convert_hunk(h) for h in request.hunks))

    def _convert_hunk(self, hunk: PatchHunk) -> PatchHunk:
        lines = tuple(
            (mark, self._writable(text, "A line of the patch") if mark == "+" else text)
            for mark, text in hunk.lines
        )
        return replace(hunk, lines=lines)

    def _writable(self, text: str, description: str) -> str:
        if self.charset.is_utf8:
            return text
        return writable(self.charset, text, description, self.path)

    @property
    def path(self) -> str:
        return self.source.path

    def _offset(self, offset: int) -> int:
        """Convert an offset in the file to an offset in its text as UTF-8."""
        size = len(self.raw.data)
        if self._text is None:
            return offset
        if not 0 <= offset <= size:
            raise self._offset_error(
                f"Byte {offset} is not in {self.path}, which has {size} bytes."
            )
        found = self._text.offset(offset, self.raw.data)
        if found is None:
            raise self._offset_error(
                f"Byte {offset} of {self.path}, which is {self.charset.name}, does not begin a "
                f"{'line' if self.charset.stateful else 'character'}."
            )
        return found

    def _offset_error(self, message: str) -> EditError:
        return EditError(
            ErrorKind.VALIDATION,
            message,
            path=self.path,
            hint="Use `replace` or `lines`, which do not use byte offsets.",
        )

    def refuse_lost_text(self, request: TextEdit, located: Sequence[Replacement]) -> None:
        """Refuse to replace text that a model may not have been able to read."""
        if self._text is None or isinstance(request, ReplaceEdit | PatchEdit):
            return
        for each in located:
            old = self.source.data[each.start : each.end]
            lost = _count_non_ascii(old) - _count_non_ascii(each.new)
            if lost > 0 and self.charset.rivals:
                raise self._offset_error(
                    f"The range (line {self.source.line_of(each.start)} of {self.path}) has "
                    "characters whose encoding is not certain; they would be lost."
                )
            if lost > 0 and each.new.count(b"?") > old.count(b"?"):
                raise self._offset_error(
                    f"The code has question marks where {self.path}, which is "
                    f"{self.charset.name}, has other characters; they would be lost."
                )

    def hunks(self, located: Sequence[Replacement]) -> tuple[Hunk, ...]:
        """Convert located edits of the text to hunks of the file's bytes.

        The edits are ordered and do not overlap.
        """
        found = build_hunks(self.source, located)
        if self._text is None:
            return found
        parts: list[Replacement] = []
        copied = start = 0
        for hunk in found:
            start += len(self._text.encode_part(self.source.data[copied : hunk.start]))
            end = start + len(self._text.encode_part(hunk.old))
            parts.append(Replacement(start, end, self._text.encode_part(hunk.new)))
            start, copied = end, hunk.end
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
            raise self._offset_error(
                f"The edit of {self.path} would join its text with bytes that are not "
                f"{self.charset.name}."
            )


def writable(charset: Charset, text: str, description: str, path: str) -> str:
    """`text` in a form that the encoding of the file at `path` can represent.

    Raises EditError, which names the character that cannot be encoded, its line and the encoding.
    """
    try:
        return charset.writable(text)
    except EncodingError as error:
        char = text[error.position]
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        raise EditError(
            ErrorKind.VALIDATION,
            f"{description} for {path} has {char!r} (U+{ord(char):04X}, line {line}, character "
            f"{column}), {error.reason}",
            path=path,
            hint=error.hint,
        ) from error


def _count_non_ascii(text: bytes) -> int:
    """The number of characters in UTF-8 text that are not ASCII."""
    return sum(byte >= 0xC0 for byte in text)


_COMMENT = re.compile(rb"^[ \t]*(?:\{/\*|/[/*]|<!--|--|[#;%*])(?P<text>[^\n]*)", re.MULTILINE)
_WORD = re.compile(r"[a-z]+")
_DOTS = ("...", "…")
_STAY_WORDS = frozenset(
    {"changes", "existing", "omitted", "original", "other", "previous", "remaining", "rest", "same"}
    | {"unchanged"}
)
_CODE_WORDS = frozenset(
    {"body", "class", "code", "content", "file", "function", "functions", "implementation"}
    | {"implementations", "imports", "lines", "logic", "method", "methods"}
)
_FILLER_WORDS = frozenset(
    {"above", "all", "are", "as", "before", "below", "here", "is", "of", "remain", "remains"}
    | {"stay", "stays", "the"}
)
_MAX_WORDS = 12
_MAX_SHOWN_CHARACTERS = 60


def placeholder_note(path: str, removed: bytes, new: bytes) -> str | None:
    """A warning if a comment in `new` is a placeholder for the `removed` lines, else None."""
    if removed.count(b"\n") < 2:
        return None
    for found in _COMMENT.finditer(new):
        comment = found[0].strip()
        if _is_placeholder(found["text"].decode("utf-8", "replace")) and comment not in removed:
            shown = comment.decode("utf-8", "replace")[:_MAX_SHOWN_CHARACTERS]
            return (
                f"{path}: `{shown}` is written literally; it does not stand for the code that "
                "the edit removes. To keep that code, write it in full."
            )
    return None


def _is_placeholder(text: str) -> bool:
    """Whether a comment states that existing code stays, for example `... rest of the file`."""
    has_dots = any(dots in text for dots in _DOTS)
    words = set(_WORD.findall(text.lower()))
    if not words:
        return has_dots
    if len(words) > _MAX_WORDS or not words & _STAY_WORDS:
        return False
    if has_dots:
        return text.lstrip(" \t#/*-(").startswith(_DOTS) or bool(words & _CODE_WORDS)
    return bool(words & _CODE_WORDS) and words <= _STAY_WORDS | _CODE_WORDS | _FILLER_WORDS


def replace_bytes(source: Source, request: RangeEdit) -> tuple[list[Replacement], list[str]]:
    """The replacement of a range edit, and notes for the author of the edit.

    Raises EditError when the range is not in the file or splits a character. Also raises EditError
    when the range contains bytes that are not UTF-8, since these bytes would be lost.
    """
    start, end = max(request.start, source.text_start), max(request.end, source.text_start)
    if not 0 <= request.start <= request.end <= len(source.data):
        raise _range_error(
            f"Bytes {request.start} to {request.end} are not in {source.path}, which has "
            f"{len(source.data)} bytes."
        )
    for offset in (request.start, request.end):
        if source.splits_character(offset):
            raise _range_error(f"Byte {offset} of {source.path} is inside a character or line end.")
    _refuse_unreadable(source, start, end)
    code = _encode_code(source, request.code)
    notes = [request.note] if request.note else []
    if request.reindent:
        code, note = reindent_item(source, start, end, code)
        notes += [f"{source.path}: line {source.line_of(start)}: {note}."] if note else []
        code = _match_last_line_end(source, start, end, code)
    return [Replacement(start, end, _with_ends(source, start, code))], notes


def replace_lines(source: Source, request: LineRangeEdit) -> tuple[list[Replacement], list[str]]:
    """The replacement of a line range edit, and an empty list of notes.

    Raises EditError when the lines are not in the file, or contain bytes that are not UTF-8.
    """
    starts = _line_starts(source)
    first, last = request.first, request.last
    if not 1 <= first <= last + 1 <= len(starts):
        raise _range_error(
            f"Lines {first} to {last} are not in {source.path}, which has {len(starts) - 1} lines."
        )
    start, end = starts[first - 1], starts[last]
    _refuse_unreadable(source, start, end)
    code = _encode_code(source, request.code)
    if code and not code.endswith(b"\n"):
        code += b"\n"
    lacks_line_end = (
        end == len(source.data) and end > source.text_start and not source.starts_line(end)
    )
    if lacks_line_end and start == end:
        code = b"\n" + code
    if lacks_line_end and code.endswith(b"\n"):
        code = code[:-1]
    return [Replacement(start, end, _with_ends(source, start, code))], []


def _line_starts(source: Source) -> list[int]:
    """The offset of each line, followed by the offset of the end of the file."""
    lengths = map((1).__add__, map(len, source.data[source.text_start :].split(source.line_break)))
    starts = list(accumulate(lengths, initial=source.text_start))
    starts[-1] = len(source.data)
    return starts[:-1] if starts[-2:-1] == starts[-1:] else starts


def _range_error(message: str) -> EditError:
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


def _encode_code(source: Source, code: str) -> bytes:
    written = with_crlf_plain(encode_utf8(code, "The code"))
    return written.removeprefix("\ufeff".encode()) if source.text_start else written


def with_crlf_plain(code: bytes) -> bytes:
    """`code` with every CRLF replaced by LF."""
    return code.replace(b"\r\n", b"\n")


def _with_ends(source: Source, start: int, code: bytes) -> bytes:
    """`code` with the line ends of the surrounding lines in the file."""
    following = line_end(source.data[start : source.line_stop(start)])
    return code.replace(b"\n", following or source.end_near(start))


def _match_last_line_end(source: Source, start: int, end: int, code: bytes) -> bytes:
    """`code` with one final line end if the range has a final line end, otherwise without one."""
    ended = source.data[start:end].endswith((b"\n", b"\r"))
    stripped = code.rstrip(b"\n")
    return stripped + b"\n" if ended and stripped else stripped
