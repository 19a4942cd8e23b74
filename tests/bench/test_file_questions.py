"""The questions about files match the list of repositories, and their answers become a table."""

from bench.tasks.answers import Answer, Method, Wording
from bench.tasks.questions import Category, read_questions, report
from bench.tasks.repositories import listed


def test_each_question_is_about_a_listed_repository_and_names_each_file_once() -> None:
    known = {repository.name for repository in listed()}
    for asked in read_questions():
        assert asked.repository in known
        assert len(asked.commit) == 40
        for question in asked.questions:
            files = (*question.primary, *question.secondary)
            assert question.primary
            assert len(files) == len(set(files))


def test_report_scores_all_files_of_an_answer_alike() -> None:
    answer = Answer(
        task="how does it work", repository="a/b", language="Go", is_long=False,
        wording=Wording.NAMED, method=Method.TREADLE, file_ranks=(1, None), function_ranks=(),
    )  # fmt: skip
    lines = report([(Category.ARCHITECTURE, answer)]).splitlines()
    rows = [line for line in lines if line.startswith(("| Treadle ", "| architecture ", "| Go "))]
    assert len(rows) == 3
    assert all("0.613" in row for row in rows)
