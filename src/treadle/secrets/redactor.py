"""Removes secrets from text: registered values, rule matches, and values shaped like secrets."""

import base64
import json
import re
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from types import MappingProxyType
from urllib.parse import quote

from treadle.secrets.detector import Finding
from treadle.secrets.escapes import UnescapedText, has_escapes, in_base64, unescaped
from treadle.secrets.rules import Rule, compile_pattern
from treadle.secrets.screen import detectors_for, first_suspect, holds_base64, suspected

_REGISTERED_MINIMUM = 6
_REGISTERED = "registered"
_MAX_ROUNDS = 4
_MAX_NESTED = 3
"""The most levels of base64 within base64 that are searched."""
_ESCAPED_REACH = 4_400
"""An escaped secret that begins in a window ends at most this many characters after the window.

A window is a part of a text in which a secret may begin.
"""
_LONG_REACH = 16_384
"""The same limit, for a secret that extends beyond `_ESCAPED_REACH`."""
_BASE64_MINIMUM = 12
"""The minimum number of base64 characters by which a registered value is recognised.

Shorter sequences of characters occur in base64 of any data.
"""
_URL_SAFE = str.maketrans("+/", "-_")
_PLACEHOLDERS = frozenset(
    {
        "ollama",
        "lm-studio",
        "not-needed",
        "no-key",
        "no-key-required",
        "sk-no-key-required",
        "dummy",
    }
)
"""Keys that people set for local servers, which need no key.

In other text, these values are ordinary words.
"""

_NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Rules:
    """The user's rules, and RE2 patterns of secrets that are never redacted.

    A pattern must match the whole secret.
    """

    rules: tuple[Rule, ...] = ()
    allowed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for a pattern that is not valid in RE2."""
        for pattern in self.allowed:
            compile_pattern(pattern)

    def allow(self, secret: str) -> bool:
        """Whether a pattern in `allowed` exempts a secret from redaction."""
        return any(compile_pattern(pattern).fullmatch(secret) for pattern in self.allowed)


_lock = threading.Lock()
_registered: tuple[str, ...] = ()
_rules = Rules()


def register(value: str) -> None:
    """Make `redact` remove this exact secret, such as a configured key, in the whole process.

    Its spellings within JSON text, base64, hex and URLs are removed too. Values under 6 characters
    and well-known placeholders of local servers are ignored, because they occur in ordinary text.
    """
    global _registered
    value = value.strip()
    if len(value) < _REGISTERED_MINIMUM or value.lower() in _PLACEHOLDERS:
        return
    with _lock:
        _registered = _longest_first({*_registered, *_spellings(value)})


def remove_value(text: str, value: str) -> str:
    """Remove this secret from `text`, in all the spellings that `register` covers."""
    if len(value) < _REGISTERED_MINIMUM:
        return text
    for spelling in _longest_first(_spellings(value)):
        text = text.replace(spelling, f"[redacted:{_REGISTERED}]")
    return text


def _spellings(value: str) -> set[str]:
    encoded = value.encode("utf-8", "surrogatepass")
    return {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(encoded, safe=""),
        encoded.hex(),
        encoded.hex().upper(),
        *_within_base64(encoded),
    }


def _longest_first(texts: Iterable[str]) -> tuple[str, ...]:
    """Sort the texts, the longest first, so that no part of a longer key remains."""
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


def _within_base64(value: bytes) -> Iterator[str]:
    """Yield the base64 characters that depend on `value` alone.

    They differ for each alignment of `value` to groups of three bytes.
    """
    for before in range(3):
        first, end = -(-before * 4 // 3), (before + len(value)) * 4 // 3
        encoded = base64.b64encode(bytes(before) + value).decode()[first:end]
        # The characters at either end also encode bits of the surrounding bytes.
        if len(encoded) >= _BASE64_MINIMUM:
            yield from {encoded, encoded.translate(_URL_SAFE)}


def use_rules(rules: Rules) -> None:
    """Replace the process-wide rules."""
    global _rules
    _rules = rules


def redact(text: str) -> str:
    """Replace every secret in `text` with `[redacted:<kind>]`.

    The function is idempotent, and its time is linear in the length.

    JSON text stays valid JSON: a replacement never splits a string or an escape.
    """
    return redact_counted(text)[0]


def redact_counted(text: str) -> tuple[str, Mapping[str, int]]:
    """Return the redacted text, and the number of removed secrets of each kind."""
    if len(text) < _REGISTERED_MINIMUM:
        return text, _NOTHING
    counts: Counter[str] = Counter()
    for secret in _registered:
        if number := text.count(secret):
            text = text.replace(secret, f"[redacted:{_REGISTERED}]")
            counts[_REGISTERED] += number
    rules = _rules
    for rule in rules.rules:
        text = _apply(rule, rules, text, counts)
    return _redact_shapes(text, rules, counts, depth=0), counts or _NOTHING


def _redact_shapes(text: str, rules: Rules, counts: Counter[str], *, depth: int) -> str:
    """Redact values shaped like secrets in the plain, the unescaped and the base64-decoded text."""
    for _ in range(_MAX_ROUNDS):  # a replacement may create a new match
        windows = suspected(text)
        if not windows:
            return text
        found = _found(text, windows)
        # Findings in escaped text come first. In the plain text, an escape would end a secret too
        # early.
        found = [*_found_in_escapes(text, windows), *found]
        cleaned = _with_marks(text, found, rules, counts)
        if depth < _MAX_NESTED and holds_base64(text, windows):
            cleaned = in_base64(
                cleaned, lambda each: _redact_decoded(each, rules, counts, depth + 1)
            )
        if cleaned == text:
            break
        text = cleaned
    return text


def _found(text: str, windows: Sequence[tuple[int, int]]) -> list[Finding]:
    """Return the secrets that begin in these windows, in the order of the detectors."""
    return [
        finding
        for detector, parts in detectors_for(text, windows)
        for start, end in parts
        for finding in detector.findings(text, start, end)
    ]


def _found_in_escapes(text: str, windows: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """Yield the secrets that begin in these windows after their escapes are decoded."""
    for first, last in windows:
        if has_escapes(text, first, last):
            view, found = _found_unescaped(text, first, last, _ESCAPED_REACH)
            if any(end == len(view.text) for _, end, _ in found):
                view, found = _found_unescaped(text, first, last, _LONG_REACH)
            for start, end, kind in found:
                begin, stop = view.span(start, end)
                yield first + begin, first + stop, kind


def _found_unescaped(
    text: str, first: int, last: int, reach: int
) -> tuple[UnescapedText, list[Finding]]:
    """Unescape a window with `reach` more characters.

    Return the unescaped text and its findings.
    """
    view = unescaped(text[first : last + reach])
    return view, _found(view.text, [(0, view.position_of(last - first))])


def _with_marks(text: str, findings: Iterable[Finding], rules: Rules, counts: Counter[str]) -> str:
    """Replace the findings in `text` with marks such as `[redacted:secret]`.

    If findings overlap, the first one in the list counts.

    A mark also replaces the backslashes before a finding. Otherwise half an escape would remain.
    """
    accepted: list[Finding] = []  # in order of position
    for begin, end, kind in findings:
        start = begin
        while start and text[start - 1] == "\\":
            start -= 1
        index = bisect_right(accepted, (start, end, kind))
        free = (index == 0 or accepted[index - 1][1] <= start) and (
            index == len(accepted) or end <= accepted[index][0]
        )
        if free and not (rules.allowed and rules.allow(text[begin:end])):
            accepted.insert(index, (start, end, kind))
    parts: list[str] = []
    at = 0
    for start, end, kind in accepted:
        counts[kind] += 1
        parts += [text[at:start], f"[redacted:{kind}]"]
        at = end
    return "".join([*parts, text[at:]])


def _redact_decoded(text: str, rules: Rules, counts: Counter[str], depth: int) -> str:
    for secret in _registered:
        text = text.replace(secret, f"[redacted:{_REGISTERED}]")
    for rule in rules.rules:
        text = _apply(rule, rules, text, counts)
    return _redact_shapes(text, rules, counts, depth=depth)


def redact_named(name: str, text: str) -> tuple[str, Mapping[str, int]]:
    """Redact the value of an attribute, and take the name of the attribute into account.

    For example, random text is a secret if the name is `api_key`.
    """
    cleaned, counts = redact_counted(text)
    if cleaned != text or not suggests_secret(name):
        return cleaned, counts
    before = f'{name}: "'
    line, counts = redact_counted(f'{before}{text}"')
    if line.startswith(before) and line.endswith('"'):
        return line[len(before) : -1], counts
    return text, _NOTHING


def find_suspects(texts: Sequence[str]) -> list[int]:
    """Return the indexes of the texts that may contain a secret, after one fast scan.

    If the user has rules, the function returns all indexes.
    """
    if _rules.rules:
        return list(range(len(texts)))
    indexes = {
        index for secret in _registered for index, text in enumerate(texts) if secret in text
    }
    return sorted(indexes.union(_suspicious_shapes(texts)))


def _suspicious_shapes(texts: Sequence[str]) -> Iterator[int]:
    # The texts are joined, since each scan costs a microsecond and may let another thread run.
    data = [text.encode("utf-8", "surrogatepass") for text in texts]
    joined = b"\n".join(data)
    ends = list(accumulate(len(each) + 1 for each in data))  # `+ 1` counts the line end
    found = first_suspect(joined)
    while found is not None:
        first, last = bisect_right(ends, found[0]), bisect_right(ends, found[1] - 1)
        yield from range(first, last + 1)  # several if the match spans texts
        # The next scan starts one character early, at a line end, since patterns need the start of
        # a word.
        found = first_suspect(joined, ends[last] - 1) if last + 1 < len(ends) else None


@lru_cache(maxsize=4096)
def suggests_secret(name: str) -> bool:
    """Whether a name alone suggests that its value is a secret."""
    return _SUGGESTS_SECRET.search(name) is not None


_SUGGESTS_SECRET = re.compile(
    r"authori|cookie|(?:key|token|pass(?:w|phrase|\Z)|pwd|secret|credential|sessionid)[A-Za-z0-9_-]*\Z",
    re.IGNORECASE,
)


def _apply(rule: Rule, rules: Rules, text: str, counts: Counter[str]) -> str:
    def found(secret: str) -> bool:
        if secret == rule.mark or rules.allow(secret):
            return False
        counts[rule.name] += 1
        return True

    return rule.apply(text, found)
