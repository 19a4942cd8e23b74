"""The user's redaction rules, which keep JSON in text valid."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re2  # type: ignore[import-untyped]  # it brings no types

_JSON_VALUE = re.compile(r'"(?:[^"\\]++|\\.)*+"|-?\d[\d.eE+-]*+')
"""Matches a string or a number in JSON. The characters between them need no redaction."""


def compile_pattern(pattern: str) -> "re2._Regexp[str]":
    """Return `pattern` compiled by RE2. Raises ValueError with the reason if it is not valid."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(reason) from error


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern in the syntax of RE2, and the literal replacement of its matches."""

    name: str
    pattern: str
    replacement: str | None = None
    """The text that replaces a match. None means `[redacted:NAME]`."""
    _compiled: "re2._Regexp[str]" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise ValueError for a pattern that is not valid in RE2."""
        object.__setattr__(self, "_compiled", compile_pattern(self.pattern))

    @property
    def mark(self) -> str:
        """The replacement of a match."""
        return f"[redacted:{self.name}]" if self.replacement is None else self.replacement

    def apply(self, text: str, found: Callable[[str], bool]) -> str:
        """Replace the matches in `text` for which `found` returns true."""
        if not _encodable(text):
            return "".join(
                part if _is_surrogate(part) else self.apply(part, found)
                for part in re.split("([\ud800-\udfff])", text)
            )
        if text[:1] in {"{", "["} and _is_json(text):
            return _JSON_VALUE.sub(lambda value: self._apply_to_json(value[0], found), text)
        return self._apply(text, found)

    def _apply(self, text: str, found: Callable[[str], bool]) -> str:
        if self._compiled.search(text) is None:
            return text

        def replace(match: "re2._Match[str]") -> str:
            return self.mark if match[0] and found(match[0]) else match[0]

        return str(self._compiled.sub(replace, str(text)))  # RE2 requires the exact type str

    def _apply_to_json(self, value: str, found: Callable[[str], bool]) -> str:
        if value[0] != '"':
            changed = self._apply(value, found)
            return value if changed == value else json.dumps(changed)
        inside = json.loads(value, strict=False)
        changed = self.apply(inside, found)
        return value if changed == inside else json.dumps(changed)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_surrogate(text: str) -> bool:
    return len(text) == 1 and "\ud800" <= text <= "\udfff"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
