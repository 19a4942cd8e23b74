"""Paths into a span, and the text at a path. Evidence states its position by a path.

A path begins with a field of the span and continues with `.name`, `["any name"]` or `[index]`. A
step into a text parses the text as JSON. For example, `output[0].content` is the text of the first
message of a model's reply, and `output.error` is the error in a tool's JSON result. Names of
attributes contain dots. Therefore everything after `attributes.` or `resource.`, up to the next
bracket, is one name.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from treadle.spans.span import Span

_NAME = re.compile(r"[A-Za-z_$][\w$-]*+")
_DOTTED = re.compile(r"[^\s\[\]\"\\.][^\s\[\]\"\\]*+")
_INDEX = re.compile(r"\[(\d{1,9})\]")
_FLAT = re.compile(r"(?:(?:events|links)\[\d{1,9}\]\.)?(?:attributes|resource)")
"""Matches the path of a mapping whose keys may contain dots."""


def step(path: str, key: str | int) -> str:
    """Return `path` with `key` appended."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    flat = _FLAT.match(path)
    if flat is not None and flat.end() == len(path) and _DOTTED.fullmatch(key):
        return f"{path}.{key}"
    if _NAME.fullmatch(key) and (flat is None or path[flat.end() : flat.end() + 1] not in "[."):
        return f"{path}.{key}"
    return f"{path}[{json.dumps(key)}]"


def text_at(span: Span, path: str) -> str | None:
    """Return the text at `path`, or another value as compact JSON.

    The result is None if there is no value.
    """
    try:
        steps = tuple(_steps(path))
    except ValueError:
        return None
    value: object = span
    for key in steps:
        try:
            value = _inside(value, key)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError, RecursionError):
            return None
    return as_text(value)


def as_text(value: object) -> str | None:
    """Return the text that evidence quotes for a value, or None for a missing value."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


@lru_cache(maxsize=4)  # the readers of one span parse the same texts repeatedly
def parsed(text: str) -> object:
    """Parse JSON text. Callers must not change the result.

    Raises ValueError if the text is not JSON or is nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _inside(value: object, key: str | int) -> object:
    if isinstance(value, str):
        value = parsed(value)
    if isinstance(key, int):
        if isinstance(value, Sequence):
            return value[key]
    elif isinstance(value, Mapping):
        return value[key]
    elif not isinstance(value, Sequence) and not key.startswith("_"):
        return getattr(value, key)
    raise KeyError(key)


def _steps(path: str) -> Iterator[str | int]:
    """Yield the keys of a path. Raises ValueError for an invalid path."""
    flat = _FLAT.match(path)
    position = 0
    while position < len(path):
        if (index := _INDEX.match(path, position)) is not None:
            position = index.end()
            yield int(index[1])
        elif path.startswith('["', position):
            key, position = json.JSONDecoder().raw_decode(path, position + 1)
            if not path.startswith("]", position):
                raise ValueError(path)
            position += 1
            yield str(key)
        else:
            if position and path[position] != ".":
                raise ValueError(path)
            verbatim = flat is not None and position == flat.end()
            name = (_DOTTED if verbatim else _NAME).match(path, position + bool(position))
            if name is None:
                raise ValueError(path)
            position = name.end()
            yield name[0]
