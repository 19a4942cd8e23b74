"""The errors that Python's compiler finds.

It finds what the grammar lets pass: an empty body, a wrong indentation, `return` outside of a
function. Hostile text can exhaust its stack or memory, so call it by `workers.call_apart`. Nothing
of the text is executed, and no bytecode is written.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

_MAX_BYTES = 2_000_000


class CompileError(NamedTuple):
    """The first error of the compiler, at a line from 1."""

    line: int
    message: str


def compile_errors(sources: Sequence[bytes]) -> tuple[CompileError | None, ...] | None:
    """The first error of each source; None where the compiler gives up."""
    if any(len(source) > _MAX_BYTES for source in sources):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tuple(map(_compile_error, sources))
    except (MemoryError, RecursionError):
        return None


def _compile_error(source: bytes) -> CompileError | None:
    try:
        compile(source, "<edit>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return CompileError(error.lineno or 1, str(error.msg))
    except ValueError as error:
        return CompileError(1, str(error))
    return None
