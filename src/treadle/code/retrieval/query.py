"""What a query asks for.

A sentence describes one function, as a doc comment does. A task describes a change, as the message
of a commit or an issue does: its answer is several functions, mostly of few files. A topic is what
a question or a name is about: its items are ranked like those of a sentence, its files by more than
their best items. A typed phrase is between the two.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Self

from treadle.code.terms import query_terms

if TYPE_CHECKING:
    from treadle.code.retrieval.report import Frame

MAX_CHARACTERS = 10_000
"""Of a longer query only the head counts."""


class Worth(NamedTuple):
    """What some items are worth before a word of them is read."""

    text: float
    """Documents, settings and lines outside of definitions."""
    test: float
    """Test code where the query does not ask for tests."""


SENTENCE = Worth(text=1.0, test=0.7)
TASK = Worth(text=0.4, test=0.3)


class FileWeights(NamedTuple):
    """What else counts in the view of files.

    Chosen on 216 questions about 16 repositories (`bench.tasks.questions`). Sentences from doc
    comments and tasks were not to lose.
    """

    next_items: int
    """How many items after the best one add to the score of a file."""
    similarity: float
    """What the similarity of all items of a file together adds to its score, at most."""
    mentioned: float
    """What a name adds that the query mentions and that this file alone defines.

    In a sentence it is a type that the function uses: its files lost 0.012.
    """


SENTENCE_FILES = FileWeights(next_items=3, similarity=0.2, mentioned=0.0)
PHRASE_FILES = FileWeights(next_items=3, similarity=0.4, mentioned=0.6)
"""A typed phrase may describe one function. With the weights of a topic, 31 phrases about three
more repositories lost 0.053."""
TOPIC_FILES = FileWeights(next_items=6, similarity=0.6, mentioned=0.6)

_LONG = 25
"""Words from which on a query is a task, since sentences of doc comments are shorter."""
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
"""How messages of commits begin: with what they change, or with how the code should act."""
_ONLY_CHANGE = re.compile(
    r"\W*(?:fix|refactor|improve|deprecat|re-?work|re-?write|simplif)", re.IGNORECASE
)
"""Verbs of changes that no function does. With another verb and a full stop a sentence describes a
function.

Of the doc comments that begin with such a verb 88 in 100 end with a full stop, of the messages of
commits 7 (900 sentences and 336 messages for tuning).
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
"""How a written sentence begins: with a capital letter, and with more than two words."""


class Question(NamedTuple):
    """A query with its terms and what it asks for."""

    text: str
    terms: Mapping[str, float]
    worth: Worth
    wants_tests: bool
    gist: str
    """What vectors compare: the text without what says nothing about the code."""
    files: FileWeights = SENTENCE_FILES
    frames: "tuple[Frame, ...]" = ()
    """The places in code that the text names."""

    @property
    def is_task(self) -> bool:
        """Whether it describes a change, whose answer the learnt curves rank."""
        return self.worth is TASK

    @classmethod
    def of(cls, query: str) -> Self:
        """Read a query, of which only the first `MAX_CHARACTERS` count."""
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
