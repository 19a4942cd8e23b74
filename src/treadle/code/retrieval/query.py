"""Reads a query: its terms, its type, and the weights for its type.

A sentence describes one function, as a doc comment does. A task describes a change, as a commit
message or an issue does. The answer to a task is several functions, usually in few files. A topic
is the subject of a question, or a name. For a topic, items are ranked as for a sentence, but the
rank of a file depends on more than its best items. A phrase that a person types has weights between
those of a sentence and a topic.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Self

from treadle.code.terms import query_terms

if TYPE_CHECKING:
    from treadle.code.retrieval.report import Frame

MAX_CHARACTERS = 10_000
"""The maximum number of characters of a query that are read."""


class Worth(NamedTuple):
    """The weights of items by kind, without regard to their words."""

    text: float
    """The weight of documents, settings and lines outside of definitions."""
    test: float
    """The weight of test code if the query does not ask for tests."""


SENTENCE = Worth(text=1.0, test=0.7)
TASK = Worth(text=0.4, test=0.3)


class FileWeights(NamedTuple):
    """Additional weights for the ranking of files.

    The weights were chosen on 216 questions about 16 repositories (`bench.tasks.questions`). They
    do not worsen the results for sentences from doc comments and for tasks.
    """

    next_items: int
    """The number of items after the best one that add to the score of a file."""
    similarity: float
    """The maximum amount that the similarity of all items of a file adds to its score."""
    mentioned: float
    """The amount that a file gets for a name in the query if no other file defines the name.

    In a sentence, the name is usually a type that the function uses. With an amount for sentences,
    the score of files for sentences fell by 0.012. Therefore sentences have no such amount.
    """


SENTENCE_FILES = FileWeights(next_items=3, similarity=0.2, mentioned=0.0)
PHRASE_FILES = FileWeights(next_items=3, similarity=0.4, mentioned=0.6)
"""The weights for a typed phrase, which may describe one function.

With the weights of a topic, the score of 31 phrases about three more repositories fell by 0.053.
"""
TOPIC_FILES = FileWeights(next_items=6, similarity=0.6, mentioned=0.6)

_LONG = 25
"""A query with more words than this is a task, since sentences of doc comments are shorter."""
_WORD = re.compile(r"[\w'`.]+")
_CHANGE = re.compile(
    r"\W*(?:[\w./&-]{1,40}(?: [\w./&-]{1,40})?(?::| -) ){0,2}"
    r"(?:(?:fix|add|support|allow|avoid|improve|prevent|don'?t|do not|use|remove|refactor|rename"
    r"|implement|introduce|enable|disable|deprecate|move|replac|change|make|update|drop|enhance"
    r"|ensure|handle|correct|include|exclude|expose|extract|stop|skip|only|show|hide|reject|accept"
    r"|migrate|clean ?up|rework|rewrite|reduce|increase|optimi[sz]e|speed|amend)(?:e?s|e?d|e|ing)?"
    r"|(?:simplif|tid)(?:y|ied|ies|ying))\b",
    re.IGNORECASE,
)
_SCOPED = re.compile(
    r"(?-i:[a-z])[\w/.*-]{0,40}(?:\([\w ,/.-]{1,40}\))?!?: \S|\((?-i:[a-z])[\w /-]{0,40}\) \S"
    r"|(?:properly|correctly|always|consistently|explicitly|further|slightly|minor|additional"
    r"|confusing)\b",
    re.IGNORECASE,
)
"""Starts of commit messages that name the changed part, or state how the code should behave."""
_ONLY_CHANGE = re.compile(
    r"\W*(?:fix|refactor|improve|deprecat|re-?work|re-?write|simplif)", re.IGNORECASE
)
"""Verbs for changes of code, such as "fix", which functions do not perform.

A sentence that starts with another verb and ends with a full stop describes a function. Measured on
900 sentences and 336 messages for tuning: of the doc comments that begin with a verb of `_CHANGE`,
88 % end with a full stop. Of the commit messages that begin with such a verb, 7 % end with a full
stop.
"""
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
"""The start of a sentence with a capital letter and more than two words."""


class Question(NamedTuple):
    """A query with its terms, its type and its weights."""

    text: str
    terms: Mapping[str, float]
    worth: Worth
    wants_tests: bool
    gist: str
    """The text that is compared by vectors, without parts that do not describe the code."""
    files: FileWeights = SENTENCE_FILES
    frames: "tuple[Frame, ...]" = ()
    """The positions in code that the text names."""

    @property
    def is_task(self) -> bool:
        """Whether the query describes a change. If so, `task_ranking` ranks the candidates."""
        return self.worth is TASK

    @classmethod
    def of(cls, query: str) -> Self:
        """Read a query, up to its first `MAX_CHARACTERS` characters."""
        text = query[:MAX_CHARACTERS].strip()
        if _is_task(text):
            from treadle.code.retrieval.report import frames_in, read_report

            report = read_report(text)
            terms = report.terms() or query_terms(text)
            wants_tests = bool(_WANTS_TESTS.search(report.title))
            return cls(text, terms, TASK, wants_tests, report.gist, frames=frames_in(text))
        terms, files = query_terms(text), _files_of(text)
        if files is SENTENCE_FILES:
            wants_tests = not _TEST_TERMS.isdisjoint(terms)
        else:
            wants_tests = bool(_WANTS_TESTS.search(text))
        return cls(text, terms, SENTENCE, wants_tests, text, files)


def _is_task(text: str) -> bool:
    if "\n" in text or len(_WORD.findall(text)) > _LONG:
        return True
    if _PROBLEM.search(text) or _SCOPED.match(text):
        return True
    is_change = bool(_CHANGE.match(text))
    return is_change and (not text.endswith(".") or bool(_ONLY_CHANGE.match(text)))


def _files_of(text: str) -> FileWeights:
    if _ASKS.search(text) or " " not in text:
        return TOPIC_FILES
    return SENTENCE_FILES if _WRITTEN.match(text) else PHRASE_FILES
