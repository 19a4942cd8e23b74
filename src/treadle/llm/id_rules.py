"""Which ids of tool calls an endpoint accepts, read from the words of its refusal."""

import re
import string
from collections.abc import Iterable

from treadle.llm.strictness import ALPHANUMERIC, NINE_LETTERS, PLAIN_IDS, IdRule

_TOPIC = re.compile(
    r"tool[_ -]?(?:call|use)[_ -]?ids?|tool_?use\.id|tool_calls?(?:\[?\.?\d*\]?)?\.id"
    r"|call[_ -]ids?|\bids?\b.{0,60}(?:length|character|alphanumeric|pattern|begin|start|prefix)",
    re.IGNORECASE | re.DOTALL,
)
_CONSTRAINT = re.compile(
    r"must|should|invalid|expected|length|long|short|character|pattern|match|alphanumeric|begin"
    r"|start|prefix|format|letters|duplicate|unique",
    re.IGNORECASE,
)
_ABOUT_PAIRS = re.compile(
    r"did not have|followed by|no tool call found|not found in|without (?:a )?(?:corresponding|"
    r"preceding|matching)|does not match any|unexpected .{0,20}tool_use_id",
    re.IGNORECASE,
)

_NUMBER = r"(?:is |of |be |to |=+ ?|: ?)*(\d{1,4})"
_MOST = re.compile(
    rf"(?:at most|maximum(?: [a-z]+){{0,2}}|max(?:_?length)?|less than or equal to|<=|≤|up to"
    rf"|within|no (?:more|longer) than|not exceed|exceeds?|limit(?:ed)?(?: [a-z]+)?) {{0,2}}"
    rf"{_NUMBER}"
    rf"|(\d{{1,4}}) (?:characters? )?(?:or (?:less|fewer)|at most|maximum|max)",
    re.IGNORECASE,
)
_LEAST = re.compile(
    rf"(?:at least|minimum(?: [a-z]+){{0,2}}|greater than or equal to|>=|≥) {{0,2}}{_NUMBER}",
    re.IGNORECASE,
)
_EXACT = re.compile(
    rf"(?:exactly|length|len) {_NUMBER}|(\d{{1,4}})[- ](?:\w+[- ]){{0,3}}characters?"
    rf"|(\d{{1,4}}) (?:letters|alphanumeric)",
    re.IGNORECASE,
)
_QUANTIFIER = re.compile(r"\]\{(\d{1,4})(,?)(\d{0,4})\}")
_CLASS = re.compile(r"\[((?:[^\]\\\s]|\\.){3,80})\]")
_PREFIX = re.compile(
    r"(?:begin|start|prefix)\w*(?: with| of| by)?:? ?['\"`]([A-Za-z]{1,8}[_-]?)['\"`*]"
    r"|(?:begin|start|prefix)\w*(?: with| of| by)?:? ([A-Za-z]{1,8}_)"
    r"|['\"`]([A-Za-z]{1,8}_)['\"`] prefix"
    r"|\^\(?(?:\?:)?([A-Za-z]{1,8}[_-])\)?\["
)
_LETTERS = re.compile(
    r"a-z.{0,8}A-Z.{0,8}0-9|A-Z.{0,8}a-z.{0,8}0-9"
    r"|(?i:alpha-?numeric|letters?\b.{0,20}(?:number|digit))"
)
_NUMERALS = {"eight": 8, "nine": 9, "ten": 10, "sixteen": 16, "thirty-two": 32, "forty": 40}


def is_about_ids(said: str) -> bool:
    """Whether a refusal is about the form of call ids, not about calls without results."""
    about = _TOPIC.search(said) and _CONSTRAINT.search(said)
    return bool(about) and not _ABOUT_PAIRS.search(said)


def read_id_rule(said: str, ids: Iterable[str], current: IdRule) -> IdRule:
    """The rule that a refusal states; the strictest that is known where it states none.

    `ids` are those that were refused: what is quoted of them is not part of the rule.
    """
    for refused in sorted({each for each in ids if len(each) > 2}, key=len, reverse=True):
        said = said.replace(refused, "…")
    for word, number in _NUMERALS.items():
        said = re.sub(rf"\b{word}\b", str(number), said, flags=re.IGNORECASE)
    lengths, characters, prefix = _lengths(said), _characters(said), _prefix(said)
    if lengths is None and characters is None and not prefix:
        return NINE_LETTERS
    least, most = lengths or (1, current.most)
    if prefix and _QUANTIFIER.search(said):  # it counts what is behind the prefix
        least, most = least + len(prefix), most + len(prefix)
    characters = characters or (PLAIN_IDS.characters if prefix else current.characters)
    return IdRule(characters, max(least, len(prefix) + 1), max(most, len(prefix) + 1), prefix)


def _lengths(said: str) -> tuple[int, int] | None:
    if (found := _QUANTIFIER.search(said)) is not None:
        least = int(found[1])
        return _usable(least, int(found[3] or 64) if found[2] else least)
    least = next((number for number in _numbers(_LEAST, said)), 1)
    if (most := next(iter(_numbers(_MOST, said)), None)) is not None:
        return _usable(least, most)
    if (exact := next(iter(_numbers(_EXACT, said)), None)) is not None:
        return _usable(exact, exact)
    return None


def _usable(least: int, most: int) -> tuple[int, int] | None:
    """Lengths that leave room for ids that differ."""
    return (max(1, least), most) if most >= max(least, 4) else None


def _numbers(pattern: re.Pattern[str], said: str) -> list[int]:
    return [int(next(filter(None, found.groups()))) for found in pattern.finditer(said)]


def _characters(said: str) -> str | None:
    """The characters that an id may have; None where nothing is said of them."""
    for found in _CLASS.finditer(said):
        if (accepted := _class_members(found[1])) is not None:
            return accepted
    lowered = said.lower()
    if "hexadecimal" in lowered:
        return string.digits + "abcdef"
    if not _LETTERS.search(said):
        odd = re.search(r"(?:invalid|additional|illegal|special|other) characters?", lowered)
        return PLAIN_IDS.characters if odd else None
    lower = "lowercase" in lowered or "lower-case" in lowered
    letters = string.ascii_lowercase + string.digits if lower else ALPHANUMERIC
    return letters + "_" * ("underscore" in lowered) + "-" * bool(re.search("dash|hyphen", lowered))


def _class_members(inside: str) -> str | None:
    """What a character class of a regular expression accepts; None where it is not one."""
    if "-" not in inside and "\\" not in inside:
        return None
    try:
        pattern = re.compile(f"[{inside}]")
    except re.error:
        return None
    accepted = "".join(c for c in string.printable if c.isprintable() and pattern.match(c))
    return accepted if set(accepted) & set(ALPHANUMERIC) else None


def _prefix(said: str) -> str:
    found = _PREFIX.search(said)
    return next(filter(None, found.groups())) if found else ""
