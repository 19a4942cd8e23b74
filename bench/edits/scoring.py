"""The result of each task: right, refused or wrong."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from bench.edits.tasks import PATH, Task
from bench.edits.variants import MIXED, is_right
from treadle.edits.model import EditError, splice
from treadle.edits.plan import plan


class Outcome(StrEnum):
    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "wrong"


@dataclass(slots=True)
class Score:
    """Outcomes by form and variant, and examples of those that were not right."""

    counts: Counter[tuple[str, str, Outcome]] = field(default_factory=Counter)
    reasons: list[tuple[Task, str]] = field(default_factory=list)
    blank: int = 0
    """Wrong results that are right except for white space."""

    def add(self, task: Task, result: bytes | None, reason: str = "") -> None:
        outcome = judged(task, result)
        self.counts[task.form, task.variant, outcome] += 1
        if outcome is not Outcome.RIGHT:
            self.reasons.append((task, f"{outcome}: {reason}"))
        if outcome is Outcome.WRONG and task.file is not None and result is not None:
            self.blank += task.file.expected.split() == result.split()

    def total(
        self,
        outcome: Outcome | None = None,
        *,
        form: str | None = None,
        variant: str | None = None,
    ) -> int:
        """How many have that outcome, form and variant; None means any."""
        return sum(
            count
            for (of_form, of_variant, found), count in self.counts.items()
            if outcome in {None, found}
            and form in {None, of_form}
            and variant in {None, of_variant}
        )


def judged(task: Task, result: bytes | None) -> Outcome:
    """Whether a result, None for a refusal, is the right outcome."""
    if task.file is None:
        return Outcome.RIGHT if result is None else Outcome.WRONG
    if result is None:
        return Outcome.REFUSED
    right = is_right(task.file, result, mixed=task.variant == MIXED.name)
    return Outcome.RIGHT if right else Outcome.WRONG


def treadle_score(tasks: Iterable[Task]) -> Score:
    """The outcomes of Treadle's plans."""
    score = Score()
    for task in tasks:
        try:
            score.add(task, _planned(task))
        except EditError as error:
            score.add(task, None, str(error))
    return score


def _planned(task: Task) -> bytes:
    read: Callable[[str], bytes | None] = {PATH: task.data}.get
    (change,) = plan(task.requests, read).changes
    return splice(task.data, change.hunks)
