"""Secrets out of text: registered values, a person's rules, and what has the shape of one."""

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

from treadle.secrets.decoding import View, has_escapes, in_base64, unescaped
from treadle.secrets.detector import Finding
from treadle.secrets.rules import Rule, compile_pattern
from treadle.secrets.screening import detectors_for, first_suspect, holds_base64, suspected

_REGISTERED_MINIMUM = 6
_REGISTERED = "registered"
_MOST_ROUNDS = 4
_MOST_NESTED = 3
"""How often base64 may be written in base64."""
_ESCAPED_REACH = 4_400
"""Characters behind a part of a text that a secret which begins there may take with escapes."""
_LONG_REACH = 16_384
"""The same where a secret reaches the end of those."""
_BASE64_MINIMUM = 12
"""Characters; fewer may stand in base64 of anything."""
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
"""Keys that people give to local servers that want none; they are ordinary words elsewhere."""

_NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Rules:
    """A person's own rules, and patterns (RE2) of what is never taken out, matched as a whole."""

    rules: tuple[Rule, ...] = ()
    allowed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for a pattern that RE2 does not take."""
        for pattern in self.allowed:
            compile_pattern(pattern)

    def allow(self, secret: str) -> bool:
        """Whether a finding stays where it is."""
        return any(compile_pattern(pattern).fullmatch(secret) for pattern in self.allowed)


_lock = threading.Lock()
_registered: tuple[str, ...] = ()
_rules = Rules()


def register(value: str) -> None:
    """Add an exact secret, such as a configured key, to what `redact` removes process-wide.

    Its spellings inside JSON text, within base64, as hex and in addresses are covered too. Values
    under 6 characters and the well-known placeholders of local servers are ignored: removing them
    would only spoil ordinary text.
    """
    global _registered
    value = value.strip()
    if len(value) < _REGISTERED_MINIMUM or value.lower() in _PLACEHOLDERS:
        return
    with _lock:
        _registered = _longest_first({*_registered, *_spellings(value)})


def without_value(text: str, value: str) -> str:
    """`text` without this one secret, in all the spellings that `register` covers."""
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
    """In an order in which a key that holds another one leaves no rest behind."""
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


def _within_base64(value: bytes) -> Iterator[str]:
    """What base64 of anything that holds `value` holds of it alone, wherever it stands therein."""
    for before in range(3):
        first, end = -(-before * 4 // 3), (before + len(value)) * 4 // 3
        encoded = base64.b64encode(bytes(before) + value).decode()[first:end]
        # The bits at either end are shared with what stands beside it.
        if len(encoded) >= _BASE64_MINIMUM:
            yield from {encoded, encoded.translate(_URL_SAFE)}


def use_rules(rules: Rules) -> None:
    """Apply these rules process-wide from now on, in the place of those before."""
    global _rules
    _rules = rules


def redact(text: str) -> str:
    """`text` with every secret replaced by `[redacted:<kind>]`; idempotent, linear in its length.

    JSON text stays valid JSON: no replacement takes or leaves half of a string or of an escape.
    """
    return redact_counted(text)[0]


def redact_counted(text: str) -> tuple[str, Mapping[str, int]]:
    """The same, and how many secrets of each kind were taken out."""
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
    return _take_out_all(text, rules, counts, depth=0), counts or _NOTHING


def _take_out_all(text: str, rules: Rules, counts: Counter[str], *, depth: int) -> str:
    """`text` without what has the shape of a secret, as it stands, unescaped, and in base64."""
    for _ in range(_MOST_ROUNDS):  # what is taken out may leave something that looks so now
        windows = suspected(text)
        if not windows:
            return text
        found = _found(text, windows)
        # First, since as the text is, an escape ends a secret that continues after it.
        found = [*_found_in_escapes(text, windows), *found]
        cleaned = _without(text, found, rules, counts)
        if depth < _MOST_NESTED and holds_base64(text, windows):
            cleaned = in_base64(cleaned, lambda each: _inside(each, rules, counts, depth + 1))
        if cleaned == text:
            break
        text = cleaned
    return text


def _found(text: str, windows: Sequence[tuple[int, int]]) -> list[Finding]:
    """The secrets that begin in these parts of the text; those of the first detectors first."""
    return [
        finding
        for detector, parts in detectors_for(text, windows)
        for start, end in parts
        for finding in detector.findings(text, start, end)
    ]


def _found_in_escapes(text: str, windows: Sequence[tuple[int, int]]) -> Iterator[Finding]:
    """The secrets that begin in these parts of the text once the escapes there are undone."""
    for first, last in windows:
        if has_escapes(text, first, last):
            view, found = _found_unescaped(text, first, last, _ESCAPED_REACH)
            if any(end == len(view.text) for _, end, _ in found):
                view, found = _found_unescaped(text, first, last, _LONG_REACH)
            for start, end, kind in found:
                begin, stop = view.span(start, end)
                yield first + begin, first + stop, kind


def _found_unescaped(text: str, first: int, last: int, reach: int) -> tuple[View, list[Finding]]:
    """A part of the text with so many characters behind it, unescaped, and what it has."""
    view = unescaped(text[first : last + reach])
    return view, _found(view.text, [(0, view.place_of(last - first))])


def _without(text: str, findings: Iterable[Finding], rules: Rules, counts: Counter[str]) -> str:
    """`text` with marks in the place of findings; of those that overlap the first one counts.

    A mark also replaces the backslashes before a finding, since half of an escape would be left.
    """
    taken: list[Finding] = []  # in order
    for begin, end, kind in findings:
        start = begin
        while start and text[start - 1] == "\\":
            start -= 1
        place = bisect_right(taken, (start, end, kind))
        free = (place == 0 or taken[place - 1][1] <= start) and (
            place == len(taken) or end <= taken[place][0]
        )
        if free and not (rules.allowed and rules.allow(text[begin:end])):
            taken.insert(place, (start, end, kind))
    pieces: list[str] = []
    at = 0
    for start, end, kind in taken:
        counts[kind] += 1
        pieces += [text[at:start], f"[redacted:{kind}]"]
        at = end
    return "".join([*pieces, text[at:]])


def _inside(text: str, rules: Rules, counts: Counter[str], depth: int) -> str:
    for secret in _registered:
        text = text.replace(secret, f"[redacted:{_REGISTERED}]")
    for rule in rules.rules:
        text = _apply(rule, rules, text, counts)
    return _take_out_all(text, rules, counts, depth=depth)


def redact_named(name: str, text: str) -> tuple[str, Mapping[str, int]]:
    """The same of the value that has this name, so that `api_key` makes a secret of random text."""
    cleaned, counts = redact_counted(text)
    if cleaned != text or not is_telling(name):
        return cleaned, counts
    before = f'{name}: "'
    told, counts = redact_counted(f'{before}{text}"')
    if told.startswith(before) and told.endswith('"'):
        return told[len(before) : -1], counts
    return text, _NOTHING


def suspects(texts: Sequence[str]) -> list[int]:
    """Places of those texts that may hold a secret, in order; a quick look at all of them at once.

    Where a person's own rules are in use these are all of them.
    """
    if _rules.rules:
        return list(range(len(texts)))
    places = {place for secret in _registered for place, text in enumerate(texts) if secret in text}
    return sorted(places.union(_suspicious_shapes(texts)))


def _suspicious_shapes(texts: Sequence[str]) -> Iterator[int]:
    # As one long text, since each look costs a microsecond and may let another thread go first.
    data = [text.encode("utf-8", "surrogatepass") for text in texts]
    joined = b"\n".join(data)
    ends = list(accumulate(len(each) + 1 for each in data))  # each with the line end behind it
    found = first_suspect(joined)
    while found is not None:
        first, last = bisect_right(ends, found[0]), bisect_right(ends, found[1] - 1)
        yield from range(first, last + 1)  # more than one where what matched is in none of them
        # The line end before the next text belongs to it: many patterns want the start of a word.
        found = first_suspect(joined, ends[last] - 1) if last + 1 < len(ends) else None


@lru_cache(maxsize=4096)
def is_telling(name: str) -> bool:
    """Whether a value under this name may be a secret for that alone."""
    return _TELLING.search(name) is not None


_TELLING = re.compile(
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
