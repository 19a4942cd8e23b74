"""Changes that are moved to a file that changed meanwhile, or reversed."""

import pytest

from tests.edits.planned import planned, result
from treadle.edits.model import ChangeKind, EditError, FileChange, content_hash, splice
from treadle.edits.plan import plan
from treadle.edits.relocation import rehunk, relocate, reverse
from treadle.edits.requests import CreateFile, DeleteFile, EditRequest, RenameFile, ReplaceEdit
from treadle.events.types import ErrorKind

TEXT = b"".join(b"line %d\n" % number for number in range(1, 21))


def change_of(*edits: EditRequest) -> FileChange:
    (change,) = planned(TEXT, *edits).changes
    return change


def conflict(change: FileChange, present: bytes) -> str:
    with pytest.raises(EditError) as caught:
        relocate(change, present)
    assert caught.value.kind is ErrorKind.CONFLICT
    assert caught.value.path == "f"
    assert caught.value.received == content_hash(present)
    return str(caught.value)


def test_an_unchanged_file_needs_no_relocation() -> None:
    change = change_of(ReplaceEdit("f", "line 7\n", "seven\n"))
    assert relocate(change, TEXT) is change


def test_a_change_follows_lines_that_moved() -> None:
    change = change_of(
        ReplaceEdit("f", "line 7\n", "seven\n"), ReplaceEdit("f", "line 17\n", "17\n")
    )
    present = b"mine\n" + TEXT.replace(b"line 12\n", b"")
    moved = relocate(change, present)
    assert [hunk.line for hunk in moved.hunks] == [8, 17]
    after = splice(present, moved.hunks)
    assert after == present.replace(b"line 7\n", b"seven\n").replace(b"line 17\n", b"17\n")
    assert (moved.base_hash, moved.result_hash) == (content_hash(present), content_hash(after))


def test_partial_context_is_enough() -> None:
    change = change_of(ReplaceEdit("f", "line 7\n", "seven\n"))
    for mine in (b"line 5\n", b"line 9\n", b"line 8\n"):
        present = TEXT.replace(mine, b"mine\n")
        assert splice(present, relocate(change, present).hunks) == present.replace(
            b"line 7\n", b"seven\n"
        )


def test_undo_reverts_only_its_own_lines() -> None:
    change = change_of(ReplaceEdit("f", "line 7\n", "seven\neight\n"))
    present = splice(TEXT, change.hunks).replace(b"line 3\n", b"mine\n").replace(b"line 8\n", b"")
    undone = relocate(reverse(change), present)
    assert splice(present, undone.hunks) == TEXT.replace(b"line 3\n", b"mine\n").replace(
        b"line 8\n", b""
    )


def test_hunks_without_a_position_are_named_with_the_current_lines() -> None:
    change = change_of(ReplaceEdit("f", "line 7\n", "seven\n"), ReplaceEdit("f", "line 12\n", ""))
    said = conflict(change, TEXT.replace(b"line 7\n", b"mine\n").replace(b"line 12\n", b"too\n"))
    assert "the change of line 7 has no position, because the file now has 'mine', 'line 8'" in said
    assert "the change of line 12 has no position, because the file now has 'too'" in said


def test_a_position_must_be_unique() -> None:
    change = change_of(ReplaceEdit("f", "line 7\n", "seven\n"))
    said = conflict(change, TEXT + TEXT)
    assert "matches several positions, lines 7 and 27" in said


def test_a_copy_of_the_lines_is_not_mistaken_for_the_changed_position() -> None:
    part = b"".join(b"call %d\n" % number for number in range(9))
    base = b"def f\n" + part + b"def g\n" + part
    edit = "\n".join(["def f", *(f"call {number}" for number in range(5))])
    (change,) = planned(base, ReplaceEdit("f", edit, edit.replace("4", "four"))).changes
    assert "has no position" in conflict(change, base.replace(b"call 3", b"mine", 1))


def test_brackets_alone_do_not_locate_a_hunk() -> None:
    base = b"a\n{\n}\nb\nc\n"
    (change,) = planned(base, ReplaceEdit("f", "a\n{\n}\n", "a\n{\n}\n{\n}\n")).changes
    assert "has no position" in conflict(change, b"x\n}\ny\nz\n")


def test_a_created_or_deleted_file_must_be_unchanged() -> None:
    (applied,) = planned(None, CreateFile("f", "a\n")).changes
    assert "a file now exists there" in conflict(applied, b"b\n")
    (gone,) = planned(b"a\n", DeleteFile("f")).changes
    assert relocate(gone, b"a\n") is gone
    assert "would be lost" in conflict(gone, b"b\n")


def test_a_rename_keeps_the_current_content() -> None:
    (change,) = plan([RenameFile("f", "g")], {"f": b"a\n"}.get).changes
    moved = relocate(change, b"b\n")
    assert moved.base_hash == moved.result_hash == content_hash(b"b\n")


def test_every_kind_of_change_can_be_reversed() -> None:
    files = {"b": b"b\n", "c": b"c\n"}
    applied = plan([CreateFile("a", "a\n"), DeleteFile("b"), RenameFile("c", "d")], files.get)
    back = [reverse(change) for change in applied.changes]
    assert [(c.kind, c.path, c.target) for c in back] == [
        (ChangeKind.DELETE, "a", None),
        (ChangeKind.CREATE, "b", None),
        (ChangeKind.RENAME, "d", "c"),
    ]
    assert [reverse(change) for change in back] == list(applied.changes)


def test_the_context_of_a_reversed_hunk_is_that_of_the_result() -> None:
    edits = [ReplaceEdit("f", f"line {n}\n", f"new {n}\nmore {n}\n") for n in (7, 9, 11)]
    change = change_of(*edits)
    after = splice(TEXT, change.hunks)
    for hunk in reverse(change).hunks:
        assert after[hunk.start - len(hunk.before) : hunk.start] == hunk.before
        assert after[hunk.end : hunk.end + len(hunk.after)] == hunk.after
        assert hunk.before.count(b"\n") == hunk.after.count(b"\n") == 3


def test_two_long_contents_are_compared_in_bounded_time() -> None:
    base = b"".join(b"line %d\n" % (number % 700) for number in range(50_000))
    other = b"".join(b"line %d\n" % (number % 900) for number in range(50_000))
    change = rehunk("f", base, other)
    assert splice(base, change.hunks) == other
    few = base.replace(b"line 13\n", b"changed\n")
    assert len(rehunk("f", base, few).hunks) == base.count(b"line 13\n")


def test_an_edit_and_its_undo_together_change_nothing() -> None:
    applied = planned(TEXT, ReplaceEdit("f", "line 2\n", "two\n"))
    after = result(TEXT, applied)
    assert splice(after, reverse(applied.changes[0]).hunks) == TEXT
