"""Tasks from issues: the whole text of a report is the query, the fixed code is the answer.

`issues.tsv` lists pull requests by number, and the resulting commits. The licence of the issue
texts does not allow a copy here: they are read from a file of JSON lines with `repository`,
`number` (of the pull request) and `text`. The public sets SWE-PolyBench, Multi-SWE-bench and
SWE-bench (its development part) have them. The searched tree is the one in which the fix was made.
"""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from bench.tasks.answers import Answer, Method, Wording, answer_of, treadle
from bench.tasks.history import History
from bench.tasks.repositories import Part, Repository
from bench.tasks.task_set import Task, Tree, task_of
from bench.tasks.trees import cache_path
from treadle.code import CodeIndex
from treadle.code.dense import own_embedding

LIST = Path(__file__).with_name("issues.tsv")


class Report(BaseModel):
    """The text of an issue."""

    model_config = ConfigDict(frozen=True)

    repository: str
    number: int
    text: str


def listed_fixes(path: Path = LIST) -> list[tuple[Repository, int]]:
    """The fixes in chronological order, each with the number of its report."""
    with path.open(newline="", encoding="utf-8") as stream:
        return [
            (
                Repository(
                    Part(row["part"]), row["language"], row["repository"], "", row["commit"]
                ),
                int(row["number"]),
            )
            for row in csv.DictReader(stream, delimiter="\t")
        ]


def read_reports(path: Path) -> dict[tuple[str, int], str]:
    """The texts by repository and number."""
    lines = filter(None, path.read_text("utf-8").split("\n"))
    reports = map(Report.model_validate_json, lines)
    return {(report.repository, report.number): report.text for report in reports}


def issue_tasks(
    fixes: Sequence[tuple[Repository, int]], reports: Path, clones: Path, work: Path
) -> Iterator[tuple[Task, Path]]:
    """Each task with the folder that has its tree until the next one of the repository."""
    texts = read_reports(reports)
    for repository, number in fixes:
        clone = repository.clone(clones)
        text = texts.get((repository.name, number))
        if text is None or not clone.exists():
            continue
        history = History(clone)
        fix = history.commit(repository.commit)
        root = work / "issues" / repository.folder
        history.move(f"{fix.identifier}^", root)
        task = task_of(repository, history, fix.parents[0], fix, text, Tree(root))
        if task is not None:
            yield task, root


def ask_issues(
    fixes: Sequence[tuple[Repository, int]], reports: Path, clones: Path, work: Path
) -> Iterator[Answer]:
    """The answers of the product to all reports."""
    for task, root in issue_tasks(fixes, reports, clones, work):
        with CodeIndex.open(
            root, cache_dir=cache_path(work), static=own_embedding, patience=None
        ) as index:
            index.refresh()
            yield answer_of(task, Wording.NAMED, Method.TREADLE, treadle(index, task.named))
