"""JSON that cannot be parsed as it is, mended so far that what is wrong costs one span alone.

Two faults can be: bytes that are no UTF-8, and values nested deeper than a parser can follow.
Each leaves a mark in its place, a character that Unicode reserves and no text has, so that the
span which holds it is told from the others.
"""

import json
import re
from typing import Any

from treadle.traces.otlp.building import DEPTH_LIMIT, SpanFaultError

_NO_TEXT = "\ufdd0"
_TOO_DEEP = "\ufdd1"
_FAULTS = {
    _NO_TEXT: "it has a text that is no UTF-8",
    _TOO_DEEP: f"one of its attributes is nested deeper than {DEPTH_LIMIT} levels",
}
_LEVELS = 4 * (DEPTH_LIMIT + 8)
"""Brackets around the innermost allowed value: each level of an attribute has up to four."""

_UNDECODED = re.compile("[\udc80-\udcff]+")
_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def parse_mended(body: bytes) -> Any:
    """The value of `body` with marks in place of what is wrong; None when it is no JSON."""
    text = _UNDECODED.sub(_NO_TEXT, body.decode("utf-8", "surrogateescape"))
    try:
        return json.loads(_shallow(text), parse_int=_whole_number)
    except (ValueError, RecursionError):
        return None


def check_whole(value: object) -> None:
    """Raise SpanFaultError when something had to be mended in there."""
    text = json.dumps(value, ensure_ascii=False)
    for mark, fault in _FAULTS.items():
        if mark in text:
            raise SpanFaultError(fault)


def mended(value: Any) -> Any:
    """`value` with readable signs in place of the marks."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(re.sub(f"[{''.join(_FAULTS)}]", "\ufffd", text))


def _whole_number(digits: str) -> int | str:
    """Numbers of thousands of digits stay text: Python refuses to read them."""
    return int(digits) if len(digits) < 100 else digits


def _shallow(text: str) -> str:
    """`text` with a mark for each value that is nested too deeply."""
    pieces: list[str] = []
    depth, kept_from = 0, 0
    for token in _TOKENS.finditer(text):
        sign = token.group()
        if sign in "[{":
            depth += 1
            if depth == _LEVELS + 1:
                pieces.append(text[kept_from : token.start()])
        elif sign in "]}":
            if depth == _LEVELS + 1:
                pieces.append(f'"{_TOO_DEEP}"')
                kept_from = token.end()
            depth -= 1
    return "".join([*pieces, text[kept_from:]])
