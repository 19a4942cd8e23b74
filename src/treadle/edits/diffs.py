"""Formats changes for people, as unified diffs and as counts of lines.

The functions need only the hunks of a change, and read no files.
"""

from collections.abc import Iterator, Sequence

from treadle.edits.line_differences import differences
from treadle.edits.model import ChangeKind, FileChange, Hunk
from treadle.edits.text import MAX_CONTEXT_BYTES, line_break_of, split_lines
from treadle.visible import with_control_pictures

_NOWHERE = "/dev/null"


def unified(change: FileChange) -> str:
    """The unified diff of a change, with git's headers. It is safe to show on any terminal.

    Bytes that are not text in the file's encoding are shown as escapes. Control characters are
    shown as symbols. Line ends are shown only if they differ within the hunks.
    """
    lines = [*_headers(change)]
    delta = 0
    line_break = line_break_of(change.hunks)
    hide_cr = all_crlf(change.hunks)
    encoding = change.encoding or "utf-8"
    for group in _groups([hunk for hunk in change.hunks if hunk.old or hunk.new]):
        lines += _hunk_lines(group, delta, line_break, encoding, hide_cr=hide_cr)
        delta += sum(h.new.count(line_break) - h.old.count(line_break) for h in group)
    return "".join(f"{line}\n" for line in lines)


def counts(change: FileChange) -> tuple[int, int]:
    """The number of added lines and the number of removed lines."""
    line_break = line_break_of(change.hunks)
    added = removed = 0
    for hunk in change.hunks:
        inside = bool(hunk.before) and not hunk.before.endswith(line_break)
        inside = inside or (
            bool(hunk.after) and not (hunk.new or hunk.old or line_break).endswith(line_break)
        )
        added += len(split_lines(hunk.new, line_break)) or int(inside)
        removed += len(split_lines(hunk.old, line_break)) or int(inside)
    return added, removed


def safe(data: bytes, encoding: str = "utf-8") -> str:
    """`data` as text without characters that control a terminal."""
    return with_control_pictures(data.decode(encoding, "backslashreplace"))


def _headers(change: FileChange) -> Iterator[str]:
    old = change.path
    new = change.path if change.target is None else change.target
    yield f"diff --git {_name('a', old)} {_name('b', new)}"
    match change.kind:
        case ChangeKind.CREATE:
            yield "new file mode 100644"
        case ChangeKind.DELETE:
            yield "deleted file mode 100644"
        case ChangeKind.RENAME:
            yield f"rename from {_quoted(old)}"
            yield f"rename to {_quoted(new)}"
        case ChangeKind.MODIFY:
            pass
    if any(hunk.old or hunk.new for hunk in change.hunks):
        yield f"--- {_NOWHERE if change.kind is ChangeKind.CREATE else _name('a', old)}"
        yield f"+++ {_NOWHERE if change.kind is ChangeKind.DELETE else _name('b', new)}"


def _name(side: str, path: str) -> str:
    return _quoted(f"{side}/{path}")


def _quoted(path: str) -> str:
    """The path as git prints it. A path with special characters is quoted and escaped."""
    raw = path.encode("utf-8", "surrogateescape")
    if all(0x20 <= byte < 0x7F and byte not in b'"\\' for byte in raw):
        return path
    escaped = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:03o}" for byte in raw
    )
    return f'"{escaped}"'


def all_crlf(hunks: Sequence[Hunk]) -> bool:
    """Whether every line end in the hunks is CRLF. If so, line ends need not be shown."""
    shown = b"".join(part for h in hunks for part in (h.before, h.old, h.new, h.after))
    ends = shown.count(b"\r\n")
    return ends == shown.count(b"\n") == shown.count(b"\r")


def _groups(hunks: Sequence[Hunk]) -> Iterator[list[Hunk]]:
    """Group the hunks whose context lines touch."""
    group: list[Hunk] = []
    for hunk in hunks:
        if group and hunk.start - len(hunk.before) > group[-1].end + len(group[-1].after):
            yield group
            group = []
        group.append(hunk)
    if group:
        yield group


def _between(first: Hunk, second: Hunk) -> bytes:
    """The bytes between two hunks of a group."""
    size = second.start - first.end
    missing = size - len(first.after)
    if missing <= 0:
        return first.after[:size]
    return first.after + second.before[len(second.before) - missing :]


def _hunk_lines(
    group: Sequence[Hunk], delta: int, line_break: bytes, encoding: str, *, hide_cr: bool
) -> Iterator[str]:
    """The lines of one hunk of the diff."""
    old = new = group[0].before
    for number, hunk in enumerate(group):
        tail = _between(hunk, group[number + 1]) if hunk is not group[-1] else hunk.after
        old += hunk.old + tail
        new += hunk.new + tail
    before, after = split_lines(old, line_break), split_lines(new, line_break)
    first = group[0].line - group[0].before.count(line_break)
    yield (f"@@ -{_span(first, len(before))} +{_span(first + delta, len(after))} @@")
    cut = len(group[-1].after) > MAX_CONTEXT_BYTES // 2 - 4

    def write(mark: str, lines: Sequence[bytes]) -> Iterator[str]:
        for line in lines:
            ended = line.endswith(line_break)
            text = line[: -len(line_break)] if ended else line
            yield mark + safe(text.removesuffix(b"\r") if hide_cr else text, encoding)
            if not ended and not cut:
                yield "\\ No newline at end of file"

    position = 0
    for a, b, c, d in differences(before, after):
        yield from write(" ", before[position:a])
        yield from write("-", before[a:b])
        yield from write("+", after[c:d])
        position = b
    yield from write(" ", before[position:])


def _span(first: int, count: int) -> str:
    return f"{first if count else first - 1},{count}"
