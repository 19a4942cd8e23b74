"""Whether search finds the files of a question: a name, a short description, an architecture.

Run: python -m bench.tasks.questions CLONES [--part tuning|test] [--own] [REPOSITORY …]

The questions of `questions.json` were written from the code, before any answer was seen. The files
that answer one count equally: `primary` ones have the answer, `secondary` ones help. CLONES is a
folder of bare git directories as for `bench.tasks`, whose parts the repositories have.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from bench.retrieval.packages import CACHE
from bench.tasks.answers import Answer, Method, Ranked, Wording, bm25, grep, semble_answers
from bench.tasks.history import History
from bench.tasks.measures import Measure, file_recall, hit_at, ndcg, reciprocal, table
from bench.tasks.repositories import Part, Repository, listed
from bench.tasks.task_set import tree_path
from bench.tasks.trees import Texts, cache_path, opened
from treadle.code import CodeIndex, View

QUESTIONS = Path(__file__).with_name("questions.json")
_FILES = 10
_COLUMNS: dict[str, Measure] = {
    "NDCG@10": ndcg, "hit@1": hit_at(1), "hit@5": hit_at(5), "recall@5": file_recall,
    "MRR": reciprocal,
}  # fmt: skip


class Category(StrEnum):
    """The topic of a question."""

    SYMBOL = "symbol"
    SEMANTIC = "semantic"
    ARCHITECTURE = "architecture"


class FileQuestion(BaseModel):
    """A question, and the files that answer it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    category: Category
    query: str
    primary: tuple[str, ...]
    secondary: tuple[str, ...] = ()


class Asked(BaseModel):
    """The questions about one repository as of a commit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repository: str
    commit: str
    questions: tuple[FileQuestion, ...]


Rows = list[tuple[Category, Answer]]


def read_questions() -> list[Asked]:
    return TypeAdapter(list[Asked]).validate_json(QUESTIONS.read_bytes())


def _treadle(index: CodeIndex, query: str) -> Ranked:
    return Ranked([hit.file for hit in index.search(query, top_k=_FILES, view=View.FILES).results])


def _answers(
    repository: Repository, asked: Asked, method: Method, run: Callable[[str], Ranked]
) -> Iterator[tuple[Category, Answer]]:
    for question in asked.questions:
        found = list(run(question.query).files)
        wanted = (*question.primary, *question.secondary)
        ranks = tuple(found.index(file) + 1 if file in found else None for file in wanted)
        answer = Answer(
            task=question.query, repository=repository.name, language=repository.language,
            is_long=False, wording=Wording.NAMED, method=method, file_ranks=ranks,
            function_ranks=(),
        )  # fmt: skip
        yield question.category, answer


def ask(repository: Repository, asked: Asked, clones: Path, work: Path, *, own: bool) -> Rows:
    """The answers of all methods to the questions about a repository."""
    root = tree_path(work, repository, asked.commit)
    if not root.is_dir():
        History(repository.clone(clones)).check_out(asked.commit, root)
    rows: Rows = []
    for method, dense in ((Method.TREADLE, True), (Method.LEXICAL, False)):
        with opened(work, repository, asked.commit, dense=dense) as index:
            rows += _answers(repository, asked, method, lambda query: _treadle(index, query))
    if own:
        return rows
    texts = Texts(root, cache_path(work))
    rows += _answers(repository, asked, Method.BM25, lambda query: bm25(texts, query))
    rows += _answers(repository, asked, Method.GREP, lambda query: grep(texts, query))
    peer = semble_answers(root, [question.query for question in asked.questions])
    if peer is not None:
        rows += _answers(repository, asked, Method.SEMBLE, peer)
    return rows


def report(rows: Rows) -> str:
    """Tables by method, and by category and language of the product."""
    answers = [answer for _, answer in rows]
    methods = [
        (f"{method}", [answer for answer in answers if answer.method is method])
        for method in Method
    ]
    product = [(category, one) for category, one in rows if one.method is Method.TREADLE]
    kinds = [
        (f"{kind}", [one for category, one in product if category is kind]) for kind in Category
    ]
    languages = [
        (name, [one for _, one in product if one.language == name])
        for name in sorted({one.language for _, one in product})
    ]
    parts: Sequence[Sequence[tuple[str, Sequence[Answer]]]] = (methods, kinds, languages)
    return "\n\n".join(table([row for row in part if row[1]], _COLUMNS.items()) for part in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path, metavar="CLONES")
    parser.add_argument("repositories", nargs="*", metavar="REPOSITORY")
    parser.add_argument("--part", type=Part, choices=list(Part), default=Part.TUNING)
    parser.add_argument("--own", action="store_true", help="leave other methods and tools out")
    parser.add_argument("--work", type=Path, default=CACHE / "tasks")
    arguments = parser.parse_args()
    known = {repository.name: repository for repository in listed()}
    rows: Rows = []
    for asked in read_questions():
        repository = known[asked.repository]
        chosen = not arguments.repositories or asked.repository in arguments.repositories
        if repository.part is arguments.part and chosen:
            rows += ask(repository, asked, arguments.clones, arguments.work, own=arguments.own)
    print(report(rows))


if __name__ == "__main__":
    main()
