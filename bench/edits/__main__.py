"""Outcomes of generated edit tasks, how long edits take, and other tools, as Markdown tables.

Run: python -m bench.edits [--tasks N]

Tasks are mutations of real files of five languages (bench/retrieval/packages.py), drawn with a
fixed seed. The right result is known from the mutation, without the measured code.
"""

import argparse
import sys
from collections.abc import Sequence

from bench.edits.carrying import carried, outcomes
from bench.edits.peers import TOOLS, peer_score
from bench.edits.scoring import Outcome, Score, treadle_score
from bench.edits.tasks import FORMS, Task, tasks
from bench.edits.timing import FILES, SIZES, applying_rows, many_files, planning_rows
from bench.edits.variants import EXACT
from bench.retrieval.packages import UnreachableError

PER_LANGUAGE = 800


def by_variant(made: Sequence[Task], score: Score) -> None:
    """The outcomes of Treadle's plans by variant, and by form."""
    variants = list(dict.fromkeys(task.variant for task in sorted(made, key=lambda t: t.variant)))
    print(f"| {len(made)} tasks, right/all | {' | '.join(FORMS)} | refused | wrong |")
    print(f"|---|{'---|' * (len(FORMS) + 2)}")
    for variant in (*variants, None):
        cells = []
        for form in FORMS:
            of_form = score.total(form=form, variant=variant)
            right = score.total(Outcome.RIGHT, form=form, variant=variant)
            cells.append(f"{right}/{of_form}" if of_form else "-")
        refused = score.total(Outcome.REFUSED, variant=variant)
        wrong = score.total(Outcome.WRONG, variant=variant)
        print(f"| {variant or 'all'} | {' | '.join(cells)} | {refused} | {wrong} |")


def beside_others(made: Sequence[Task]) -> None:
    """Right, refused and wrong of each tool, form by form; wrong ones that differ by white space
    alone; and how many of those without any variation are right.
    """
    print("\n| form | tool | tasks | right | refused | wrong | by white space alone | as it is |")
    print("|---|---|---|---|---|---|---|---|")
    for form, tools in TOOLS.items():
        of_form = [task for task in made if task.form == form and task.texts]
        _line(form, "Treadle", treadle_score(of_form))
        for tool in tools:
            try:
                _line(form, tool, peer_score(tool, of_form))
            except UnreachableError as error:
                print(f"{error}", file=sys.stderr)


def _line(form: str, tool: str, score: Score) -> None:
    counts = [score.total(outcome) for outcome in Outcome]
    share = 100 * counts[0] / sum(counts)
    plain = score.total(Outcome.RIGHT, variant=EXACT.name), score.total(variant=EXACT.name)
    cells: list[int | str] = [sum(counts), f"{counts[0]} ({share:.0f} %)", *counts[1:], score.blank]
    cells.append(f"{plain[0]}/{plain[1]}")
    print(f"| {form} | {tool} | {' | '.join(map(str, cells))} |")


def in_changed_files(count: int) -> None:
    """Changes that are relocated and undone after a person changed other lines of the file."""
    cases = list(carried(count))
    print("\n| in a file that was changed elsewhere | right | refused | wrong |")
    print("|---|---|---|---|")
    for name, undo in (("make the change", False), ("undo it", True)):
        counts = outcomes(cases, undo=undo)
        print(f"| {name} | {' | '.join(str(counts[outcome]) for outcome in Outcome)} |")


def times() -> None:
    """Milliseconds by size of the file."""
    print(f"\n| ms, lines of the file | {' | '.join(f'{size:,}' for size in SIZES)} |")
    print(f"|---|{'---|' * len(SIZES)}")
    for name, spent in (*planning_rows(), *applying_rows()):
        print(f"| {name} | {' | '.join(f'{each:.1f}' for each in spent)} |")
    stage, apply = many_files()
    print(f"\n{FILES} files of 300 lines at once: stage {stage:.0f} ms, apply {apply:.0f} ms.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=PER_LANGUAGE, help="for each language")
    count: int = parser.parse_args().tasks
    made = list(tasks(count))
    score = treadle_score(made)
    by_variant(made, score)
    for task, reason in score.reasons:
        print(f"{task.language}, {task.form}, {task.variant}: {reason}", file=sys.stderr)
    in_changed_files(count)
    times()
    beside_others(made)


if __name__ == "__main__":
    main()
