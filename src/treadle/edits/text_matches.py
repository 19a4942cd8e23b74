"""Finds a text in a file, exactly or ignoring line ends, trailing white space or indentation.

The first steps of the search are exact, and later steps ignore more differences. A step runs only
if the steps before it found nothing. Several matches may be replaced only if they are exact or
differ only in line ends. Similar text is never a match. If nothing matches, the error names the
most similar lines.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from sys import maxsize

from treadle.edits.indentation import Reindent, indentation, shift_between
from treadle.edits.line_differences import differences
from treadle.edits.model import EditError
from treadle.edits.text import WHITE_SPACE, Source, line_end, with_plain_ends
from treadle.events.types import ErrorKind

_SHOWN = 160
"""The maximum number of characters of a line that errors show."""

_WORD = re.compile(rb"\w+")

_COMMON = 50
"""A line that occurs more often than this in the file is not used to find the position of a text.
"""


def describe_nearest(source: Source, lines_sought: Sequence[bytes]) -> str:
    """A sentence about the first line that differs between a text and the most similar lines."""
    lines = source.plain.split(b"\n")
    offset = _offset(lines, lines_sought)
    if offset is None:
        return _alike(lines, lines_sought)
    for number, line in enumerate(lines_sought):
        at = offset + number
        if not 0 <= at < len(lines):
            return f"The file has no line {at + 1}; the text extends beyond its end."
        if lines[at].strip() != line.strip():
            begin = f"It begins like line {offset + 1}, but " if number else ""
            return (
                f"{begin}line {at + 1} of the file is {quote_line(lines[at])}, and the text has "
                f"{quote_line(line)}. Read the file again and give the exact lines."
            )
    return (
        f"Its words are in lines {offset + 1} to {offset + len(lines_sought)}, but with a "
        "different indentation that no single shift explains. Give the lines with the "
        "indentation of the file."
    )


def _offset(lines: Sequence[bytes], lines_sought: Sequence[bytes]) -> int | None:
    """The line of the file, from 0, at which the text must start so that most lines match.

    Returns None if no line matches.
    """
    positions: dict[bytes, list[int]] = {line.strip(): [] for line in lines_sought if line.strip()}
    for at, line in enumerate(lines):
        if (stripped := line.strip()) in positions:
            positions[stripped].append(at)
    votes: Counter[int] = Counter()
    for number, line in enumerate(lines_sought):
        found = positions.get(line.strip(), [])
        if len(found) <= _COMMON:
            votes.update(at - number for at in found if at >= number)
    return max(votes, key=lambda at: (votes[at], -at)) if votes else None


def _alike(lines: Sequence[bytes], lines_sought: Sequence[bytes]) -> str:
    """A sentence about the line that shares most words with the longest of `lines_sought`."""
    line = max(lines_sought, key=lambda each: len(each.strip()), default=b"")
    words = set(_WORD.findall(line))
    best, most = 0, 0
    for at, candidate in enumerate(lines):
        if len(candidate) < 10 * len(line) + _SHOWN:
            shared = len(words.intersection(_WORD.findall(candidate)))
            if shared > most:
                best, most = at, shared
    if not words or most < (len(words) + 1) // 2:
        return "No line of the text is in the file. Read the file again and give its exact text."
    return (
        f"The nearest line is {best + 1}: {quote_line(lines[best])}, and the text has "
        f"{quote_line(line)}. Read the file again and give the exact lines."
    )


def quote_line(line: bytes) -> str:
    """Quote a line. A long line is cut, and unprintable characters are escaped."""
    text = line.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


ENDS = "its line ends were replaced by those of the file"
BLANKS = "trailing white space was ignored"
INDENT = "its indentation was shifted to that of the file"
FINAL = "the line end after its last line was ignored"

_MANY = 1_000
"""The maximum number of matches that are searched if only one match is allowed."""


@dataclass(frozen=True, slots=True)
class Match:
    """A match of the text at bytes `start` to `end` of the file.

    `leniency` names the difference that was ignored. It is None for an exact match. `reindent`
    gives new lines the indentation of the matched lines in the file.
    """

    start: int
    end: int
    leniency: str | None = None
    reindent: Reindent | None = None


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replaces bytes `start` to `end` of the file by `new`."""

    start: int
    end: int
    new: bytes


def replace_text(
    source: Source, old: bytes, new: bytes, *, everywhere: bool
) -> tuple[list[Replacement], list[str]]:
    """The replacements of `old` by `new`, and notes on differences that the match ignored.

    Raises EditError when `old` is not in the file, or when it occurs several times and `everywhere`
    is false.
    """
    limit = maxsize if everywhere else _MANY
    candidates = next((found for found in _steps(source, old, new, limit) if found), [])
    if not candidates:
        raise EditError(
            ErrorKind.NOT_FOUND,
            f"The text to replace is not in {source.path}.",
            hint=describe_nearest(source, with_plain_ends(old).splitlines()),
        )
    if len(candidates) > 1 and not (everywhere and candidates[0].leniency in {None, ENDS}):
        raise several_matches_error(
            source, [candidate.start for candidate in candidates], "The text to replace"
        )
    if everywhere:
        candidates = _apart(candidates)
    found = [_located(source, candidate, old, new) for candidate in candidates]
    leniency = next((candidate.leniency for candidate in candidates if candidate.leniency), None)
    note = f"{source.path}: {source.lines_text([each.start for each in candidates])}: {leniency}."
    return found, [note] if leniency else []


def several_matches_error(source: Source, starts: Sequence[int], description: str) -> EditError:
    """The error for a text that occurs several times."""
    count = f"{len(starts)} times" if len(starts) < _MANY else f"{_MANY} times or more"
    return EditError(
        ErrorKind.CONFLICT,
        f"{description} is {count} in {source.path}: {source.lines_text(starts)}.",
        hint="Give more of the surrounding lines, so that the text occurs once.",
    )


def _apart(candidates: list[Match]) -> list[Match]:
    """The candidates without the matches that overlap an earlier match."""
    kept: list[Match] = []
    for candidate in candidates:
        if not kept or candidate.start >= kept[-1].end:
            kept.append(candidate)
    return kept


def _steps(source: Source, old: bytes, new: bytes, limit: int) -> Iterator[list[Match]]:
    """Yield the matches of each step, beginning with the strictest step.

    Steps that compare the text exactly, or ignore only line ends, yield at most `limit` matches.
    """
    plain = with_plain_ends(old)
    if b"\r" in old:
        yield [
            Match(at, at + len(old))
            for at in islice(occurrences(source.data, old, source.text_start), limit)
            if not (source.splits_character(at) or source.splits_character(at + len(old)))
        ]
    # LF in `old` may mean any line end, so all occurrences are examined together.
    found = islice(occurrences(source.plain, plain, source.text_start), limit)
    exact = b"\r" not in old
    yield [_in_plain(source, at, plain, exact=exact) for at in found]
    if not plain.strip():
        return
    yield list(_but_for_last_end(source, plain, new))
    lines = plain.splitlines(keepends=True)
    yield _ignoring_trailing_space(source, lines)
    yield _but_for_indentation(source, lines, new)


def occurrences(data: bytes, text: bytes, begin: int = 0) -> Iterator[int]:
    """Yield every offset from `begin` at which `text` occurs. Occurrences may overlap."""
    at = data.find(text, begin)
    while at >= 0:
        yield at
        at = data.find(text, at + 1)


def _in_plain(source: Source, offset: int, plain: bytes, *, exact: bool = True) -> Match:
    """The match of `plain` at `offset` of `Source.plain`."""
    start, end = source.origin(offset), source.origin(offset + len(plain))
    same = exact and end - start == len(plain) and b"\r" not in source.data[start:end]
    return Match(start, end, None if same else ENDS)


def _but_for_last_end(source: Source, plain: bytes, new: bytes) -> Iterator[Match]:
    """Yield the matches of `plain` without its last line end.

    A match must be at the end of a file that does not end with a line end. If `plain` ends with an
    empty line, a match may be anywhere, provided that `new` also ends with an empty line or is
    empty.
    """
    if not plain.endswith(b"\n"):
        return
    doubled = plain.endswith(b"\n\n")
    if doubled and new and not with_plain_ends(new).endswith(b"\n\n"):
        return
    for at in occurrences(source.plain, plain[:-1], source.text_start):
        candidate = _in_plain(source, at, plain[:-1])
        if _begins_line(source, at) and (doubled or candidate.end == len(source.data)):
            yield replace(candidate, leniency=FINAL)


def _begins_line(source: Source, offset: int) -> bool:
    """Whether a line of `Source.plain` has only white space from its start to `offset`."""
    start = max(source.text_start, source.plain.rfind(b"\n", 0, offset) + 1)
    return not source.plain[start:offset].strip(WHITE_SPACE)


def _ignoring_trailing_space(source: Source, lines: Sequence[bytes]) -> list[Match]:
    """Matches of whole lines, ignoring white space at their ends."""
    parts = [re.escape(line.rstrip(WHITE_SPACE)) + rb"[ \t]*\n" for line in lines[:-1]]
    last = rb"[ \t]*\n" if lines[-1].endswith(b"\n") else rb"[ \t]*(?![^\n])"
    pattern = re.compile(b"".join([*parts, re.escape(lines[-1].rstrip(WHITE_SPACE)), last]))
    found: dict[int, Match] = {}
    match = pattern.search(source.plain, source.text_start)
    while match:
        if _begins_line(source, match.start()):
            candidate = Match(source.origin(match.start()), source.origin(match.end()), BLANKS)
            found.setdefault(match.end(), candidate)
        match = pattern.search(source.plain, match.start() + 1)
    return list(found.values())


def _but_for_indentation(source: Source, lines: Sequence[bytes], new: bytes) -> list[Match]:
    """Matches of whole lines whose indentation differs from the text by a single shift."""
    unmatched = [indentation(line) for line in new.splitlines() if line.strip()]
    found: list[Match] = []
    for at in source.positions_of_lines([line.strip(WHITE_SPACE) for line in lines]):
        matched = source.plain_lines(at, at + len(lines))
        pairs = [
            (indentation(line), indentation(other))
            for line, other in zip(lines, matched, strict=True)
            if line.strip()
        ]
        reindent = shift_between(pairs, unmatched, bare=True)
        if reindent is not None:
            start, end = source.plain_range(at, at + len(lines))
            whole = lines[-1].endswith(b"\n")
            ended = source.plain[end - 1 : end] == b"\n"
            end -= 1 if ended and not whole else 0
            candidate = source.origin(start), source.origin(end)
            found.append(Match(*candidate, INDENT, reindent))
    return found


def _located(source: Source, candidate: Match, old: bytes, new: bytes) -> Replacement:
    """The replacement for one match. Unchanged lines keep the bytes of the file."""
    plain_old, plain_new = with_plain_ends(old), with_plain_ends(new)
    if candidate.leniency is None and (plain_old == plain_new or (b"\r" in old and b"\r" in new)):
        # the line ends of `new` are intentional
        return Replacement(candidate.start, candidate.end, new)
    unended = not source.data[candidate.start : candidate.end].endswith((b"\n", b"\r"))
    if plain_old.endswith(b"\n") and plain_new.endswith(b"\n") and unended:
        # the matched text has no last line end, so the new text gets none
        plain_old, plain_new = plain_old[:-1], plain_new[:-1]
    elif candidate.leniency == FINAL and plain_new.endswith(b"\n\n"):
        plain_old, plain_new = plain_old[:-1], plain_new[:-1]
    lines = rewritten(
        source.end_near(candidate.start),
        source.data[candidate.start : candidate.end].splitlines(keepends=True),
        plain_old.splitlines(keepends=True),
        plain_new.splitlines(keepends=True),
        candidate.reindent,
    )
    return Replacement(candidate.start, candidate.end, b"".join(lines))


def rewritten(
    end: bytes,
    matched: Sequence[bytes],
    old: Sequence[bytes],
    new: Sequence[bytes],
    reindent: Reindent | None = None,
) -> list[bytes]:
    """Give the lines `new` the line ends of the file.

    `matched` are the lines of the file that matched the lines `old`. A line that is in both `old`
    and `new` is taken from `matched`. A line that replaces an old line gets the line end of the old
    line. An inserted line gets the line end of the line before it. If there is no such line, it
    gets `end`.
    """
    lines: list[bytes] = []
    end = next((found for line in matched if (found := line_end(line))), end)
    matched = [*matched, *[b""] * (len(old) - len(matched))]

    def write(first: int, last: int, begin: int, stop: int) -> None:
        nonlocal end
        for number, line in enumerate(new[begin:stop], first):
            content = line.rstrip(b"\n")
            mate = matched[number] if number < last else b""
            end = line_end(mate) or end
            if number < last and content == old[number].rstrip(b"\n"):
                content = mate.rstrip(b"\r\n")
            elif reindent is not None:
                content = reindent.line(content)
            lines.append(content + end if line.endswith(b"\n") else content)

    position = 0
    for first, last, begin, stop in differences(old, new):
        lines += matched[position:first]
        end = next((found for line in lines[::-1] if (found := line_end(line))), end)
        write(first, last, begin, stop)
        position = last
    return [*lines, *matched[position : len(old)]]
