"""The file of proposals: opened, shared, and refused if it is damaged or newer."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from stat import S_IMODE

import pytest

from treadle.app.stores import Stores
from treadle.edits.model import ProposalState
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.requests import ReplaceEdit
from treadle.edits.service import Edits
from treadle.errors import NotFoundError, StoreError, TreadleError


def test_a_proposal_survives_a_restart_and_belongs_to_its_repository(
    root: Path, edits: Edits, both_stores: Stores
) -> None:
    (root / "a.py").write_bytes(b"a = \xff1\nb = 2\n")
    staged = edits.stage([ReplaceEdit("a.py", "b = 2", "b = 3")], turn=3, slot=1)
    again = ProposalStore.open(both_stores.proposals)
    assert Edits(root, again).find("LAST") == staged
    assert again.get(str(staged.id)[:13]) == staged
    if isinstance(both_stores.proposals, Path):
        assert S_IMODE(both_stores.proposals.stat().st_mode) == 0o600
    other = root.parent / "other"
    other.mkdir()
    with pytest.raises(NotFoundError) as error:
        Edits(other, again).find("LAST")
    assert error.value.hint
    again.close()


def test_a_proposal_is_never_applied_to_another_copy_of_its_repository(
    root: Path, edits: Edits, store: ProposalStore
) -> None:
    (root / "a.py").write_bytes(b"a = 1\n")
    staged = edits.stage([ReplaceEdit("a.py", "1", "2")])
    copy = root.parent / "copy"
    copy.mkdir()
    (copy / "a.py").write_bytes(b"a = 1\n")
    there = Edits(copy, store)
    for reference in (str(staged.id), str(staged.id)[:13]):
        with pytest.raises(NotFoundError, match="in this repository"):
            there.find(reference)
    for decide in (there.get, there.preview, there.apply, there.deny, there.restage):
        with pytest.raises(NotFoundError):
            decide(staged.id)
    assert (copy / "a.py").read_bytes() == b"a = 1\n"
    edits.apply(staged.id)
    for move in (there.undo, there.redo):
        with pytest.raises(NotFoundError):
            move(staged.id)
    assert (root / "a.py").read_bytes() == b"a = 2\n"


def test_only_one_of_two_concurrent_decisions_is_stored(
    root: Path, edits: Edits, store: ProposalStore, both_stores: Stores
) -> None:
    (root / "a.py").write_bytes(b"a = 1\n")
    staged = edits.stage([ReplaceEdit("a.py", "1", "2")])
    other = ProposalStore.open(both_stores.proposals)
    other.replace(staged, replace(staged, state=ProposalState.DENIED))
    with pytest.raises(TreadleError):
        store.replace(staged, replace(staged, state=ProposalState.CONFLICTED))
    assert edits.get(staged.id).state is ProposalState.DENIED
    with pytest.raises(TreadleError):
        edits.apply(staged.id)
    assert (root / "a.py").read_bytes() == b"a = 1\n"
    other.close()


def test_a_damaged_or_newer_store_is_refused_and_unchanged(tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no database, but a text that is long enough to be one\n" * 40)
    before = broken.read_bytes()
    with pytest.raises(StoreError):
        ProposalStore.open(broken)
    assert broken.read_bytes() == before
    newer = tmp_path / "newer.db"
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreError):
        ProposalStore.open(newer)
