"""Converts exceptions of tools to failures, and failures to the text of tool messages."""

import errno
import json
from dataclasses import replace

from treadle.errors import (
    ConfigError,
    NotFoundError,
    PathRefusedError,
    StoreError,
    TreadleError,
    UsageError,
)
from treadle.events.types import Effect, ErrorKind, ToolFailure
from treadle.tools.contract import AnyTool, ToolEffect, ToolError

_KINDS: tuple[tuple[type[Exception], ErrorKind], ...] = (
    (ConfigError, ErrorKind.UNAVAILABLE),
    (PathRefusedError, ErrorKind.PERMISSION),
    (NotFoundError, ErrorKind.NOT_FOUND),
    (StoreError, ErrorKind.UNAVAILABLE),
    (UsageError, ErrorKind.VALIDATION),
    (FileNotFoundError, ErrorKind.NOT_FOUND),
    (PermissionError, ErrorKind.PERMISSION),
    (NotADirectoryError, ErrorKind.NOT_FOUND),
    (IsADirectoryError, ErrorKind.VALIDATION),
    (FileExistsError, ErrorKind.CONFLICT),
    (TimeoutError, ErrorKind.TIMEOUT),
    (TreadleError, ErrorKind.UNAVAILABLE),
    (UnicodeError, ErrorKind.VALIDATION),
    (OverflowError, ErrorKind.VALIDATION),
    (RecursionError, ErrorKind.LIMIT),
)
_NOT_A_NAME = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ})
"""Error numbers of the operating system for a path that no file can have."""


def kind_of(error: Exception) -> ErrorKind:
    """Return the kind of the failure `error`. INTERNAL means a fault in the program."""
    own = getattr(error, "kind", None)
    if isinstance(own, ErrorKind):
        return own
    for of, kind in _KINDS:
        if isinstance(error, of):
            return kind
    if isinstance(error, OSError) and error.errno is not None:
        return ErrorKind.VALIDATION if error.errno in _NOT_A_NAME else ErrorKind.UNAVAILABLE
    return ErrorKind.INTERNAL


SHOWN_CHARACTERS = 1_000
"""The maximum length in characters of each text of a failure.

The limit is needed because a failure may quote long arguments.
"""


def failure_content(failure: ToolFailure) -> str:
    """Return the text of the tool message for `failure`: one compact JSON object.

    Its keys are ok, error and kind, then field, expected, received and hint if they are known, and
    then effect (none, applied or unknown).
    """
    optional = {
        "field": failure.field,
        "expected": failure.expected,
        "received": failure.received,
        "hint": failure.hint,
    }
    shown = {
        "ok": False,
        "error": failure.message,
        "kind": failure.kind.value,
        **{name: text for name, text in optional.items() if text is not None},
        "effect": failure.effect.value,
    }
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be sent


def failure_kind(content: str) -> ErrorKind | None:
    """Return the kind of the failure in a text of `failure_content`, or None for another text."""
    try:
        parsed = json.loads(content)
        return ErrorKind(parsed["kind"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def failure_of(tool: AnyTool, error: Exception) -> ToolFailure:
    """Return the failure for an exception of `tool`, with short texts and without a traceback."""
    failure = _failure_of(tool, error)
    return replace(
        failure,
        message=_cut(failure.message),
        field=failure.field and _cut(failure.field),
        expected=failure.expected and _cut(failure.expected),
        received=failure.received and _cut(failure.received),
        hint=failure.hint and _cut(failure.hint),
    )


def _cut(text: str) -> str:
    """Remove the middle of a long text. Its beginning and its end are the most useful parts."""
    half = SHOWN_CHARACTERS // 2
    return text if len(text) <= 2 * half else f"{text[:half]}…{text[-half:]}"


def _failure_of(tool: AnyTool, error: Exception) -> ToolFailure:
    if isinstance(error, ToolError):
        return error.failure
    refused = isinstance(error, PathRefusedError)  # tools raise this before they change anything
    effect = Effect.NONE if refused else effect_of_unfinished(tool)
    kind = kind_of(error)
    if isinstance(error, TreadleError):
        return ToolFailure(kind, error.message, hint=error.hint, effect=effect)
    what = " ".join(str(error).split())[:200]
    named = f"{type(error).__name__}: {what}" if what else type(error).__name__
    return ToolFailure(kind, f"{tool.name} failed: {named}", effect=effect)


def effect_of_unfinished(tool: AnyTool | None) -> Effect:
    """Return the effect of a call without a result.

    It is none if the tool only reads, and otherwise unknown.
    """
    reads = tool is None or tool.effect is ToolEffect.READ
    return Effect.NONE if reads else Effect.UNKNOWN


def unknown_tool(name: str, available: tuple[str, ...]) -> ToolFailure:
    """Return the failure of a call of a tool that does not exist.

    The failure lists the existing tools.
    """
    return ToolFailure(
        ErrorKind.UNKNOWN_TOOL,
        f"There is no tool named {name[:100]!r}.",
        received=name[:100],
        hint=f"The tools are: {', '.join(available)}." if available else "No tools are available.",
    )


def no_front_end(name: str) -> ToolFailure:
    """Return the failure of a call of an external tool when no front end is connected."""
    return ToolFailure(
        ErrorKind.UNAVAILABLE,
        f"A front end runs the tool {name}, and none is connected.",
        hint="Continue without it, or ask the person to open the front end.",
    )
