"""Parses TOML of other authors: names with hundreds of parts are refused before parsing.

The parser of the standard library keeps each part of a dotted name with all parts before it, so
that a name of 80 kB takes gigabytes.
"""

import re
import tomllib
from typing import Any

MAX_PARTS = 100
"""The most parts of a dotted name; real ones have fewer than ten."""
_LONG_NAME = re.compile(
    rf"(?<![\w\"'-])(?:(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_PARTS}}}"
)


def loads(text: str) -> dict[str, Any]:
    """The document. Raises `tomllib.TOMLDecodeError`, and `RecursionError` for deep values."""
    if (found := _LONG_NAME.search(text)) is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise tomllib.TOMLDecodeError(
            f"A dotted name has more than {MAX_PARTS} parts (at line {line}, column 1)"
        )
    return tomllib.loads(text)
