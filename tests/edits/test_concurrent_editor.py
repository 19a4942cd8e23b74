"""An editor saves at any moment of an application: its version is complete afterwards."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.system import FakeSystem
from treadle.edits.model import EditError, ProposalState
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.requests import CreateFile, DeleteFile, EditRequest, ReplaceEdit
from treadle.edits.service import Edits
from treadle.edits.tree import System

BEFORE = b"one\ntwo\nthree\n"
SAVED = b"one\ntwo\nthree\nfour, by the person\n"

Save = Callable[[Path], object]


def by_renaming(path: Path) -> None:
    other = path.with_name("saved~")
    other.write_bytes(SAVED)
    other.replace(path)


def in_place(path: Path) -> None:
    path.write_bytes(SAVED)


def slowly_in_place(path: Path) -> threading.Thread:
    """Opens the file now; empties and writes it while the application continues."""
    file = path.open("r+b")

    def write() -> None:
        with file:
            time.sleep(0.001)
            file.truncate()
            file.flush()
            time.sleep(0.02)
            file.write(SAVED)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def _knows_leases(folder: Path) -> bool:
    path = folder / "probe"
    path.write_bytes(b"")
    with path.open("r+b"):
        file = os.open(path, os.O_RDONLY)
        try:
            return System().is_open_for_writing(file)
        finally:
            os.close(file)


@pytest.mark.parametrize(
    ("save", "exchanges"),
    [
        (by_renaming, True),
        (in_place, True),
        (in_place, False),
        (slowly_in_place, True),
        (slowly_in_place, False),
    ],
)
@pytest.mark.parametrize("request_", [ReplaceEdit("a.py", "two", "TWO"), DeleteFile("a.py")])
def test_concurrent_saves_of_an_editor_are_kept(
    quick_path: Path, save: Save, exchanges: bool, request_: EditRequest
) -> None:
    if save is slowly_in_place and not _knows_leases(quick_path):
        pytest.skip("this file system does not tell who writes a file")
    root = quick_path / "root"
    root.mkdir()
    system = FakeSystem(exchanges=exchanges)
    store = ProposalStore.open(quick_path / "data/proposals.db")
    edits = Edits(root, store, system=system)
    path = root / "a.py"
    running: list[object] = []
    number, conflicts, total = 0, 0, 1
    while number < total:
        number += 1
        path.unlink(missing_ok=True)
        path.write_bytes(BEFORE)
        system.do_at(None, lambda: None)
        proposal = edits.stage([request_])
        running.clear()
        # Once the file is away, an editor can only save to a new file.
        system.do_at(number, lambda: running.append(save(path)) if path.exists() else None)
        try:
            edits.apply(proposal.id)
        except EditError:
            conflicts += 1
            assert edits.get(proposal.id).state is ProposalState.CONFLICTED
        total = max(total, len(system.calls))
        for thread in running:
            if isinstance(thread, threading.Thread):
                thread.join()
        if running:
            assert path.read_bytes() == SAVED, (number, system.calls)
        assert [each.name for each in root.iterdir()] == (["a.py"] if path.exists() else [])
    assert conflicts > 10
    store.close()


def test_a_creation_never_replaces_a_file(root: Path, edits: Edits, system: FakeSystem) -> None:
    number, conflicts, total = 0, 0, 1
    while number < total:
        number += 1
        (root / "a.py").unlink(missing_ok=True)
        system.do_at(None, lambda: None)
        proposal = edits.stage([CreateFile("a.py", "ours\n")])
        system.do_at(number, lambda: (root / "a.py").write_bytes(SAVED))
        try:
            edits.apply(proposal.id)
        except EditError:
            conflicts += 1
            assert edits.get(proposal.id).state is ProposalState.CONFLICTED
        total = max(total, len(system.calls))
        saved = len(system.calls) >= number
        assert (root / "a.py").read_bytes() == (SAVED if saved else b"ours\n")
        assert len(list(root.iterdir())) == 1
    assert conflicts > 10
