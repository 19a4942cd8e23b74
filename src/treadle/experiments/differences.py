"""Compares two outputs: their lines, their JSON values and their tool calls."""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from treadle.experiments.model import Outcome, ToolUse

_LINES = 400
"""The maximum number of lines of each text that are compared.

The time of a comparison is proportional to the product of both numbers of lines.
"""
_DIFF_LINES = 60
_CHANGES = 40
_CHARACTERS = 20_000
"""The maximum number of characters of each text that are compared for the similarity."""

_MISSING = object()


@dataclass(frozen=True, slots=True)
class TextDifference:
    """The difference of two texts. `similarity` is from 0 to 1, and `diff` is a unified diff.

    `cut` states whether the diff is incomplete.
    """

    same: bool
    similarity: float
    diff: str
    cut: bool


@dataclass(frozen=True, slots=True)
class JsonChange:
    """A different JSON value at a `path` such as `items[0].name`.

    `base` and `new` are the values as JSON text. A missing value is None.
    """

    path: str
    change: Literal["added", "removed", "changed"]
    base: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class CallDifference:
    """A tool call that only one output has, or that has different arguments in both outputs.

    `base` and `new` are the arguments in the two outputs. For an output without the call, they are
    None.
    """

    name: str
    change: Literal["added", "removed", "arguments"]
    base: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """The difference of two outputs. `json` is None unless both are JSON objects or lists."""

    text: TextDifference
    json: tuple[JsonChange, ...] | None
    tool_calls: tuple[CallDifference, ...]

    @property
    def same(self) -> bool:
        """Whether the texts and the tool calls are equal."""
        return self.text.same and not self.tool_calls


def output_difference(base: Outcome, new: Outcome) -> OutputDifference:
    """Compare the texts and tool calls of two outcomes."""
    one, other = base.content or "", new.content or ""
    return OutputDifference(
        text_difference(one, other),
        json_changes(one, other),
        call_differences(base.tool_calls, new.tool_calls),
    )


def text_difference(base: str, new: str) -> TextDifference:
    """Compare two texts.

    The unified diff is limited in length, and the similarity compares words.
    """
    if base == new:
        return TextDifference(True, 1.0, "", cut=False)
    before, after = base.splitlines(), new.splitlines()
    lines = list(
        difflib.unified_diff(before[:_LINES], after[:_LINES], "base", "new", lineterm="", n=2)
    )
    words = difflib.SequenceMatcher(
        None, base[:_CHARACTERS].split(), new[:_CHARACTERS].split(), autojunk=False
    )
    cut = len(lines) > _DIFF_LINES or max(len(before), len(after)) > _LINES
    return TextDifference(False, round(words.ratio(), 4), "\n".join(lines[:_DIFF_LINES]), cut=cut)


def json_changes(base: str, new: str) -> tuple[JsonChange, ...] | None:
    """The first 40 differences of two JSON texts.

    The result is None if one of the texts is not a JSON object or list.
    """
    one, other = _structure(base), _structure(new)
    if one is None or other is None:
        return None
    changes = []
    for change in _changes("", one, other):
        changes.append(change)
        if len(changes) == _CHANGES:
            break
    return tuple(changes)


def call_differences(base: Sequence[ToolUse], new: Sequence[ToolUse]) -> tuple[CallDifference, ...]:
    """The differing tool calls in order. Arguments that are JSON are compared as JSON."""
    before = [(use.name, _canonical(use.arguments)) for use in base]
    after = [(use.name, _canonical(use.arguments)) for use in new]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    found: list[CallDifference] = []
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag != "equal":
            found += _calls_between(list(base[first:last]), list(new[start:end]))
    return tuple(found)


def _calls_between(base: list[ToolUse], new: list[ToolUse]) -> Iterator[CallDifference]:
    """Report two calls of the same tool as one call with different arguments."""
    for use in base:
        other = next((each for each in new if each.name == use.name), None)
        if other is None:
            yield CallDifference(use.name, "removed", use.arguments, None)
        else:
            new.remove(other)
            yield CallDifference(use.name, "arguments", use.arguments, other.arguments)
    for use in new:
        yield CallDifference(use.name, "added", None, use.arguments)


def _structure(text: str) -> Any:
    """The JSON object or list in a text, with or without a Markdown code fence around it.

    The result is None for other text.
    """
    bare = text.strip()
    if bare.startswith("```") and bare.endswith("```"):
        bare = bare.removesuffix("```").partition("\n")[2].strip()
    if bare[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(bare)
    except (ValueError, RecursionError):
        return None


def _changes(path: str, base: Any, new: Any) -> Iterator[JsonChange]:
    if isinstance(base, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys([*base, *new]):
            inner = f"{path}.{name}" if path else str(name)
            yield from _changes(inner, base.get(name, _MISSING), new.get(name, _MISSING))
    elif isinstance(base, list) and isinstance(new, list):
        for index in range(max(len(base), len(new))):
            one = base[index] if index < len(base) else _MISSING
            other = new[index] if index < len(new) else _MISSING
            yield from _changes(f"{path}[{index}]", one, other)
    elif base is _MISSING:
        yield JsonChange(path, "added", None, _short(new))
    elif new is _MISSING:
        yield JsonChange(path, "removed", _short(base), None)
    elif base != new or type(base) is not type(new):
        yield JsonChange(path, "changed", _short(base), _short(new))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
