"""Undo and redo of single files of a proposal, and the simulation of a sequence of undos."""

import itertools
from pathlib import Path

import pytest

from tests.edits.trees import PLAN, fill, snapshot
from tests.fakes.system import FakeSystem
from treadle.edits.model import Proposal, ProposalState
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.requests import CreateFile, DeleteFile, EditRequest, RenameFile, ReplaceEdit
from treadle.edits.service import Edits

APPLIED, UNDONE, PARTLY = (
    ProposalState.APPLIED, ProposalState.UNDONE, ProposalState.PARTLY_UNDONE,
)  # fmt: skip
EVERY = frozenset(range(4))
"""The numbers of the files of `PLAN`."""
SUBSETS = [
    frozenset(chosen) for size in (1, 2, 3) for chosen in itertools.combinations(EVERY, size)
]


class Killed(BaseException):
    """Ends a write as the death of its process does: nothing is put back."""


@pytest.fixture
def applied(root: Path, edits: Edits) -> Proposal:
    fill(root)
    return edits.apply(edits.stage(PLAN).id)


def state(edits: Edits, proposal: Proposal) -> tuple[ProposalState, frozenset[int]]:
    found = edits.get(proposal.id)
    return found.state, found.undone_files()


def test_any_files_can_be_undone_and_redone(root: Path, edits: Edits, applied: Proposal) -> None:
    after = snapshot(root)
    for files in SUBSETS:
        edits.undo(applied.id, files=files)
        assert state(edits, applied) == (PARTLY, files)
        edits.redo(applied.id, files=files)
        assert state(edits, applied) == (APPLIED, frozenset())
        assert snapshot(root) == after


def test_any_files_of_an_undone_proposal_can_be_redone(
    root: Path, edits: Edits, applied: Proposal
) -> None:
    after = snapshot(root)
    edits.undo(applied.id)
    before = snapshot(root)
    for files in SUBSETS:
        edits.redo(applied.id, files=files)
        assert state(edits, applied) == (PARTLY, EVERY - files)
        part = snapshot(root)
        edits.redo(applied.id)
        assert state(edits, applied) == (APPLIED, frozenset())
        assert snapshot(root) == after
        edits.undo(applied.id, files=EVERY - files)
        assert snapshot(root) == part
        edits.undo(applied.id)
        assert state(edits, applied) == (UNDONE, EVERY)
        assert snapshot(root) == before


def test_killed_redo_of_some_files_is_completed_or_reverted(
    root: Path, store: ProposalStore, system: FakeSystem, edits: Edits, applied: Proposal
) -> None:
    def die() -> None:
        raise Killed

    edits.undo(applied.id)
    before = snapshot(root)
    ends = set()
    for number in itertools.count(1, 3):
        system.do_at(number, die, lasting=True)
        try:
            edits.redo(applied.id, files=[0, 2])
        except Killed:
            system.do_at(None, die)
            Edits(root, store).recover()
        else:
            break
        ends.add(state(edits, applied))
        if state(edits, applied)[0] is PARTLY:
            edits.undo(applied.id)
        assert state(edits, applied) == (UNDONE, EVERY)
        assert snapshot(root) == before
    assert ends == {(UNDONE, EVERY), (PARTLY, frozenset({1, 3}))}


def test_simulated_undos_have_the_effect_of_real_ones(root: Path, edits: Edits) -> None:
    fill(root)
    before = {path: data for path, (data, _) in snapshot(root).items()}
    plans: list[list[EditRequest]] = [
        [ReplaceEdit("d.py", "two", "TWO"), CreateFile("new.py", "one\n")],
        [ReplaceEdit("d.py", "TWO", "deux"), ReplaceEdit("new.py", "one", "ONE")],
        [RenameFile("d.py", "e.py"), DeleteFile("other.py")],
        [ReplaceEdit("e.py", "deux", "zwei")],
    ]
    proposals = [edits.apply(edits.stage(plan).id) for plan in plans]
    present = {path: data for path, (data, _) in snapshot(root).items()}
    steps = [(each.id, None) for each in reversed(proposals)]
    simulation = edits.simulate(steps, UNDONE)
    assert not any(step.conflicts or step.later_changes for step in simulation.steps)
    expected = dict(present)
    for path, (old, new) in simulation.differences().items():
        assert present.get(path) == old
        if new is None:
            del expected[path]
        else:
            expected[path] = new
    assert expected == before
    for each in reversed(proposals):
        edits.undo(each.id)
    assert {path: data for path, (data, _) in snapshot(root).items()} == before
    assert edits.simulate(steps[::-1], APPLIED).differences().keys() == {
        "d.py", "e.py", "new.py", "other.py",
    }  # fmt: skip
