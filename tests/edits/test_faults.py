"""Whichever system call fails, all files are old or all are new, and nothing else is left."""

import errno
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from tests.edits.trees import PLAN, Snapshot, fill, snapshot
from tests.fakes.system import FakeSystem, fail
from treadle.edits.model import EditError, ProposalState
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.service import Edits

_SLOW = pytest.mark.slow
_EACH = [
    pytest.param(
        operation, exchanges, marks=[] if (operation, exchanges) == ("apply", True) else _SLOW
    )
    for operation in ("apply", "undo", "redo")
    for exchanges in (True, False)
]
OPERATIONS = ("apply", "undo", "redo")


class Workshop:
    """A repository whose proposal is ready for an operation, created again for each fault."""

    def __init__(self, folder: Path, operation: str, *, exchanges: bool) -> None:
        self.root = folder / "root"
        fill(self.root)
        self.system = FakeSystem(exchanges=exchanges)
        self.store = ProposalStore.open(folder / "data/proposals.db")
        self.edits = Edits(self.root, self.store, system=self.system)
        self.id: UUID = self.edits.stage(PLAN).id
        for earlier in OPERATIONS[: OPERATIONS.index(operation)]:
            getattr(self.edits, earlier)(self.id)
        self.operation = operation
        self.before = snapshot(self.root)

    def run(self) -> None:
        getattr(self.edits, self.operation)(self.id)

    @property
    def state(self) -> ProposalState:
        return self.edits.get(self.id).state


def _calls_and_result(folder: Path, operation: str, *, exchanges: bool) -> tuple[int, Snapshot]:
    shop = Workshop(folder, operation, exchanges=exchanges)
    shop.system.do_at(None, fail())
    shop.run()
    shop.store.close()
    return len(shop.system.calls), snapshot(shop.root)


@pytest.mark.parametrize(("operation", "exchanges"), _EACH)
def test_a_fault_at_any_call_leaves_files_old_or_new(
    quick_path: Path, operation: str, exchanges: bool
) -> None:
    total, after = _calls_and_result(quick_path / "whole", operation, exchanges=exchanges)
    assert total > 60
    for number in range(1, total + 1):
        shop = Workshop(quick_path / str(number), operation, exchanges=exchanges)
        earlier = shop.state
        shop.system.do_at(number, fail(errno.ENOSPC if number % 2 else errno.EIO))
        failed = None
        try:
            shop.run()
        except EditError as error:
            failed = error
        if failed is not None:
            assert snapshot(shop.root) == shop.before, (number, failed)
            assert failed.hint
            assert shop.state is (ProposalState.FAILED if operation == "apply" else earlier)
            shop.system.do_at(None, fail())
            shop.run()  # the proposal was kept, and works once the disk works
        assert snapshot(shop.root) == after, number
        assert not shop.store.journal(shop.root)
        shop.store.close()
        shutil.rmtree(quick_path / str(number))


@pytest.mark.slow
@pytest.mark.parametrize(("operation", "exchanges"), _EACH[:4])
def test_recovery_succeeds_after_a_failed_disk_works_again(
    quick_path: Path, operation: str, exchanges: bool
) -> None:
    total, after = _calls_and_result(quick_path / "whole", operation, exchanges=exchanges)
    for number in range(1, total + 1):
        shop = Workshop(quick_path / str(number), operation, exchanges=exchanges)
        shop.system.do_at(number, fail(), lasting=True)
        try:
            shop.run()
        except EditError:
            _assert_each_whole(snapshot(shop.root), shop.before, after)
            shop.system.do_at(None, fail())
            shop.edits.recover()
            assert snapshot(shop.root) in (shop.before, after), number
        shop.store.close()
        shutil.rmtree(quick_path / str(number))


def _assert_each_whole(present: Snapshot, before: Snapshot, after: Snapshot) -> None:
    for path in before | after:
        if "." in path:
            assert present.get(path) in (before.get(path), after.get(path)), path


@pytest.mark.parametrize(("operation", "exchanges"), _EACH[:4])
def test_a_kill_at_any_call_leaves_files_old_or_new(
    quick_path: Path, operation: str, exchanges: bool
) -> None:
    script = Path(__file__).with_name("killed.py")
    done = subprocess.run(
        [
            sys.executable,
            str(script),
            str(quick_path),
            operation,
            "exchanges" if exchanges else "links",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    kills, back, on = map(int, done.stdout.split())
    assert kills > 60
    assert back > on > 0
