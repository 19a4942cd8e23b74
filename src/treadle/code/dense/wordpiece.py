"""Text to the word pieces of BERT (uncased), which is what MiniLM reads.

`vocabulary.txt` is that of BERT base uncased (Apache-2.0); a piece's id is its line, from 0.
"""

import re
import unicodedata
from functools import cache
from importlib.resources import files

UNKNOWN, START, END = 100, 101, 102
_MAX_WORD = 100
_WORDS = re.compile(r"[^\W_]+|[^\w\s]|_")


@cache
def _vocabulary() -> dict[str, int]:
    text = (files("treadle.code.dense") / "vocabulary.txt").read_text(encoding="utf-8")
    return {piece: number for number, piece in enumerate(text.splitlines())}


def piece_ids(text: str, limit: int) -> list[int]:
    """At most `limit` ids, the start and end marks included."""
    found = [START]
    plain = unicodedata.normalize("NFD", text[: 8 * limit].lower())
    plain = "".join(letter for letter in plain if unicodedata.category(letter) != "Mn")
    for word in _WORDS.findall(plain):
        found += _pieces(word)
        if len(found) >= limit:
            break
    return [*found[: limit - 1], END]


def _pieces(word: str) -> list[int]:
    """The longest known pieces from the left; a word that has an unknown one is unknown."""
    vocabulary = _vocabulary()
    if word in vocabulary:
        return [vocabulary[word]]
    if len(word) > _MAX_WORD:
        return [UNKNOWN]
    found: list[int] = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if mark + word[start:end] in vocabulary), None)
        if end is None:
            return [UNKNOWN]
        found.append(vocabulary[mark + word[start:end]])
        start = end
    return found
