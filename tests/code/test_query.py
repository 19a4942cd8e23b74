"""What a query is taken for: a sentence about one function, or a task over several."""

import pytest

from treadle.code.retrieval.query import (
    PHRASE_FILES,
    SENTENCE,
    SENTENCE_FILES,
    TASK,
    TOPIC_FILES,
    FileWeights,
    Question,
)


@pytest.mark.parametrize(
    "query",
    [
        "Returns the position of the first match.",
        "parse the header of a multipart body",
        "How are tool calls matched to their results?",
        "where is the retry delay configured",
        "BaseModel.validate",
        "Add a row at the bottom of the table.",
        "Args: the names of the columns",
    ],
)
def test_a_description_of_one_function_is_a_sentence(query: str) -> None:
    assert Question.of(query).worth is SENTENCE


@pytest.mark.parametrize(
    "query",
    [
        "Fix the race between closing and reading",
        "fixes login when the cookie has no path",
        "Refactor the pool of connections.",
        "Add a row at the bottom of the table",
        "pool: close idle connections",
        "(tabs) move to the next tab",
        "Always use UTF-8 for the settings",
        "Don't send a body with HEAD",
        "the parser fails on an empty file",
        "Sessions expire\n\nThe clock of the server is used where that of the client is meant.",
        "the pool of connections " * 7,
    ],
)
def test_a_change_or_a_problem_is_a_task(query: str) -> None:
    assert Question.of(query).worth is TASK


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("test the tokenizer", True),
        ("Add tests for the tokenizer", True),
        ("Fix the flaky test of the tokenizer", True),
        ("the tokenizer", False),
        ("testing handlers without a network", False),
        ("find stubs that a test never used", False),
        ("Run the tests of a package.", True),
        ("The parser crashes\n\nI ran the test suite and it printed a trace.", False),
    ],
)
def test_queries_for_tests_are_recognised(query: str, *, wanted: bool) -> None:
    assert Question.of(query).wants_tests is wanted


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("Returns the position of the first match.", SENTENCE_FILES),
        ("Split a path", SENTENCE_FILES),
        ("position of the first match", PHRASE_FILES),
        ("How are tool calls matched to their results?", TOPIC_FILES),
        ("Where is the retry delay configured", TOPIC_FILES),
        ("BaseModel", TOPIC_FILES),
    ],
)
def test_a_question_or_a_name_is_a_topic_and_a_phrase_is_not(
    query: str, files: FileWeights
) -> None:
    assert Question.of(query).files is files


def test_only_the_beginning_of_a_long_query_is_read() -> None:
    question = Question.of("alpha " * 5_000 + "omega")
    assert len(question.text) <= 10_000
    assert "omega" not in question.terms
