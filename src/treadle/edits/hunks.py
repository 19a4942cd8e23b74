"""Converts replacements of byte ranges to hunks.

A hunk has the whole lines that differ, and the context lines around them.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace

from treadle.edits.line_differences import differences
from treadle.edits.model import ChangeKind, FileChange, Hunk, content_hash, splice
from treadle.edits.text import (
    MAX_CONTEXT_BYTES,
    MAX_CONTEXT_LINES,
    Source,
    context_after,
    context_before,
    line_break_of,
    split_lines,
)
from treadle.edits.text_matches import Replacement

_MAX_SEARCHED = 100_000_000
"""The maximum product of the number of hunks and the size of the file in bytes.

Above this limit, `Hunk.unique` is not computed. At the limit, the computation takes about 0.1 s.
"""

LONG_LINE = 2_000
"""A line of at least this many bytes is long.

A hunk stores only the differing part of a long line.
"""


def build_hunks(source: Source, replacements: Sequence[Replacement]) -> tuple[Hunk, ...]:
    """The hunks of `replacements`, which are in order and do not overlap.

    The result is empty if nothing differs.
    """
    found: list[Hunk] = []
    group: list[Replacement] = []
    stop = -1
    for replacement in replacements:
        if group and source.line_start(replacement.start) >= stop:
            found += _of_group(source, group, stop)
            group = []
        group.append(replacement)
        stop = max(stop, _whole_lines_stop(source, replacement))
    found += _of_group(source, group, stop) if group else []
    return mark_unique_context(source.data, found)


def mark_unique_context(base: bytes, hunks: Sequence[Hunk]) -> tuple[Hunk, ...]:
    """Compute `Hunk.unique` for each hunk. The hunks stay unchanged if this would take too long."""
    if len(hunks) * len(base) > _MAX_SEARCHED:
        return tuple(hunks)
    line_break = line_break_of(hunks)
    result = splice(base, hunks)
    found: list[Hunk] = []
    shift = 0
    for hunk in hunks:
        start = hunk.start + shift
        stop = start + len(hunk.new)
        before = context_before(result, start, line_break)
        after = context_after(result, stop, line_break)
        in_base = _once(base, (hunk.before, hunk.old, hunk.after), line_break)
        in_result = _once(result, (before, hunk.new, after), line_break)
        found.append(replace(hunk, unique=(in_base, in_result)))
        shift = stop - hunk.end
    return tuple(found)


def _once(data: bytes, parts: tuple[bytes, bytes, bytes], line_break: bytes) -> int:
    """One of the two numbers of `Hunk.unique`.

    `parts` are the context lines before the text, the text, and the context lines after it.
    """
    bits = 0
    least = MAX_CONTEXT_LINES + 1
    for before in range(MAX_CONTEXT_LINES + 1):
        while least > 0:
            _, pattern = add_context(*parts, (before, least - 1), line_break)
            at = data.find(pattern)
            if not pattern or at < 0 or data.find(pattern, at + 1) >= 0:
                break
            least -= 1
        bits |= sum(1 << 4 * before + after for after in range(least, MAX_CONTEXT_LINES + 1))
    return bits


def add_context(
    before: bytes, text: bytes, after: bytes, lines: tuple[int, int], line_break: bytes
) -> tuple[int, bytes]:
    """The offset of `text` in the extended text, and the extended text.

    The extended text is `text` with the last lines of `before` and the first lines of `after`.
    `lines` has the number of lines from `before`, and the number of lines from `after`.
    """
    head = split_lines(before, line_break)
    head = head[max(0, len(head) - lines[0]) :]
    tail = split_lines(after, line_break)[: lines[1]]
    return sum(map(len, head)), b"".join([*head, text, *tail])


def _whole_lines_stop(source: Source, replacement: Replacement) -> int:
    """The end of the last line that the replacement touches."""
    at_border = replacement.end == source.text_start or source.starts_line(replacement.end)
    whole = replacement.new.endswith(source.line_break) or (
        not replacement.new and source.starts_line(replacement.start)
    )
    return replacement.end if at_border and whole else source.line_stop(replacement.end)


def _of_group(source: Source, group: Sequence[Replacement], stop: int) -> list[Hunk]:
    """The hunks of replacements that share lines."""
    start = source.line_start(group[0].start)
    parts: list[bytes] = []
    position = start
    for replacement in group:
        parts += [source.data[position : replacement.start], replacement.new]
        position = replacement.end
    new = b"".join([*parts, source.data[position:stop]])
    return hunks_between(source, start, stop, new)


def hunks_between(source: Source, start: int, stop: int, new: bytes) -> list[Hunk]:
    """The hunks that change the whole lines from `start` to `stop` into `new`."""
    before = split_lines(source.data[start:stop], source.line_break)
    after = split_lines(new, source.line_break)
    line = source.line_of(start)
    found: list[Hunk] = []
    position = 0
    for first, last, begin, end in differences(before, after):
        start += sum(map(len, before[position:first]))
        old = b"".join(before[first:last])
        found.append(hunk_at(source, start, old, b"".join(after[begin:end]), line + first))
        start += len(old)
        position = last
    return found


def hunk_at(source: Source, start: int, old: bytes, new: bytes, line: int | None = None) -> Hunk:
    """The hunk that replaces `old` at `start` by `new`. `line` is its line number, if known."""
    line = source.line_of(start) if line is None else line
    data, line_break = source.data, source.line_break
    end = start + len(old)
    before = context_before(data, start, line_break, source.text_start)
    after = context_after(data, end, line_break)
    longest = max(map(len, split_lines(old, line_break)), default=0)
    if longest < LONG_LINE or old.count(line_break) > 1:
        return Hunk(start, line, old, new, before, after)
    head, tail = _same_ends(old, new)
    begin, stop = start + head, end - tail
    half = MAX_CONTEXT_BYTES // 2
    return Hunk(
        begin, line, data[begin:stop], new[head : len(new) - tail],
        data[_border(data, max(source.text_start, begin - half)) : begin],
        data[stop : _border(data, min(len(data), stop + half))],
    )  # fmt: skip


def rehunk(path: str, base: bytes, result: bytes) -> FileChange:
    """The change from `base` to `result`, with one hunk for each group of differing lines."""
    source = Source(path, base)
    hunks = mark_unique_context(base, hunks_between(source, 0, len(base), result))
    return FileChange(path, ChangeKind.MODIFY, content_hash(base), content_hash(result), hunks)


def _same_ends(old: bytes, new: bytes) -> tuple[int, int]:
    """The numbers of equal bytes at the start and at the end of both texts, in whole characters."""
    most = min(len(old), len(new))
    head = _longest(most, lambda size: old[:size] == new[:size])
    while head and (_splits_character(old, head) or _splits_character(new, head)):
        head -= 1
    tail = _longest(most - head, lambda size: old[len(old) - size :] == new[len(new) - size :])
    while tail and (
        _splits_character(old, len(old) - tail) or _splits_character(new, len(new) - tail)
    ):
        tail -= 1
    return head, tail


def _longest(limit: int, same: Callable[[int], bool]) -> int:
    """The greatest size up to `limit` for which `same` is true.

    If `same` is true for a size, it must be true for all smaller sizes.
    """
    return bisect_right(range(1, limit + 1), 0, key=lambda size: 0 if same(size) else 1)


def _splits_character(data: bytes, offset: int) -> bool:
    """Whether the byte at `offset` is inside a character or a CRLF."""
    return offset < len(data) and (
        data[offset] & 0xC0 == 0x80 or data[offset - 1 : offset + 1] == b"\r\n"
    )


def _border(data: bytes, offset: int) -> int:
    while offset < len(data) and _splits_character(data, offset):
        offset += 1
    return offset
