"""The generated edit tasks, on this project's own code: every one succeeds."""

import random
from pathlib import Path

from bench.edits.carrying import carried_of, outcomes
from bench.edits.scoring import Outcome, treadle_score
from bench.edits.tasks import FORMS, tasks_of

SOURCES = sorted((Path(__file__).parents[2] / "src" / "treadle" / "edits").glob("*.py"))


def test_every_edit_task_succeeds() -> None:
    chance = random.Random(3)
    made = [task for path in SOURCES for task in tasks_of("Python", path, chance)]
    score = treadle_score(made)
    assert {task.form for task in made} == set(FORMS)
    assert any(task.file is None for task in made)
    assert [reason for _, reason in score.reasons] == []


def test_no_change_is_relocated_to_a_wrong_position() -> None:
    chance = random.Random(3)
    cases = [case for path in SOURCES * 3 if (case := carried_of(path, chance))]
    for undo in (False, True):
        counts = outcomes(cases, undo=undo)
        assert counts[Outcome.WRONG] == 0
        assert counts[Outcome.RIGHT] > 0.8 * len(cases)
