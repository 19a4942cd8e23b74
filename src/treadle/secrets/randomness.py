"""Tests whether a value looks random, as keys do, or like names, words and paths."""

import re
from itertools import pairwise

HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9]+")
_BASE64 = re.compile(
    r"(?=[^A-Z]*[A-Z][^A-Z]*[A-Z])(?=[^a-z]*[a-z][^a-z]*[a-z])(?=[^+=]*[+=])(?:[A-Za-z0-9+/]{4}){7,}"
    r"(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
"""Matches bytes in base64, where `+` and `/` separate short runs.

A path has neither `+` nor `=`.
"""
MIXED_CASE = re.compile(r"[a-z][A-Z]+[a-z]{1,3}[A-Z]+[a-z]{1,3}[A-Z]")
"""Matches alternating cases, which are rare in names."""
_SPECIAL = frozenset("!@#$%^&*+~?=|;,")


def longest_run(value: str) -> int:
    """Return the length of the longest run of letters and digits."""
    return max((len(run) for run in _RUN.findall(value)), default=0)


def classes(value: str) -> int:
    """Return the number of character classes: lower, upper, digits and special characters."""
    tests = (str.islower, str.isupper, str.isdigit, _SPECIAL.__contains__)
    return sum(any(map(test, value)) for test in tests)


def is_key_body(value: str) -> bool:
    """Whether the text after a vendor's prefix is random, not words joined by dashes."""
    if len(set(value)) < 6:
        return False
    if longest_run(value) < 10:  # random text may contain a few dashes
        letters = "".join(_RUN.findall(value))
        return classes(letters) == 3 and _changes(letters) >= 0.3 * (len(letters) - 1)
    return any(character.isdigit() for character in value) or _case_changes(value) >= 4


def is_random(value: str) -> bool:
    """Whether letters and digits alternate as often as in random text.

    In random base62, the class of the characters (lower, upper, digit) changes at 62% of all
    positions. Changes from upper to lower case are not counted, since words have them too. The
    counted changes are at 45% of all positions. Names in code change at less than 30%, and they
    hardly have digits.
    """
    letters = re.sub(r"[^A-Za-z0-9]", "", value)
    digits = sum(character.isdigit() for character in letters)
    if digits < 2 or digits == len(letters):
        return False
    if longest_run(value) < 12 and not _BASE64.fullmatch(value):
        return False
    if len(letters) < 20 and not (
        any(map(str.islower, letters)) and any(map(str.isupper, letters))
    ):
        return False
    return _changes(letters) >= 0.22 * (len(letters) - 1)


def is_random_letters(value: str) -> bool:
    """Whether letters alternate between lower and upper case as often as in random text.

    Nearly all names contain words with at least four lower-case letters in a row.
    """
    if len(value) < 10 or not value.isalpha() or not value.isascii():
        return False
    if MIXED_CASE.search(value) is None:
        return False
    longest = max(map(len, re.findall("[a-z]+", value)))
    return _case_changes(value) >= max(3, len(value) // 7) and longest <= (
        5 if len(value) >= 14 else 4
    )


def is_hexadecimal(value: str) -> bool:
    """Whether a value is a hexadecimal number, such as a hash, or a UUID."""
    return HEX.fullmatch(value) is not None or UUID.fullmatch(value) is not None


def _changes(letters: str) -> int:
    return sum(
        1
        for left, right in pairwise(letters)
        if (left.isdigit() != right.isdigit()) or (left.islower() and right.isupper())
    )


def _case_changes(value: str) -> int:
    return sum(left.islower() and right.isupper() for left, right in pairwise(value))
