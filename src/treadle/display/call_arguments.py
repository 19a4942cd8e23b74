"""Writes the arguments of a tool call for a person: all of them in short, or the main one."""

import json

_KEYS = (
    "path", "file", "file_path", "canonical_path", "hint", "query", "pattern", "command", "check",
    "name", "question", "spanId", "runId",
)  # fmt: skip
"""The keys of arguments, from the most to the least important one for a person."""


def main_argument(arguments: str) -> str:
    """Return the argument by which a person recognises a call.

    `arguments` is the raw JSON text of a model. Text that is not a JSON object is returned whole.
    For a list of `edits`, the result lists their files. Otherwise it is empty if no value of the
    object is a text.
    """
    try:
        parsed = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(parsed, dict):
        return arguments
    for key in _KEYS:
        if isinstance(value := parsed.get(key), str) and value.strip():
            return value
    if isinstance(edits := parsed.get("edits"), list):
        files = [each.get("file") for each in edits if isinstance(each, dict)]
        return ", ".join(dict.fromkeys(each for each in files if isinstance(each, str)))
    return next((value for value in parsed.values() if isinstance(value, str)), "")


def short_arguments(arguments: str) -> str:
    """Return all arguments of a call as text, such as `city: Oslo, days: 3`.

    `arguments` is the raw JSON text of a model. Text that is not a JSON object is returned whole.
    Some programs record the arguments as an object with the keys `args` and `kwargs`. The values of
    `args` then come first, without names.
    """
    try:
        parsed = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(parsed, dict):
        return arguments
    values = list[object]()
    if {"args", "kwargs"} >= parsed.keys() and parsed:
        args, kwargs = parsed.get("args") or [], parsed.get("kwargs") or {}
        if isinstance(args, list) and isinstance(kwargs, dict):
            values, parsed = args, kwargs
    named = (f"{name}: {_short(value)}" for name, value in parsed.items())
    return ", ".join((*map(_short, values), *named))


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
