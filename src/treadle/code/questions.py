"""What a query asks for, and how much each signal counts in its answer.

A sentence describes one function, as a doc comment does. A task describes a change, as the message
of a commit or an issue does: its answer is several functions, mostly of few files. A topic is what
a question or a typed phrase is about: its items are ranked like those of a sentence, its files by
more than their best items.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple, Self

from treadle.code.terms import query_terms

MAX_CHARACTERS = 10_000
"""Of a longer query only the head counts."""


class Weights(NamedTuple):
    """How much each signal counts. Scores are shares of the best one of an answer.

    Chosen on 332 queries from the history of 12 repositories and 600 from doc comments, all of
    which are tuning queries of `bench.tasks` and `bench.retrieval` (docs/context.md).
    """

    similarity: float
    """The part of an item's score that is its similarity by the own embedding."""
    file: float
    """What the score of its file adds to the score of an item, at most."""
    whole_file: float
    """What BM25 over its whole text adds to the score of a file's best items, at most."""
    length: float
    """The power of an item's length: a change is more often in a long function."""
    text: float
    """What documents, settings and lines outside of definitions are worth."""
    test: float
    """What test code is worth where the query does not ask for tests."""
    test_file: float
    path: bool
    """Whether words of the query in the path of a file raise its score."""


SENTENCE = Weights(
    similarity=0.7, file=0.2, whole_file=0.3, length=0.0, text=1.0, test=0.7, test_file=0.3,
    path=False,
)  # fmt: skip
TASK = Weights(
    similarity=0.6, file=0.4, whole_file=1.0, length=0.07, text=0.4, test=0.3, test_file=0.2,
    path=True,
)  # fmt: skip


class FileWeights(NamedTuple):
    """What else counts in the view of files.

    Chosen on 216 questions about 16 repositories (`bench.tasks.questions`). Sentences from doc
    comments and tasks were not to lose.
    """

    next_items: int
    """How many items after the best one add to the score of a file."""
    similarity: float
    """What the similarity of all items of a file together adds to its score, at most."""


SENTENCE_FILES = FileWeights(next_items=3, similarity=0.2)
TOPIC_FILES = FileWeights(next_items=6, similarity=0.6)
TASK_FILES = FileWeights(next_items=3, similarity=0.0)

_LONG = 25
"""Words from which on a query is a task, since sentences of doc comments are shorter."""
_WORD = re.compile(r"[\w'`.]+")
_CHANGE = re.compile(
    r"\W*(?:fix|add|support|allow|avoid|improve|prevent|don'?t|do not|use|remove|refactor|rename"
    r"|implement|introduce|enable|disable|deprecate|move|replace|change|make|update|drop|simplify"
    r"|ensure|handle|correct|include|exclude|expose|extract|stop|skip|only|show|hide|reject|accept"
    r"|migrate|clean ?up|rework|rewrite|reduce|increase|optimi[sz]e|speed)(?:e?s|e?d|ing)?\b",
    re.IGNORECASE,
)
_PROBLEM = re.compile(
    r"\b(?:instead of|should|bug|crash\w*|fail(?:s|ed|ing|ure)?|broken|regression|incorrect|wrong"
    r"|support for|no longer|missing|issue)\b",
    re.IGNORECASE,
)
_WANTS_TESTS = re.compile(
    r"^\W*tests?\b|\btests?\s+(?:for|of|that|which)\b|\b(?:which|what)\s+tests?\b"
    r"|\b(?:add|write|find|fix|where\s+(?:is|are))\b"
    r"(?:(?!\b(?:that|which|when|in|by)\b).){0,30}\btests?\b",
    re.IGNORECASE,
)
_TEST_TERMS = frozenset({"test", "spec", "fixtur"})
_ASKS = re.compile(r"\?\s*$|^\W*(?:how|where|what|which|who|why|when)\b", re.IGNORECASE)
_WRITTEN = re.compile(r"\W*[^\W\d_a-z]\S*\s+\S+\s+\S")
"""How a written sentence begins: with a capital letter, and with more than two words."""


class Question(NamedTuple):
    """A query with its terms and what it asks for."""

    text: str
    terms: Mapping[str, float]
    weights: Weights
    files: FileWeights
    wants_tests: bool

    @classmethod
    def of(cls, query: str) -> Self:
        """Read a query, of which only the first `MAX_CHARACTERS` count."""
        text = query[:MAX_CHARACTERS].strip()
        terms, wants_tests = query_terms(text), bool(_WANTS_TESTS.search(text))
        if _is_task(text):
            return cls(text, terms, TASK, TASK_FILES, wants_tests)
        if _is_topic(text):
            return cls(text, terms, SENTENCE, TOPIC_FILES, wants_tests)
        return cls(text, terms, SENTENCE, SENTENCE_FILES, not _TEST_TERMS.isdisjoint(terms))


def _is_task(text: str) -> bool:
    many = "\n" in text or len(_WORD.findall(text)) > _LONG
    return many or bool(_CHANGE.match(text) or _PROBLEM.search(text))


def _is_topic(text: str) -> bool:
    return bool(_ASKS.search(text)) or not _WRITTEN.match(text)
