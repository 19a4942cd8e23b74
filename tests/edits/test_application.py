"""Proposals on real files: no byte changes that an edit does not name."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.database.notes import encoded
from treadle.app.stores import Stores
from treadle.edits.freshness import Freshness
from treadle.edits.model import EditError, ProposalState
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.requests import CreateFile, DeleteFile, LineRangeEdit, RenameFile, ReplaceEdit
from treadle.edits.service import Edits
from treadle.errors import PathRefusedError, TreadleError
from treadle.events.types import ErrorKind


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_touched_file_is_fresh_and_a_changed_file_is_not(root: Path, edits: Edits) -> None:
    file = root / "a.py"
    file.write_bytes(b"a = 1\nb = 2\n")
    proposal = edits.stage([ReplaceEdit("a.py", "b = 2", "b = 3")])
    os.utime(file, (1, 1))
    assert edits.freshness(proposal) == (Freshness.FRESH,)
    file.write_bytes(b"a = 1\nb = 4\n")
    assert edits.freshness(proposal) == (Freshness.CHANGED,)
    with pytest.raises(EditError) as error:
        edits.apply(proposal.id)
    assert error.value.kind is ErrorKind.CONFLICT
    assert file.read_bytes() == b"a = 1\nb = 4\n"
    assert edits.get(proposal.id).state is ProposalState.CONFLICTED
    file.write_bytes(b"a = 1\nb = 2\n")
    again = edits.stage([ReplaceEdit("a.py", "b = 2", "b = 3")])
    edits.apply(again.id)
    own_last_write = edits.stage([ReplaceEdit("a.py", "b = 3", "b = 5")])
    edits.apply(own_last_write.id)
    assert file.read_bytes() == b"a = 1\nb = 5\n"


def test_links_are_not_followed_by_writes(root: Path, edits: Edits) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "a.py").write_bytes(b"a = 1\n")
    (root / "folder").symlink_to(outside)
    (root / "file.py").symlink_to(outside / "a.py")
    for path in ("folder/a.py", "file.py", "../outside/a.py", "folder/new.py"):
        with pytest.raises(TreadleError):
            edits.stage([CreateFile(path, "x", overwrite=True)])
    (root / "real").mkdir()
    proposal = edits.stage([CreateFile("real/new.py", "x = 1\n")])
    (root / "real").rmdir()
    (root / "real").symlink_to(outside)
    with pytest.raises(TreadleError):
        edits.apply(proposal.id)
    assert names(outside) == ["a.py"]
    assert (outside / "a.py").read_bytes() == b"a = 1\n"


def test_the_root_may_be_a_link_and_parents_may_be_missing(
    root: Path, store: ProposalStore
) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    edits = Edits(link, store)
    edits.apply(edits.stage([CreateFile("deep/er/a.py", "a = 1\n")]).id)
    assert (root / "deep/er/a.py").read_bytes() == b"a = 1\n"
    edits.undo(edits.list()[0].id)
    assert names(root) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_leaves_the_proposal_applicable(root: Path, edits: Edits) -> None:
    (root / "a.py").write_bytes(b"a = 1\n")
    proposal = edits.stage([ReplaceEdit("a.py", "1", "2")])
    root.chmod(0o555)
    try:
        with pytest.raises(EditError):
            edits.apply(proposal.id)
    finally:
        root.chmod(0o755)
    assert (root / "a.py").read_bytes() == b"a = 1\n"
    assert edits.get(proposal.id).state is ProposalState.FAILED


def test_edits_of_a_large_file_are_stored_as_hunks(
    root: Path, edits: Edits, store: ProposalStore
) -> None:
    line = b"some_value = some_call(with_an_argument)\n"
    (root / "big.py").write_bytes(line * (5_000_000 // len(line)))
    for number in range(7):
        at = 10_000 * (number + 1)
        edits.apply(edits.stage([LineRangeEdit("big.py", at, at, f"x = {number}\n")]).id)
    size = sum(path.stat().st_size for path in store.folder.glob("proposals.db*"))
    assert size < 400_000
    for proposal in edits.list():
        edits.undo(proposal.id)
    assert (root / "big.py").read_bytes() == line * (5_000_000 // len(line))


def test_an_edit_that_changes_nothing_is_an_error(root: Path, edits: Edits) -> None:
    (root / "a.py").write_bytes(b"a = 1\n")
    with pytest.raises(EditError):
        edits.stage([ReplaceEdit("a.py", "a = 1", "a = 1")])
    assert edits.list() == ()


def test_undo_reverts_only_the_hunks_of_the_proposal(root: Path, edits: Edits) -> None:
    (root / "a.py").write_bytes(b"".join(b"v%d = 0\n" % n for n in range(20)))
    proposal = edits.stage([ReplaceEdit("a.py", "v9 = 0\n", "v9 = 1\n")])
    edits.apply(proposal.id)
    mine = (root / "a.py").read_bytes().replace(b"v0 = 0\n", b"v0 = 'mine'\nnew = 1\n")
    (root / "a.py").write_bytes(mine)
    edits.undo(proposal.id)
    assert (root / "a.py").read_bytes() == mine.replace(b"v9 = 1\n", b"v9 = 0\n")
    edits.redo(proposal.id)
    (root / "a.py").write_bytes(mine.replace(b"v9 = 1\n", b"v9 = 2\n"))
    with pytest.raises(EditError) as error:
        edits.undo(proposal.id)
    assert error.value.kind is ErrorKind.CONFLICT
    assert (root / "a.py").read_bytes() == mine.replace(b"v9 = 1\n", b"v9 = 2\n")


def test_permissions_are_kept_and_private_files_are_refused(root: Path, edits: Edits) -> None:
    (root / "run.sh").write_bytes(b"echo 1\n")
    (root / "run.sh").chmod(0o751)
    edits.apply(edits.stage([ReplaceEdit("run.sh", "1", "2")]).id)
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o751
    for path in (".env", ".git/hooks/pre-commit", "tls/server.key"):
        with pytest.raises(PathRefusedError):
            edits.stage([CreateFile(path, "x")])


_WORKER = """
import sys
from pathlib import Path
from uuid import UUID
from tests.database.notes import decoded
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.service import Edits
from treadle.errors import TreadleError
root, database, *ids = sys.argv[1:]
edits = Edits(Path(root), ProposalStore.open(decoded(database)))
for each in ids:
    try:
        edits.apply(UUID(each))
        print("applied", flush=True)
    except TreadleError as error:
        print("refused", flush=True)
"""


def test_two_processes_can_apply_to_one_file_without_loss(
    root: Path, edits: Edits, both_stores: Stores
) -> None:
    """Each edit is in the file or was refused."""
    count = 24
    text = "".join(f"value_{n} = 0\n\n\n\n\n\n\n\n" for n in range(count))
    (root / "a.py").write_text(text)
    ids = [
        str(edits.stage([ReplaceEdit("a.py", f"value_{n} = 0", f"value_{n} = 1")]).id)
        for n in range(count)
    ]
    arguments = [sys.executable, "-c", _WORKER, str(root), encoded(both_stores.proposals)]
    shares = (ids[::2], ids[1::2])
    processes = [
        subprocess.Popen([*arguments, *share], stdout=subprocess.PIPE, text=True)
        for share in shares
    ]
    said = [process.communicate(timeout=60)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    lines = (root / "a.py").read_text()
    for share, words in zip(shares, said, strict=True):
        for each, word in zip(share, words, strict=True):
            number = ids.index(each)
            assert (f"value_{number} = 1\n" in lines) == (word == "applied")
            state = edits.get(UUID(each)).state
            assert (state is ProposalState.APPLIED) == (word == "applied")
    assert sum(words.count("applied") for words in said) >= 1
    assert names(root) == ["a.py"]


LINES = st.sampled_from([b"one", b"two", b"  three", b"\xff\xfe", b"", b"\xc3\xa9"])
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
FILES = st.lists(st.tuples(LINES, ENDS), max_size=12).map(
    lambda pairs: b"".join(line + end for line, end in pairs)
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["stage", "apply", "deny", "undo", "redo", "user", "rename", "delete"]),
        st.integers(0, 12),
    ),
    max_size=14,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=FILES, other=FILES, steps=STEPS)
def test_any_sequence_changes_only_bytes_that_edits_name(
    quick_path: Path, content: bytes, other: bytes, steps: list[tuple[str, int]]
) -> None:
    """Inserts and removes a marker in one file; the rest of it and the other file stay."""
    root = quick_path / f"root-{len(list(quick_path.iterdir()))}"
    root.mkdir()
    (root / "a.txt").write_bytes(content)
    (root / "b.txt").write_bytes(other)
    store = ProposalStore.open(quick_path / f"{root.name}.db")
    edits = Edits(root, store)
    clean = content
    for step, number in steps:
        known = edits.list()
        chosen = known[number % len(known)].id if known else None
        try:
            if step == "stage":
                edits.stage([LineRangeEdit("a.txt", number + 1, number, f"@{len(known)}@\n")])
            elif step == "rename":
                edits.stage([RenameFile("a.txt", "a.txt.moved"), DeleteFile("missing.txt")])
            elif step == "delete":
                edits.stage([DeleteFile("a.txt", expected_hash="0" * 64)])
            elif step == "user":
                clean = b"user\n" + clean
                (root / "a.txt").write_bytes(b"user\n" + (root / "a.txt").read_bytes())
            elif chosen is not None:
                getattr(edits, step)(chosen)
        except TreadleError:
            pass
        assert _without_markers((root / "a.txt").read_bytes()) == _without_markers(clean)
        assert (root / "b.txt").read_bytes() == other
        assert names(root) == ["a.txt", "b.txt"]
    store.close()


def _without_markers(data: bytes) -> bytes:
    """The content without inserted lines and without line ends at its end.

    A line that is inserted after a line without an end gives it one.
    """
    return re.sub(rb"@\d+@(?:\r\n|\n|\r)?", b"", data).rstrip(b"\r\n")


@pytest.mark.parametrize("name", ["folder/", "a\0b", "/"])
def test_paths_that_name_no_file_are_refused(root: Path, edits: Edits, name: str) -> None:
    with pytest.raises(PathRefusedError) as error:
        edits.stage([CreateFile(name, "x")])
    assert error.value.hint
    assert names(root) == []


def test_an_invalid_name_is_not_reported_as_a_disk_failure(edits: Edits) -> None:
    with pytest.raises(EditError) as error:
        edits.stage([CreateFile("n" * 300, "x")])
    assert error.value.kind is ErrorKind.VALIDATION
    assert error.value.hint == "Choose another name."


def two_hunks(root: Path, edits: Edits) -> UUID:
    (root / "a.py").write_bytes(b"".join(b"line %d\n" % number for number in range(30)))
    first = ReplaceEdit("a.py", "line 3\n", "three\n")
    return edits.stage([first, ReplaceEdit("a.py", "line 20\n", "twenty\n")]).id


def test_a_failed_apply_of_hunks_does_not_deny_the_others(root: Path, edits: Edits) -> None:
    staged = two_hunks(root, edits)
    before = (root / "a.py").read_bytes()
    (root / "a.py").write_bytes(b"# mine\n" + before)
    with pytest.raises(EditError):
        edits.apply(staged, hunks={(0, 1)}, words="only that")
    kept = edits.get(staged)
    assert (kept.state, kept.denied, kept.words) == (ProposalState.CONFLICTED, frozenset(), None)
    edits.restage(staged)
    applied = edits.apply(staged, hunks={(0, 1)}, words="only that")
    assert (applied.denied, applied.words) == (frozenset({(0, 0)}), "only that")
    assert (root / "a.py").read_bytes() == b"# mine\n" + before.replace(b"line 20", b"twenty")


def test_a_denied_hunk_cannot_be_applied(root: Path, edits: Edits) -> None:
    staged = two_hunks(root, edits)
    before = (root / "a.py").read_bytes()
    edits.deny(staged, hunks={(0, 0)})
    for chosen in ({(0, 0)}, {(0, 0), (0, 1)}):
        with pytest.raises(EditError) as error:
            edits.apply(staged, hunks=chosen)
        assert error.value.kind is ErrorKind.DENIED
        assert edits.get(staged).state is ProposalState.STAGED
    assert (root / "a.py").read_bytes() == before
    edits.apply(staged, hunks={(0, 1)})
    with pytest.raises(EditError, match="is applied already") as error:
        edits.apply(staged)
    assert error.value.hint == "A denied part needs a new edit."
    edits.undo(staged)
    with pytest.raises(EditError, match="is undone already") as error:
        edits.undo(staged)
    assert error.value.hint == "Redo it, or propose a new edit."


def test_a_conflict_of_an_undo_suggests_what_to_do(root: Path, edits: Edits) -> None:
    staged = two_hunks(root, edits)
    edits.apply(staged, hunks={(0, 1)})
    file = root / "a.py"
    file.write_bytes(file.read_bytes().replace(b"twenty", b"mine"))
    with pytest.raises(EditError, match="the change of line 21 has no position") as error:
        edits.undo(staged)
    assert error.value.hint == "Restore its earlier content, or make the change by hand."
