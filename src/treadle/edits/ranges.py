"""Edits of a range of bytes or lines: checked, and written as the file is."""

from itertools import accumulate

from treadle.edits.matching import Located
from treadle.edits.model import EditError
from treadle.edits.reindenting import as_item
from treadle.edits.requests import LineRangeEdit, RangeEdit
from treadle.edits.text import Source, encoded, is_utf8, line_end
from treadle.events.types import ErrorKind


def bytes_replaced(source: Source, request: RangeEdit) -> tuple[list[Located], list[str]]:
    """The bytes that a range edit replaces, and what was done to its code.

    Raises EditError when the range is not in the file, cuts a character, or holds bytes that are
    no UTF-8, which the code cannot hold.
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
    return [Located(start, end, _with_ends(source, start, code))], notes


def lines_replaced(source: Source, request: LineRangeEdit) -> tuple[list[Located], list[str]]:
    """The lines that a line range edit replaces; raises EditError as `bytes_replaced`."""
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
    return [Located(start, end, _with_ends(source, start, code))], []


def _line_starts(source: Source) -> list[int]:
    """Where each line begins, and behind them the end of the file."""
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
    """`code` with the line ends of what is around it."""
    following = line_end(source.data[start : source.line_stop(start)])
    return code.replace(b"\n", following or source.end_near(start))


def _ended_alike(source: Source, start: int, end: int, code: bytes) -> bytes:
    """`code` with a last line end just where the range has one."""
    ended = source.data[start:end].endswith((b"\n", b"\r"))
    stripped = code.rstrip(b"\n")
    return stripped + b"\n" if ended and stripped else stripped
