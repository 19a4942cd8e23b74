"""What may answer a question: found by words, vectors, whole files, named places, and history."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from treadle.code.connected import with_connected
from treadle.code.framed import find_framed
from treadle.code.mentions import files_that_define
from treadle.code.questions import Question
from treadle.code.ranking import Found, by_words, file_worth
from treadle.code.whole_files import WholeFile, best_files, files_of

if TYPE_CHECKING:
    from treadle.code.graph.tables import Graph
    from treadle.code.history.past import History

_BEST_FILES = 10
"""Files of a task with the most words, whose items are candidates."""
_TOGETHER = 5
"""Files that others may have changed together with."""


def find_candidates(
    connection: sqlite3.Connection,
    question: Question,
    nearest: Sequence[int],
    graph: "Graph",
    history: "Callable[[], History]",
) -> Found:
    """The candidates for an answer; `nearest` are the items that vectors bring in.

    `history` is asked for if the question is a task.
    """
    scores = best_files(connection, question.terms)
    files = files_of(connection, scores)
    framed = find_framed(connection, question.frames)
    best = _best(files, question) if question.is_task else []
    also = list(dict.fromkeys([*nearest, *framed.items]))
    found = Found(question, by_words(connection, question, also, best), [], files, framed)
    if not found.hits:
        return found
    found = with_connected(connection, graph, found)
    if question.is_task or question.files.mentioned:
        found = found._replace(defining=files_that_define(connection, question.text))
    if not question.is_task:
        return found
    known = {*scores, *framed.files, *found.defining, *(hit.file_id for hit in found.hits)}
    past = history().past_of(connection, question.terms, known, best[:_TOGETHER])
    more = files_of(connection, {}, (known | past.keys()) - scores.keys())
    return found._replace(files=[*files, *more], past=past)


def _best(files: Iterable[WholeFile], question: Question) -> list[int]:
    """The ids of the files whose items are looked at, the best first: source code before all."""
    worth: dict[int, float] = {}
    for file in files:
        in_tests, _, prior = file_worth(file.path, file.origin)
        tests = question.worth.test if in_tests and not question.wants_tests else 1.0
        texts = question.worth.text if file.is_text else 1.0
        worth[file.id] = file.score * prior * tests * texts
    return sorted(worth, key=lambda file_id: -worth[file_id])[:_BEST_FILES]
