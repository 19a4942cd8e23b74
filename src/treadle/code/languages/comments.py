"""Lines above a definition: file headers, plain comments, doc comments and attributes.

A comment right above a definition may be part of the file header, such as a licence or a linter
directive. Headers are never part of an item. Doc comments and attributes are always part of the
item. Plain comments are shown with the item, and an edit of the item keeps them.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple


class CommentOrAttribute(NamedTuple):
    """A comment or an attribute in the file, at bytes `start` to `end`."""

    start: int
    end: int
    is_comment: bool


class LeadingLines(NamedTuple):
    """The lines above a definition.

    `above` lists the comments and attributes of the definition, without file headers. `own_start`
    is the start of the definition with its doc comment and attributes. `file_lines` is the byte
    range of the header lines right above the definition. This range may be empty.
    """

    above: tuple[CommentOrAttribute, ...]
    own_start: int
    file_lines: tuple[int, int]

    @property
    def start(self) -> int:
        """The start of the plain comments, or of the definition if there are no plain comments."""
        return min(self.own_start, self.above[0].start) if self.above else self.own_start


_LICENCE = re.compile(
    rb"copyright|\xc2\xa9|\(c\)\s*\d{4}|licen[sc]e|SPDX|all rights reserved|@preserve"
    rb"|public domain|@generated|do not (?:edit|modify)|(?:auto|code)[- ]?generated"
    rb"|generated (?:by|from|with)|istanbul ignore file|type:\s*ignore|shellcheck\s|mypy:\s"
    rb"|eslint-env|pyright:\s*(?:strict|basic|standard)|@(?:ts-|jest-|jsx|flow|noflow|format\b)",
    re.IGNORECASE,
)
"""Words that mark a comment at the top of a file as its header."""
_PRAGMA = re.compile(
    rb"eslint-(?:disable|enable)(?!-(?:next-)?line)|@ts-(?:no)?check|^\W*(?:js|jsh|es)lint\b"
    rb"|^\W*globals?\s+\w+|^\W*exported\s|prettier-ignore-(?:start|end)"
    rb"|pylint:\s*(?:disable|enable|skip-file)(?!-next)|(?:flake8|ruff):\s*noqa"
    rb"|fmt:\s*(?:off|on)\b|isort:\s*(?:skip_file|off|on|split)|yapf:\s*(?:disable|enable)"
    rb"|-\*-.*-\*-|^\W*(?:vim?|ex):\s|frozen_string_literal:|^\W*typed:\s*\w+\s*$"
    rb"|rubocop:(?:disable|enable)|swiftlint:(?:disable|enable)(?!:)|clang-format\s+(?:off|on)"
    rb"|NOLINT(?:BEGIN|END)|@formatter:|ktlint-disable|^\W*(?:end)?region\b|^\W*MARK:"
    rb"|^//go:build\b|^//\s*\+build\b|phpcs:(?:disable|enable|ignoreFile)",
    re.MULTILINE,
)
"""Directives of linters, formatters and editors for all lines below.

A comment with such a directive counts as a header at any position in a file.
"""
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")
_FAMILIES = ((b"//", b"/*"), (b"#",), (b"--", b"{-"), (b"(*",), (b";",), (b"%",))
"""Comment markers, grouped by the languages that use them together."""
_MARKER = re.compile(rb"/{2,}!?|#+|-{2,}|;+|%+")
_DOC = re.compile(rb"///(?!/)|//!|/\*\*(?![*/])|/\*!|//go:|---(?!-)|--\s*\||\{-\s*\|")
_SEARCHED = 4_000
"""The maximum number of bytes of a comment that are searched for the words of a header.

The first lines of a licence identify it.
"""


def leading(
    source: bytes, leading_parts: Sequence[CommentOrAttribute], start: int, top: int
) -> LeadingLines:
    """Separate file headers from the lines that belong to the definition at `start`.

    `leading_parts` are the comments and attributes right above the definition. `top` is the end of
    the comments at the top of the file.
    """
    cut = 0
    for index, part in enumerate(leading_parts):
        if index >= cut and part.is_comment:
            cut = _header_end(source, leading_parts, index, top) or cut
    above = tuple(leading_parts[cut:])
    own = next((part.start for part in above if _belongs(source, part)), start)
    return LeadingLines(
        above, own, (leading_parts[0].start, leading_parts[cut - 1].end) if cut else (start, start)
    )


def is_doc_comment(comment: bytes) -> bool:
    """Whether a comment has the form of a doc comment."""
    return _DOC.match(comment) is not None


def is_plain_comment(code: bytes, markers: Sequence[bytes]) -> bool:
    """Whether `code` begins with a plain comment that starts with one of the `markers`."""
    attribute = code.startswith((b"#[", b"#!"))
    return code.startswith(tuple(markers)) and not attribute and not is_doc_comment(code)


def comment_markers(comment: bytes) -> tuple[bytes, ...]:
    """Return the comment markers of the language in which `comment` is written."""
    return next((each for each in _FAMILIES if comment.startswith(each)), (comment[:2],))


def _belongs(source: bytes, part: CommentOrAttribute) -> bool:
    return not part.is_comment or is_doc_comment(source[part.start : part.end])


def _header_end(
    source: bytes, leading_parts: Sequence[CommentOrAttribute], index: int, top: int
) -> int:
    """Return the end of the file header that contains the comment at `index`.

    The end is the position in `leading_parts` after the header. The result is 0 if the comment is
    not in a header. A licence in line comments includes all following comments with the same
    marker.
    """
    part = leading_parts[index]
    text = source[part.start : min(part.end, part.start + _SEARCHED)]
    if _PRAGMA.search(text) or _first_lines(source, part, text):
        return index + 1
    if part.start >= top or not _LICENCE.search(text):
        return 0
    marker = _MARKER.match(text)
    if marker is not None:
        while index + 1 < len(leading_parts) and _same_marker(
            source, leading_parts[index + 1], marker.group()
        ):
            index += 1
    return index + 1


def _first_lines(source: bytes, part: CommentOrAttribute, text: bytes) -> bool:
    """Whether a comment in the first lines names the interpreter or the encoding of its file."""
    if source.count(b"\n", 0, part.start) > 1:
        return False
    return text.startswith(b"#!") or _CODING.match(text) is not None


def _same_marker(source: bytes, part: CommentOrAttribute, marker: bytes) -> bool:
    found = _MARKER.match(source[part.start : part.end]) if part.is_comment else None
    return found is not None and found.group() == marker


_BEFORE_CODE = re.compile(rb"\xef\xbb\xbf|#!(?!\[)[^\n]*|<\?php\b|[\"']use strict[\"'];?|\s+")


def top_of_file(source: bytes, comments: Sequence[tuple[int, int]]) -> int:
    """Return the end of the comments at the top of the file, before the first code.

    `comments` are the ranges of all comments, in order.
    """
    position = 0
    rest = iter(comments)
    following = next(rest, None)
    while position < len(source):
        while following is not None and following[1] <= position:
            following = next(rest, None)
        if following is not None and following[0] <= position:
            position = following[1]
        elif (found := _BEFORE_CODE.match(source, position)) is not None:
            position = found.end()
        else:
            break
    return position
