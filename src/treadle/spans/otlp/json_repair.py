"""Repairs JSON that a parser refuses, so that only the faulty value is lost.

Two faults are repaired: bytes that are not UTF-8, and values that are nested too deeply for a
parser. A mark replaces each faulty part, so that the reader can find the affected span. The mark is
a reserved Unicode character that no text contains. A body may contain several documents in a row,
such as JSON lines.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from treadle.spans.otlp.span_collector import DEPTH_LIMIT

Pairs = list[tuple[str, Any]]

_NO_TEXT = "\ufdd0"
_TOO_DEEP = "\ufdd1"
_FAULTS = {
    _NO_TEXT: "it has a text that is not UTF-8",
    _TOO_DEEP: f"one of its attributes is nested deeper than {DEPTH_LIMIT} levels",
}
_LEVELS = 4 * (DEPTH_LIMIT + 8)
"""The maximum number of nested brackets. Each level of an attribute has up to four brackets."""

_UNDECODED = re.compile("[\udc80-\udcff]+")
_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_BETWEEN = re.compile(r"[\s\x1e\ufeff]*")
"""Matches separators of documents: white space, the RFC 7464 separator, a byte order mark."""


def parse_repaired(body: bytes, hook: Callable[[Pairs], object] | None) -> tuple[list[Any], bool]:
    """Return the documents in `body`, and whether any document was repaired.

    The list of documents is empty if `body` is not JSON.
    """
    decoded = body.decode("utf-8", "surrogateescape")
    text = _shallow(_UNDECODED.sub(_NO_TEXT, decoded))
    decoder = json.JSONDecoder(parse_int=_whole_number, object_pairs_hook=hook)
    try:
        documents = list(_documents(decoder, text))
    except (ValueError, RecursionError):
        return [], False
    return documents, any(mark in text for mark in _FAULTS)


def faults_in(value: object) -> list[str]:
    """Return the descriptions of the faults whose marks `value` contains."""
    text = json.dumps(value, ensure_ascii=False)
    return [fault for mark, fault in _FAULTS.items() if mark in text]


def without_marks(value: Any) -> Any:
    """Return `value` with the Unicode replacement character in place of each mark."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(re.sub(f"[{''.join(_FAULTS)}]", "\ufffd", text))


def _documents(decoder: json.JSONDecoder, text: str) -> Iterator[Any]:
    at = _next(text, 0)
    while at < len(text):
        value, end = decoder.raw_decode(text, at)
        yield value
        at = _next(text, end)


def _next(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _whole_number(digits: str) -> int | str:
    """Return the number. From 100 digits on, return the digits as text.

    Python refuses to convert very long numbers.
    """
    return int(digits) if len(digits) < 100 else digits


def _shallow(text: str) -> str:
    """Return `text` with a mark in place of each value that is nested too deeply."""
    parts: list[str] = []
    depth, kept_from = 0, 0
    for token in _TOKENS.finditer(text):
        bracket = token.group()
        if bracket in "[{":
            depth += 1
            if depth == _LEVELS + 1:
                parts.append(text[kept_from : token.start()])
        elif bracket in "]}":
            if depth == _LEVELS + 1:
                parts.append(f'"{_TOO_DEEP}"')
                kept_from = token.end()
            depth -= 1
    return "".join([*parts, text[kept_from:]])
