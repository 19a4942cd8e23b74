"""Kills copies of itself at each call of an operation, and checks the files.

It prints the number of kills, and how often the plan was reverted or completed afterwards.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.edits.trees import PLAN, fill, snapshot
from tests.fakes.system import FakeSystem
from treadle.edits.model import ProposalState
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.service import Edits


def main(folder: Path, operation: str, *, exchanges: bool) -> None:
    number = back = on = 0
    after = None
    while True:
        number += 1
        place = folder / str(number)
        root = place / "root"
        fill(root)
        store = ProposalStore.open(place / "data/proposals.db")
        edits = Edits(root, store)
        proposal = edits.stage(PLAN)
        if operation == "undo":
            edits.apply(proposal.id)
        before = snapshot(root)
        store.close()
        if after is None:
            after = _result(folder / "whole", operation)
        child = os.fork()
        if child == 0:
            _die_at(number, place, operation, exchanges=exchanges)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            sys.stdout.write(f"{number - 1} {back} {on}\n")
            return
        present = snapshot(root)
        for path in before | after:
            if path.endswith(".py"):
                assert present.get(path) in (before.get(path), after.get(path)), (number, path)
        store = ProposalStore.open(place / "data/proposals.db")
        edits = Edits(root, store)
        edits.recover()
        state = edits.get(proposal.id).state
        done = state is (ProposalState.APPLIED if operation == "apply" else ProposalState.UNDONE)
        assert snapshot(root) == (after if done else before), (number, state)
        assert not store.journal(root)
        getattr(edits, operation)(proposal.id) if not done else None
        assert snapshot(root) == after, number
        store.close()
        back, on = back + (not done), on + done
        shutil.rmtree(place)


def _result(place: Path, operation: str) -> dict[str, tuple[bytes, int]]:
    fill(place / "root")
    store = ProposalStore.open(place / "data/proposals.db")
    edits = Edits(place / "root", store)
    proposal = edits.stage(PLAN)
    edits.apply(proposal.id)
    if operation == "undo":
        edits.undo(proposal.id)
    store.close()
    return snapshot(place / "root")


def _die_at(number: int, place: Path, operation: str, *, exchanges: bool) -> None:
    system = FakeSystem(exchanges=exchanges)
    store = ProposalStore.open(place / "data/proposals.db")
    edits = Edits(place / "root", store, system=system)
    proposal = edits.find("last")
    system.do_at(number, lambda: os.kill(os.getpid(), signal.SIGKILL))
    getattr(edits, operation)(proposal.id)
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], exchanges=sys.argv[3] == "exchanges")
