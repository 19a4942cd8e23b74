"""The words of a commit's message, without names and addresses of people."""

import re

from treadle.code.terms import STOP_WORDS, term_counts, terms_of_word

_MAX_CHARACTERS = 2_000
_TRAILER = re.compile(r"^[ \t]*[A-Za-z]+(?:-[A-Za-z]+)+:.*$|^[ \t]*[Cc]c:.*$", re.MULTILINE)
"""`Signed-off-by`, `Co-authored-by`, `Change-Id`, `git-svn-id` and so on."""
_ADDRESS = re.compile(r"^.*[^\s@]@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}.*$", re.MULTILINE)
"""A line with an address has a name as well."""
_DATA = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,64}\b|https?://\S+")
"""Ids of commits, and links."""
_SAYS_NOTHING = frozenset(term for word in STOP_WORDS for term in terms_of_word(word))


def message_terms(message: str) -> set[str]:
    """The distinct terms of a message: no numbers, no stop words, nobody's name in a trailer."""
    text = message[:_MAX_CHARACTERS]
    for pattern in (_TRAILER, _ADDRESS, _DATA):
        text = pattern.sub(" ", text)
    return {
        term for term in term_counts(text) if term not in _SAYS_NOTHING and not term.isdecimal()
    }
