"""What may answer a question: found by words, by vectors, in whole files, and by named places."""

import sqlite3
from collections.abc import Sequence

from treadle.code.framed import find_framed, items_of_file
from treadle.code.model import FUNCTION_KINDS, View
from treadle.code.questions import Question
from treadle.code.ranking import Found, by_words, file_worth, is_test
from treadle.code.whole_files import WholeFile, whole_files

_MOST_OF_FILE = 300
"""Functions of one file that are candidates by its whole text."""


def find_candidates(
    connection: sqlite3.Connection, question: Question, nearest: Sequence[int], view: View
) -> Found:
    """The candidates for an answer; `nearest` are the items that vectors bring in."""
    files = whole_files(connection, question.terms)
    framed = find_framed(connection, question.frames)
    also = dict.fromkeys([*nearest, *framed.items])
    if view is View.ITEMS:
        also.update(dict.fromkeys(_functions_of_best(connection, question, files)))
    return Found(question, by_words(connection, question, list(also)), [], files, framed)


def _functions_of_best(
    connection: sqlite3.Connection, question: Question, files: Sequence[WholeFile]
) -> list[int]:
    """The functions of the files whose whole text fits best, as many as the question wants."""
    code = [
        file
        for file in files
        if not file.is_text and (question.wants_tests or not is_test(file.path))
    ]
    code.sort(key=lambda file: -file.score * file_worth(file.path, file.origin)[2])
    return [
        item_id
        for file in code[: question.weights.whole_candidates]
        for item_id, kind in items_of_file(connection, file.id, "id, kind")[:_MOST_OF_FILE]
        if kind in FUNCTION_KINDS
    ]
