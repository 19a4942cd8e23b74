"""Limits for hostile files: the parse time, the nesting, and the number of items."""

import time
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

PARSE_SECONDS = 3.0
"""The maximum processor time of one parse in seconds.

Real files of 2 MB take a tenth of this time.
"""
MAX_NESTING = 10_000
"""The maximum number of open brackets at one position.

With more than about 60,000 open brackets, parsers overflow the stack.
"""
MAX_ITEMS = 20_000
"""The maximum number of items in one file.

A file with more items is generated code, in which a search is not useful.
"""
MAX_ERROR_NODES = 10_000
"""The maximum number of child nodes of one syntax error.

The time of a query grows with the square of this number, and a query cannot be stopped.
"""
MAX_OPEN_COMMENTS = 300
"""The maximum number of unclosed comments.

For each unclosed comment, a parser searches the whole rest of the file for the end. Some parsers
take gigabytes of memory for these searches, and a search cannot be stopped.
"""
_READ_BYTES = 65_536
_STEPS = {ord(opening): 1 for opening in "([{"} | {ord(closing): -1 for closing in ")]}"}
_NOT_BRACKETS = bytes(set(range(256)) - set(_STEPS))


class TooMuchError(Exception):
    """A file exceeds a limit, so it is split by lines."""


class TooSlowError(TooMuchError):
    """A parse took too long."""


class NoGrammarError(TooMuchError):
    """The grammar of the language cannot be loaded on this machine."""


class TooBrokenError(TooMuchError):
    """One syntax error has more than `MAX_ERROR_NODES` child nodes."""


class TooManyItemsError(TooMuchError):
    """A file has more than `MAX_ITEMS` items."""


def limit_items(count: int) -> None:
    """Raise `TooManyItemsError` if one more item would exceed the limit."""
    if count >= MAX_ITEMS:
        raise TooManyItemsError


def nested_too_deep(data: bytes) -> bool:
    """Whether brackets or comments of a file exceed the limits.

    The limits are `MAX_NESTING` open brackets at one position and `MAX_OPEN_COMMENTS` unclosed
    comments.
    """
    if data.count(b"/*") - data.count(b"*/") > MAX_OPEN_COMMENTS:
        return True
    if sum(map(data.count, (b"(", b"[", b"{"))) <= MAX_NESTING:
        return False
    return (
        max(accumulate(map(_STEPS.__getitem__, data.translate(None, _NOT_BRACKETS)))) > MAX_NESTING
    )


def parse_in_time(parser: "Parser", source: bytes) -> "Tree":
    """Parse `source`.

    Raises `TooSlowError` after `PARSE_SECONDS` of this thread's processor time.
    """
    deadline = time.thread_time() + PARSE_SECONDS

    def too_late(_offset: int, _has_error: bool) -> bool:
        return time.thread_time() > deadline

    def read(offset: int, _point: object) -> bytes:
        return source[offset : offset + _READ_BYTES]

    try:
        parsed = parser.parse(read, progress_callback=too_late)
    except ValueError as error:  # a stopped parse raises only this error
        parser.reset()
        raise TooSlowError from error
    return parser.parse(source, parsed)  # the same tree, with node texts from `source`


def limit_errors(root: "Node") -> None:
    """Raise `TooBrokenError` if one syntax error has more than `MAX_ERROR_NODES` child nodes."""
    if root.has_error:
        for node in (root, *root.children):
            if node.type == "ERROR" and node.child_count > MAX_ERROR_NODES:
                raise TooBrokenError
