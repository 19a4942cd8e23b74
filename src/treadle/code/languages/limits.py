"""Limits for hostile files: the time of a parse, its nesting, and the number of items."""

import time
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

PARSE_SECONDS = 3.0
"""Processor time of one parse; real files of 2 MB take a tenth of it."""
MAX_NESTING = 10_000
"""Most open brackets at one position; parsers overflow the stack from about 60,000."""
MAX_ITEMS = 20_000
"""Most items of one file; more are generated code, whose items say nothing."""
MAX_ERROR_NODES = 10_000
"""Most nodes in one syntax error; matching queries is quadratic in them and cannot be stopped."""
MAX_OPEN_COMMENTS = 300
"""Most unclosed comments: parsers search the whole file for each end, and some take gigabytes of
memory in steps that cannot be stopped."""
_READ_BYTES = 65_536
_STEPS = {ord(opening): 1 for opening in "([{"} | {ord(closing): -1 for closing in ")]}"}
_NOT_BRACKETS = bytes(set(range(256)) - set(_STEPS))


class TooMuchError(Exception):
    """A file exceeds a limit; it is split by lines instead."""


class TooSlowError(TooMuchError):
    """A parse exceeded its time."""


class NoGrammarError(TooMuchError):
    """The grammar of the language cannot be loaded on this machine."""


class TooBrokenError(TooMuchError):
    """Nearly the whole file is one syntax error."""


class TooManyItemsError(TooMuchError):
    """A file has more than `MAX_ITEMS`."""


def limit_items(count: int) -> None:
    """Raise `TooManyItemsError` if one more item exceeds the limit."""
    if count >= MAX_ITEMS:
        raise TooManyItemsError


def nested_too_deep(data: bytes) -> bool:
    """Whether more than `MAX_NESTING` brackets are open at some position, or too many comments."""
    if data.count(b"/*") - data.count(b"*/") > MAX_OPEN_COMMENTS:
        return True
    if sum(map(data.count, (b"(", b"[", b"{"))) <= MAX_NESTING:
        return False
    return (
        max(accumulate(map(_STEPS.__getitem__, data.translate(None, _NOT_BRACKETS)))) > MAX_NESTING
    )


def parse_in_time(parser: "Parser", source: bytes) -> "Tree":
    """Parse `source`; raises `TooSlowError` after `PARSE_SECONDS` of this thread's time."""
    deadline = time.thread_time() + PARSE_SECONDS

    def too_late(_offset: int, _has_error: bool) -> bool:
        return time.thread_time() > deadline

    def read(offset: int, _point: object) -> bytes:
        return source[offset : offset + _READ_BYTES]

    try:
        parsed = parser.parse(read, progress_callback=too_late)
    except ValueError as error:  # the only report of a stopped parse
        parser.reset()
        raise TooSlowError from error
    return parser.parse(source, parsed)  # the same tree, whose nodes take their text from `source`


def limit_errors(root: "Node") -> None:
    """Raise `TooBrokenError` if most of the text is a syntax error."""
    if root.has_error:
        for node in (root, *root.children):
            if node.type == "ERROR" and node.child_count > MAX_ERROR_NODES:
                raise TooBrokenError
