"""Fits a change to a file whose other lines have changed, and reverses a change."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from treadle.edits.hunks import add_context, hunk_at, mark_unique_context, rehunk
from treadle.edits.model import ChangeKind, EditError, FileChange, Hunk, content_hash, splice
from treadle.edits.text import (
    MAX_CONTEXT_LINES,
    Source,
    context_after,
    context_before,
    line_break_of,
    split_lines,
)
from treadle.edits.text_matches import occurrences, quote_line
from treadle.events.types import ErrorKind

__all__ = ["rehunk", "relocate", "reverse"]

_CONTEXTS = [
    (before, after)
    for before in range(MAX_CONTEXT_LINES + 1)
    for after in range(MAX_CONTEXT_LINES + 1)
    if before or after
]
"""The numbers of context lines before and after a hunk that are tried to find the hunk."""


def relocate(change: FileChange, present: bytes) -> FileChange:
    """Fit the change to `present`, the current content of a file in which other lines have changed.

    A hunk is placed where its old bytes occur together with some of its context lines. This
    position must be unique in the base and in the current file, and hunks keep their order. Raises
    EditError of kind conflict if any hunk has no such position. The error names each such hunk, and
    the lines that are now at its old position.
    """
    found = content_hash(present)
    if change.base_hash == found:
        return change
    if change.kind is ChangeKind.CREATE:
        raise _conflict(change, found, "a file now exists there")
    if change.kind is ChangeKind.DELETE:
        raise _conflict(change, found, "its content has changed, and would be lost")
    source = Source(change.path, present)
    hunks: list[Hunk] = []
    lost: list[str] = []
    position = 0
    line_break = line_break_of(change.hunks)
    for hunk in change.hunks:
        positions = _positions(source, line_break, hunk, position)
        if len(positions) == 1:
            hunks.append(hunk_at(source, positions[0], hunk.old, hunk.new))
            position = hunks[-1].end
        else:
            lost.append(_reason(source, hunk, positions))
    if lost:
        raise _conflict(change, found, "; ".join(lost))
    result = content_hash(splice(present, hunks))
    placed = mark_unique_context(present, hunks)
    return replace(change, base_hash=found, result_hash=result, hunks=placed)


def _conflict(change: FileChange, present: str, reason: str) -> EditError:
    return EditError(
        ErrorKind.CONFLICT,
        f"{change.path} has changed: {reason}.",
        path=change.path,
        expected=change.base_hash,
        received=present,
        hint="Read the file again, and base the edit on its current text.",
    )


def _reason(source: Source, hunk: Hunk, positions: Sequence[int]) -> str:
    """The reason why a hunk has no position.

    The reason names the line of the hunk. The number of the hunk would be wrong, since denied hunks
    are not counted here.
    """
    if positions:
        found = source.lines_text(positions)
        return f"the change of line {hunk.line} matches several positions, {found}"
    lines = split_lines(source.data, source.line_break)
    there = lines[hunk.line - 1 : hunk.line + 2]
    if not there:
        return f"the change of line {hunk.line} has no position, because the file is now shorter"
    text = ", ".join(quote_line(line.rstrip(b"\r\n")) for line in there)
    return f"the change of line {hunk.line} has no position, because the file now has {text} there"


def _positions(source: Source, line_break: bytes, hunk: Hunk, position: int) -> list[int]:
    """The positions of the old bytes of a hunk, found together with some context lines.

    Only numbers of context lines that made the position unique in the base are tried. The hunk may
    match with the lines before it at one position, and with the lines after it at another position.
    In that case both positions are returned.
    """
    whole = not hunk.before or hunk.before.endswith(line_break)
    positions: set[int] = set()
    is_known = False
    for before, after in _CONTEXTS:
        lines, all_of_it = (before, after), before + after == 2 * MAX_CONTEXT_LINES
        if not hunk.unique[0] & 1 << 4 * before + after:
            continue
        head, pattern = add_context(hunk.before, hunk.old, hunk.after, lines, line_break)
        found = [
            at + head
            for at in occurrences(source.data, pattern, source.text_start)
            if at + head >= position and (not whole or source.starts_line(at))
        ]
        positions.update(found)
        is_known = is_known or (bool(found) and (all_of_it or _tells(pattern, line_break)))
    return sorted(positions) if is_known else []


def _tells(pattern: bytes, line_break: bytes) -> bool:
    """Whether at least two lines contain more than punctuation and white space."""
    lines = split_lines(pattern, line_break)
    return sum(any(byte >= 0x80 or chr(byte).isalnum() for byte in line) for line in lines) >= 2


def reverse(change: FileChange) -> FileChange:
    """The change from the result of `change` back to its base."""
    kinds = {ChangeKind.CREATE: ChangeKind.DELETE, ChangeKind.DELETE: ChangeKind.CREATE}
    kind = kinds.get(change.kind, change.kind)
    path, target = change.path, change.target
    if target is not None:
        path, target = target, path
    hunks = tuple(_reversed(change.hunks))
    return FileChange(
        path, kind, change.result_hash, change.base_hash, hunks, target, change.encoding
    )


def _reversed(hunks: Sequence[Hunk]) -> Iterator[Hunk]:
    line_break = line_break_of(hunks)
    shift = lines = 0
    for number, hunk in enumerate(hunks):
        before, after = _result_before(hunks, number), _result_after(hunks, number)
        yield Hunk(
            hunk.start + shift, hunk.line + lines, hunk.new, hunk.old,
            context_before(before, len(before), line_break), context_after(after, 0, line_break),
            hunk.unique[::-1],
        )  # fmt: skip
        shift += len(hunk.new) - len(hunk.old)
        lines += hunk.new.count(line_break) - hunk.old.count(line_break)


def _result_before(hunks: Sequence[Hunk], number: int) -> bytes:
    """The bytes before a hunk in the file to which all hunks were applied.

    They are built from the context lines of the hunk and from the hunks before it.
    """
    hunk = hunks[number]
    begin = position = hunk.start
    begin -= len(hunk.before)
    parts: list[bytes] = []
    for other in hunks[:number][::-1]:
        if other.end < begin or position <= begin:
            break
        parts += [hunk.before[other.end - begin : position - begin], other.new]
        position = other.start
    parts.append(hunk.before[: max(0, position - begin)])
    return b"".join(parts[::-1])


def _result_after(hunks: Sequence[Hunk], number: int) -> bytes:
    """The bytes after a hunk in the file to which all hunks were applied.

    They are built from the context lines of the hunk and from the hunks after it.
    """
    hunk = hunks[number]
    end = position = hunk.end
    stop = end + len(hunk.after)
    parts: list[bytes] = []
    for other in hunks[number + 1 :]:
        if other.start > stop or position >= stop:
            break
        parts += [hunk.after[position - end : other.start - end], other.new]
        position = other.end
    parts.append(hunk.after[max(0, position - end) :] if position < stop else b"")
    return b"".join(parts)
