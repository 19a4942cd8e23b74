"""What a hostile file may cost: the time of a parse, its nesting, and how many items it gives."""

import time
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

PARSE_SECONDS = 3.0
"""Processor time for one parse; real files of 2 MB take a tenth of it."""
MAX_NESTING = 10_000
"""Open brackets at one place; parsers overflow the stack from about 60,000."""
MAX_ITEMS = 20_000
"""Of one file; more are generated code, of which each item says nothing."""
MAX_ERROR_NODES = 10_000
"""In one error of the syntax; matching queries is quadratic in them, and nothing can stop it."""
MAX_OPEN_COMMENTS = 300
"""Comments that begin and never end: parsers look for the end of each, all through the file, and
some take gigabytes of memory over it, in steps that nothing can stop."""
_READ_BYTES = 65_536
_STEPS = {ord(opening): 1 for opening in "([{"} | {ord(closing): -1 for closing in ")]}"}
_OTHERS = bytes(set(range(256)) - set(_STEPS))


class TooMuchError(Exception):
    """A file asks for more than it may have; it is split by lines instead."""


class TooSlowError(TooMuchError):
    """A parse took longer than its time."""


class NoGrammarError(TooMuchError):
    """The grammar of its language cannot be loaded on this machine."""


class TooBrokenError(TooMuchError):
    """A file has next to nothing that its language knows."""


class TooManyItemsError(TooMuchError):
    """A file has more than `MAX_ITEMS`."""


def limit_items(count: int) -> None:
    """Raise `TooManyItemsError` if there are too many to take one more."""
    if count >= MAX_ITEMS:
        raise TooManyItemsError


def nested_too_deep(data: bytes) -> bool:
    """Whether more than `MAX_NESTING` brackets are open at some place, or too many comments."""
    if data.count(b"/*") - data.count(b"*/") > MAX_OPEN_COMMENTS:
        return True
    if sum(map(data.count, (b"(", b"[", b"{"))) <= MAX_NESTING:
        return False
    return max(accumulate(map(_STEPS.__getitem__, data.translate(None, _OTHERS)))) > MAX_NESTING


def parse_in_time(parser: "Parser", source: bytes) -> "Tree":
    """Parse `source`; raises `TooSlowError` after `PARSE_SECONDS` of this thread's time."""
    deadline = time.thread_time() + PARSE_SECONDS

    def too_late(_offset: int, _has_error: bool) -> bool:
        return time.thread_time() > deadline

    def read(offset: int, _point: object) -> bytes:
        return source[offset : offset + _READ_BYTES]

    try:
        parsed = parser.parse(read, progress_callback=too_late)
    except ValueError as error:  # all that is said of a parse that was stopped
        parser.reset()
        raise TooSlowError from error
    return parser.parse(source, parsed)  # the same tree, whose nodes take their text from `source`


def limit_errors(root: "Node") -> None:
    """Raise `TooBrokenError` if the grammar made nothing of most of the text."""
    if root.has_error:
        for node in (root, *root.children):
            if node.type == "ERROR" and node.child_count > MAX_ERROR_NODES:
                raise TooBrokenError
