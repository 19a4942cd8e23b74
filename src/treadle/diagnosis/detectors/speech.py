"""What a result says in words: all of it, or the parts of JSON that are meant for reading."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from treadle.diagnosis.field_paths import parsed, step

_PRINTED = ("stdout", "stderr", "output")
_SPOKEN = ("stdout", "stderr", "output", "message", "msg", "text", "result", "content", "response")


_GOOD_FLAGS = ("ok", "success", "succeeded", "successful")
_DEEPEST = 2
_FEW = 3
_MOST_ELEMENTS = 100


def texts(text: str, path: str) -> Iterator[tuple[str, str]]:
    """Path and text of what a result says in words: all of it, or parts of a JSON result."""
    if text.lstrip()[:1] not in ("{", "["):
        yield path, text
        return
    try:
        value = parsed(text)
    except ValueError:
        yield path, text
        return
    yield from _words(value, path, depth=0)


def _words(value: object, path: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for number, part in enumerate(value[:_MOST_ELEMENTS]):
            # Of a list only blocks of content speak; anything else is data.
            if isinstance(part, Mapping) and part.get("type") == "text":
                words = part.get("text")
                if isinstance(words, str):
                    yield from _spoken(words, step(step(path, number), "text"), depth)
    elif isinstance(value, Mapping) and depth < _DEEPEST:
        good = any(value.get(flag) is True for flag in _GOOD_FLAGS)
        wrapped = [key for key in value if len(value) <= _FEW and isinstance(value[key], Mapping)]
        for key in dict.fromkeys((*(_PRINTED if good else _SPOKEN), *wrapped)):
            inner = value.get(key)
            if isinstance(inner, str):
                yield from _spoken(inner, step(path, key), depth)
            elif isinstance(inner, Mapping | list):
                yield from _words(inner, step(path, key), depth + 1)


def _spoken(words: str, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """A text, or what it says if it is JSON itself."""
    inner: object = None
    if words.lstrip()[:1] in ("{", "["):
        with suppress(ValueError):
            inner = parsed(words)
    if isinstance(inner, Mapping | list):
        yield from _words(inner, path, depth + 1)
    else:
        yield path, words
