"""Parses untrusted TOML. Names with hundreds of parts are refused before parsing.

The parser of the standard library needs memory that grows with the square of the number of parts,
since it stores all earlier parts again for each part. A name of 80 kB takes gigabytes.
"""

import re
import tomllib
from typing import Any

MAX_PARTS = 100
"""The most parts of a dotted name. Real names have fewer than ten."""
_LONG_NAME = re.compile(
    rf"(?<![\w\"'-])(?:(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_PARTS}}}"
)


def loads(text: str) -> dict[str, Any]:
    """Parse a document.

    Raises `tomllib.TOMLDecodeError`, or `RecursionError` for deeply nested values.
    """
    if (found := _LONG_NAME.search(text)) is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise tomllib.TOMLDecodeError(
            f"A dotted name has more than {MAX_PARTS} parts (at line {line}, column 1)"
        )
    return tomllib.loads(text)
