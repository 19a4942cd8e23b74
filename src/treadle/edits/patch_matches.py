"""Finds the hunks of a patch in a file, in order. Anchors such as `@@ class A` limit the search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treadle.edits.indentation import Reindent, indentation, shift_between
from treadle.edits.model import EditError
from treadle.edits.requests import PatchHunk
from treadle.edits.text import WHITE_SPACE, Source, encode_utf8, line_end, split_lines
from treadle.edits.text_matches import (
    BLANKS,
    ENDS,
    FINAL,
    INDENT,
    Replacement,
    describe_nearest,
    occurrences,
    quote_line,
    several_matches_error,
)
from treadle.events.types import ErrorKind


@dataclass(frozen=True, slots=True)
class _Match:
    """A match of the old side of a hunk, which consists of its context and removed lines.

    `kept` contains the matching lines of the file.
    """

    start: int
    kept: tuple[bytes, ...]
    leniency: str | None = None
    reindent: Reindent | None = None

    @property
    def end(self) -> int:
        return self.start + sum(map(len, self.kept))


def match_hunks(source: Source, hunks: Sequence[PatchHunk]) -> tuple[list[Replacement], list[str]]:
    """The replacements of the hunks, and notes on differences that the match ignored.

    Raises EditError when the context and removed lines of a hunk do not occur after the previous
    hunk, or occur several times.
    """
    found: list[Replacement] = []
    notes: list[str] = []
    position = source.text_start
    for number, hunk in enumerate(hunks, 1):
        if all(mark == " " for mark, _ in hunk.lines) and not _changes_last_end(hunk):
            continue
        name = f"Hunk {number} of the patch" if len(hunks) > 1 else "The patch"
        old = [encode_utf8(text, name) for mark, text in hunk.lines if mark != "+"]
        if not old:
            located = _insertion(source, hunk, name)
            if located.start > source.text_start:
                notes.append(f"{source.path}: the added lines were inserted at its end.")
        else:
            match = _match(source, hunk, old, position, name)
            located = _trimmed(match.start, match.kept, _new_lines(source, hunk, match, name))
            if match.leniency:
                line = source.lines_text([match.start])
                notes.append(f"{source.path}: {line}: {match.leniency}.")
        found.append(located)
        position = located.end
    return found, notes


def _changes_last_end(hunk: PatchHunk) -> bool:
    return hunk.no_newline_old != hunk.no_newline_new


def _match(source: Source, hunk: PatchHunk, old: list[bytes], position: int, name: str) -> _Match:
    """The only match of the lines `old`. Raises EditError if there is no match or more than one."""
    regions = _regions(source, hunk.anchors, name)
    earlier: list[_Match] = []
    for matches in _steps(source, hunk, old):
        later = [
            match
            for match in matches
            if match.start >= position and _is_inside(source, match, regions)
        ]
        if later:
            _check_order(source, hunk, matches, position, name)
            return _select_match(source, hunk, later, name)
        earlier = earlier or matches
    if earlier:
        where = source.lines_text([match.start for match in earlier])
        raise EditError(
            ErrorKind.NOT_FOUND,
            f"{name} is at the wrong position in {source.path}: its lines are only at {where}, "
            "before the previous hunk or above its anchor.",
            hint="Give the hunks in the order of the file, each below the anchor it names.",
        )
    raise EditError(
        ErrorKind.NOT_FOUND,
        f"{name} does not match: its context and removed lines are not in {source.path}.",
        hint=describe_nearest(source, old),
    )


def _check_order(
    source: Source, hunk: PatchHunk, matches: list[_Match], position: int, name: str
) -> None:
    """Refuse a hunk whose match at the stated line is before the end of the previous hunk.

    The patch states the line. A match further below would be at another line than the patch states.
    """
    lines = [source.line_of(match.start) for match in matches if match.start < position]
    if hunk.line in lines:
        raise EditError(
            ErrorKind.VALIDATION,
            f"{name} is for line {hunk.line} of {source.path}, which is before the end of the "
            "previous hunk.",
            hint="Give the hunks in the order of the file.",
        )


def _is_inside(source: Source, match: _Match, regions: Sequence[tuple[int, int]]) -> bool:
    """Whether a match is in one of the `regions`. The result is true if there are no regions."""
    if not regions:
        return True
    line = source.plain_line_at(match.start)
    return any(first <= line <= last for first, last in regions)


def _select_match(source: Source, hunk: PatchHunk, matches: list[_Match], name: str) -> _Match:
    if hunk.at_end:
        matches = [match for match in matches if match.end == len(source.data)] or matches
    if len(matches) == 1:
        return matches[0]
    if matches[0].leniency in {None, ENDS}:
        for match in matches:
            if source.line_of(match.start) == hunk.line:
                return match
    raise several_matches_error(
        source, [match.start for match in matches], f"What {name.lower()} changes"
    )


def _steps(source: Source, hunk: PatchHunk, old: list[bytes]) -> Iterator[list[_Match]]:
    """Yield the matches for each degree of strictness, beginning with exact matches."""
    unended = hunk.no_newline_old
    text = b"\n".join(old) + b"\n"
    at_end = len(source.data) - len(text) + 1
    last = []
    fits = at_end >= source.text_start and source.data.endswith(text[:-1])
    if (
        old[-1] and fits and source.starts_line(at_end)
    ):  # an empty last line matches only with its line end
        last = [_exact(at_end, text[:-1], None if unended else FINAL)]
    ended = [
        _exact(at, text, FINAL if unended else None)
        for at in occurrences(source.data, text, source.text_start)
        if source.starts_line(at)
    ]
    yield from (last, ended) if unended else (ended, last)
    plain = [line.removesuffix(b"\r") for line in old]
    stripped = [line.strip(WHITE_SPACE) for line in plain]
    added = [
        indentation(text.encode(errors="replace"))
        for mark, text in hunk.lines
        if mark == "+" and text.strip()
    ]
    matches = [_loose(source, at, plain, added) for at in source.positions_of_lines(stripped)]
    for leniency in (ENDS, BLANKS, INDENT):
        yield [match for match in matches if match and match.leniency == leniency]


def _exact(start: int, text: bytes, leniency: str | None) -> _Match:
    return _Match(start, tuple(split_lines(text)), leniency)


def _loose(source: Source, at: int, old: list[bytes], added: list[bytes]) -> _Match | None:
    """Match `old` with the lines of `Source.plain` from line `at` on, ignoring white space.

    Returns None if the indentations differ in an irregular way. `added` are the indentations of the
    lines that the hunk adds.
    """
    matched = [line.removesuffix(b"\n") for line in source.plain_lines(at, at + len(old))]
    first, last = source.plain_range(at, at + len(old))
    start, end = source.origin(first), source.origin(last)
    kept = tuple(source.data[start:end].splitlines(keepends=True))
    kept += (b"",) * (len(old) - len(kept))
    if matched == old:
        return _Match(start, kept, ENDS)
    pairs = [
        (indentation(line), indentation(other))
        for line, other in zip(old, matched, strict=True)
        if line.strip(WHITE_SPACE)
    ]
    if not pairs or all(line == other for line, other in pairs):
        return _Match(start, kept, BLANKS)
    reindent = shift_between(pairs, added)
    return _Match(start, kept, INDENT, reindent) if reindent else None


def _new_lines(source: Source, hunk: PatchHunk, match: _Match, name: str) -> list[bytes]:
    """The lines after the hunk is applied. Context lines keep the bytes of the file.

    Added lines get the line ends and the indentation of the file, unless the match was exact.
    """
    literal = match.leniency is None
    end = source.end_near(match.start)
    lines: list[bytes] = []
    position = 0
    for mark, text in hunk.lines:
        if mark == "+":
            content = encode_utf8(text, name)
            if not literal:
                content = content.removesuffix(b"\r")
            if match.reindent is not None:
                content = match.reindent.line(content)
            lines.append(content + (b"\n" if literal else end))
            continue
        kept = match.kept[position]
        position += 1
        end = line_end(kept) or end
        if mark == " ":
            lines.append(kept)
    lines = [*(_ended(line, end, literal=literal) for line in lines[:-1]), *lines[-1:]]
    if not lines or match.end < len(source.data):
        return lines
    last = match.kept[-1]  # `last` is empty if it is the line after the final line end
    unended = bool(last) and last == _without_end(last, literal=literal)
    if hunk.no_newline_new or (unended and not hunk.no_newline_old):
        lines[-1] = _without_end(lines[-1], literal=literal)
    elif hunk.no_newline_old:
        lines[-1] = _ended(lines[-1], end, literal=literal)
    return lines


def _without_end(line: bytes, *, literal: bool) -> bytes:
    """The line without its line end. With `literal`, only LF counts as a line end."""
    return line.removesuffix(b"\n" if literal else line_end(line))


def _ended(line: bytes, end: bytes, *, literal: bool) -> bytes:
    """Add `end` to a line without a line end, such as the last line of a file."""
    if line != _without_end(line, literal=literal):
        return line
    return line + (b"\n" if literal else end)


def _trimmed(start: int, kept: Sequence[bytes], new: Sequence[bytes]) -> Replacement:
    """The replacement of `kept` by `new`, without the equal lines at the beginning and the end."""
    first, most = 0, min(len(kept), len(new))
    while first < most and kept[first] == new[first]:
        first += 1
    last = 0
    while last < most - first and kept[-1 - last] == new[-1 - last]:
        last += 1
    begin = start + sum(map(len, kept[:first]))
    end = begin + sum(map(len, kept[first : len(kept) - last]))
    return Replacement(begin, end, b"".join(new[first : len(new) - last]))


def _insertion(source: Source, hunk: PatchHunk, name: str) -> Replacement:
    """Place the added lines of a hunk without context in an empty file, or at the end of a file."""
    lines = [encode_utf8(text, name) for _, text in hunk.lines]
    size = len(source.data)
    empty = size == source.text_start
    if not empty and not hunk.at_end and (hunk.line is not None or hunk.anchors):
        raise EditError(
            ErrorKind.VALIDATION,
            f"{name} adds lines to {source.path} without context lines, so their position "
            "cannot be verified.",
            hint="Include at least the line before or after them as context.",
        )
    end = source.end_near(size)
    unended = not empty and not line_end(source.data[-2:])
    text = end.join(line.removesuffix(b"\r") for line in lines)
    if unended:
        return Replacement(size, size, end + text)
    return Replacement(size, size, text if hunk.no_newline_new else text + end)


def _regions(source: Source, anchors: Sequence[str], name: str) -> list[tuple[int, int]]:
    """The ranges of the lines below `anchors`. Each anchor is searched below the anchor before it.

    The result is empty if there are no anchors.
    """
    if not anchors:
        return []
    lines = source.plain_lines(0, source.plain_count)
    regions = [(0, len(lines))]
    for anchor in anchors:
        anchor_text = encode_utf8(anchor, name).strip(WHITE_SPACE)
        found = {
            at: _scope_end(lines, at)
            for first, last in regions
            for at in _anchored(lines, anchor_text, first, last)
        }
        if not found:
            raise EditError(
                ErrorKind.NOT_FOUND,
                f"The anchor {quote_line(anchor_text)} of {name.lower()} is not in {source.path}.",
                hint=describe_nearest(source, [anchor_text]),
            )
        regions = list(found.items())
    return regions


def _anchored(lines: list[bytes], anchor: bytes, first: int, last: int) -> list[int]:
    """The numbers of the lines that equal the anchor.

    If no line equals the anchor, the result has the lines that begin with it. In such a line, the
    anchor must not end inside a word.
    """
    inside = [(at, lines[at].strip(WHITE_SPACE)) for at in range(first, min(last + 1, len(lines)))]
    found = [at for at, line in inside if line == anchor]
    return found or [
        at
        for at, line in inside
        if line.startswith(anchor) and not line[len(anchor) : len(anchor) + 1].isalnum()
    ]


def _scope_end(lines: list[bytes], at: int) -> int:
    """The number of the first line after the block that begins at line `at`.

    The lines of the block are indented more than line `at`, or close the block. If there is no
    block, the result is the end of the file. In that case the searched hunk may be anywhere below
    the anchor.
    """
    own = len(indentation(lines[at]))
    deeper = False
    for number in range(at + 1, len(lines)):
        line = lines[number].strip(WHITE_SPACE)
        if not line:
            continue
        if len(indentation(lines[number])) > own:
            deeper = True
        elif line[:1].isalnum() or line[:1] in {b"@", b"_"}:
            return number if deeper else len(lines)
    return len(lines)
