"""A person's own rules of what is a secret, applied so that JSON in text stays JSON."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re2  # type: ignore[import-untyped]  # it brings no types

_JSON_VALUE = re.compile(r'"(?:[^"\\]++|\\.)*+"|-?\d[\d.eE+-]*+')
"""A string or a number of JSON; what stands between them holds nothing to redact."""


def compile_pattern(pattern: str) -> "re2._Regexp[str]":
    """`pattern` for RE2. Raises ValueError, which says what is wrong with it."""
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
    """What matches `pattern`, in RE2's syntax, is replaced by `replacement`, taken literally."""

    name: str
    pattern: str
    replacement: str | None = None
    """Without one, `[redacted:NAME]`."""
    _compiled: "re2._Regexp[str]" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raise ValueError for a pattern that RE2 does not take."""
        object.__setattr__(self, "_compiled", compile_pattern(self.pattern))

    @property
    def mark(self) -> str:
        """What stands in the place of a match."""
        return f"[redacted:{self.name}]" if self.replacement is None else self.replacement

    def apply(self, text: str, found: Callable[[str], bool]) -> str:
        """`text` without what the rule matches and `found`, asked about each match, lets go."""
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

        return str(self._compiled.sub(replace, str(text)))  # RE2 makes another of its very type

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
