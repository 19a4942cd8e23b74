"""How well search finds the code of real tasks, taken from the history of public repositories.

Run: python -m bench.tasks make CLONES [REPOSITORY …]
     python -m bench.tasks score [--part tuning|test] [--own] [--quick] [REPOSITORY …]
     python -m bench.tasks report [--part tuning|test]
     python -m bench.tasks export [--part tuning|test] [REPOSITORY …]
     python -m bench.tasks fit [--write]
     python -m bench.tasks issues CLONES REPORTS [--part tuning|test] [REPOSITORY …]

CLONES is a folder of bare git directories, each with its whole history:
`git clone --bare URL CLONES/OWNER+NAME.git` for each repository of `repositories.tsv`. `make`
writes the tasks and the trees that they are searched in below `--work`; `score` asks all methods
and prints the tables; `report` prints them again; `export` writes the signals of all candidates
(see `examples`); `fit` prints how well curves rank the tuning repositories that they had not seen,
and writes those that Treadle ships (see `fitting`, which needs LightGBM); `issues` asks the texts
of REPORTS (see `issues`). Nothing is tuned on the part `test`.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.retrieval.packages import CACHE
from bench.tasks.answers import Answer, Method, Wording
from bench.tasks.issues import ask_issues, listed_fixes
from bench.tasks.measures import CONTEXT_COLUMNS, ISSUES, RANKING, table
from bench.tasks.queries import OWN, ask
from bench.tasks.repositories import Part, Repository, listed
from bench.tasks.task_set import ANCHORS, FEWEST_SOURCES, PER_REPOSITORY, Task, make_tasks

_QUICK = 4
"""With `--quick` one of that many tasks is used."""


def read_tasks(work: Path, repository: Repository) -> list[Task]:
    """The tasks of a repository, none if they were not made."""
    path = work / "tasks" / f"{repository.folder}.jsonl"
    if not path.exists():
        return []
    return [Task.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]


def make(work: Path, clones: Path, repositories: Iterable[Repository]) -> None:
    """Write the tasks of each repository that has a clone and no tasks."""
    folder = work / "tasks"
    folder.mkdir(parents=True, exist_ok=True)
    for repository in repositories:
        path = folder / f"{repository.folder}.jsonl"
        if path.exists():
            continue
        if not repository.clone(clones).exists():
            print(f"{repository.name} left out: no {repository.clone(clones)}")
            continue
        made = list(
            make_tasks(
                repository, clones, work,
                count=PER_REPOSITORY, anchors=ANCHORS, fewest=FEWEST_SOURCES,
            )
        )  # fmt: skip
        path.write_text("".join(f"{task.model_dump_json()}\n" for task in made), "utf-8")
        long = sum(task.is_long for task in made)
        print(f"{repository.part} {repository.name}: {len(made)} tasks, {long} long", flush=True)


def score(
    work: Path, repositories: Iterable[Repository], methods: Sequence[Method], *, quick: bool
) -> list[Answer]:
    """Query the tasks of each repository, and save the answers."""
    answers: list[Answer] = []
    for repository in repositories:
        tasks = read_tasks(work, repository)[:: _QUICK if quick else 1]
        found = list(ask(repository, tasks, work, methods))
        answers += found
        if found and not quick:
            path = _answers_path(work, repository)
            path.parent.mkdir(parents=True, exist_ok=True)
            kept = [a for a in _kept(path) if a.method not in methods]
            lines = (f"{answer.model_dump_json()}\n" for answer in (*kept, *found))
            path.write_text("".join(lines), "utf-8")
    return answers


def _answers_path(work: Path, repository: Repository) -> Path:
    return work / "answers" / repository.part / f"{repository.folder}.jsonl"


def _kept(path: Path) -> list[Answer]:
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [Answer.model_validate_json(line) for line in lines]


def report(answers: Sequence[Answer]) -> None:
    """Print the tables of one part."""
    for wording in Wording:
        asked = [answer for answer in answers if answer.wording is wording]
        rows = [(method.value, [a for a in asked if a.method is method]) for method in Method]
        print(f"\n#### {wording}\n")
        print(table([row for row in rows if row[1]], RANKING.items()))
    plain = [answer for answer in answers if answer.wording is Wording.PLAIN]
    own = [answer for answer in plain if answer.method is Method.TREADLE]
    long = [(f"{m}, long", [a for a in plain if a.is_long and a.method is m]) for m in Method]
    print("\n#### long messages\n")
    print(table([row for row in long if row[1]], RANKING.items()))
    languages = sorted({answer.language for answer in own})
    print("\n#### by language, Treadle\n")
    by_language = [(name, [a for a in own if a.language == name]) for name in languages]
    print(table(by_language, RANKING.items()))
    print("\n#### context\n")
    held = [(m.value, [a for a in plain if a.held and a.method is m]) for m in Method]
    print(table([row for row in held if row[1]], CONTEXT_COLUMNS))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=CACHE / "tasks", help="where all is kept")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("make", "score", "report", "export", "fit", "issues"):
        command = commands.add_parser(name)
        if name in ("make", "issues"):
            command.add_argument("clones", type=Path)
        if name == "issues":
            command.add_argument("reports", type=Path, help="JSON lines with the texts")
        command.add_argument("repositories", nargs="*", metavar="REPOSITORY")
        command.add_argument("--part", type=Part, choices=list(Part))
        if name == "fit":
            command.add_argument("--write", action="store_true", help="replace the curves")
        if name == "score":
            command.add_argument("--own", action="store_true", help="ask Treadle alone")
            command.add_argument("--quick", action="store_true", help="one task in four")
    return parser.parse_args()


def _answers(arguments: argparse.Namespace, chosen: Sequence[Repository]) -> list[Answer]:
    """The answers to the tasks of some repositories: new or saved."""
    if arguments.command == "score":
        methods = [method for method in Method if method in OWN or not arguments.own]
        return score(arguments.work, chosen, methods, quick=arguments.quick)
    paths = [_answers_path(arguments.work, repository) for repository in chosen]
    return [answer for path in paths for answer in _kept(path)]


def _ask_issues(arguments: argparse.Namespace) -> None:
    """Print the table of each part, by repository and in total."""
    for part in Part:
        fixes = [
            (repository, number)
            for repository, number in listed_fixes()
            if repository.part is part
            and arguments.part in (None, part)
            and (not arguments.repositories or repository.name in arguments.repositories)
        ]
        answers = list(ask_issues(fixes, arguments.reports, arguments.clones, arguments.work))
        names = sorted({answer.repository for answer in answers})
        rows = [(name, [one for one in answers if one.repository == name]) for name in names]
        if answers:
            print(f"\n### {part}\n")
            print(table([*rows, ("all", answers)], ISSUES.items()))


def _fit(work: Path, *, write_curves: bool) -> None:
    from bench.tasks.curves import cross_validated, fitted, load, write

    examples = load(work / "examples" / Part.TUNING)
    if write_curves:
        write(fitted(examples))
        return
    answers = cross_validated(examples)
    rows = [(f"`{one}`", [found for found in answers if found.wording is one]) for one in Wording]
    print(table(rows, RANKING.items()))


def main() -> None:
    arguments = _arguments()
    work: Path = arguments.work
    if arguments.command == "issues":
        _ask_issues(arguments)
        return
    chosen = [
        repository
        for repository in listed()
        if arguments.part in (None, repository.part)
        and (not arguments.repositories or repository.name in arguments.repositories)
    ]
    if arguments.command == "make":
        make(work, arguments.clones, chosen)
        return
    if arguments.command == "export":
        from bench.tasks.examples import export

        for repository in chosen:
            export(repository, read_tasks(work, repository), work)
        return
    if arguments.command == "fit":
        _fit(work, write_curves=arguments.write)
        return
    for part in Part:
        own = [repository for repository in chosen if repository.part is part]
        answers = _answers(arguments, own) if own else []
        if answers:
            print(f"\n### {part}: {len({answer.task for answer in answers})} tasks")
            report(answers)


if __name__ == "__main__":
    main()
