"""Unified diffs from hunks alone: safe to show, with counts of changed lines."""

import subprocess
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.edits.planned import planned
from treadle.edits.diffs import counts, unified
from treadle.edits.model import FileChange, splice
from treadle.edits.plan import plan
from treadle.edits.requests import CreateFile, DeleteFile, EditRequest, RenameFile, ReplaceEdit

TEXT = b"".join(b"line %d\n" % number for number in range(1, 21))


def change_of(data: bytes, *edits: EditRequest) -> FileChange:
    (change,) = planned(data, *edits).changes
    return change


def test_hunks_with_touching_context_are_one_group() -> None:
    change = change_of(
        TEXT,
        ReplaceEdit("f", "line 3\n", "three\n3\n"),
        ReplaceEdit("f", "line 8\n", ""),
        ReplaceEdit("f", "line 18\n", "18\n"),
    )
    assert unified(change) == snapshot("""\
diff --git a/f b/f
--- a/f
+++ b/f
@@ -1,11 +1,11 @@
 line 1
 line 2
-line 3
+three
+3
 line 4
 line 5
 line 6
 line 7
-line 8
 line 9
 line 10
 line 11
@@ -15,6 +15,6 @@
 line 15
 line 16
 line 17
-line 18
+18
 line 19
 line 20
""")
    assert counts(change) == (3, 3)


def test_created_deleted_and_renamed_files_have_git_headers() -> None:
    files = {"b": b"b\n", "c": b"c"}
    planned = plan(
        [CreateFile("a", "a\n"), DeleteFile("b"), RenameFile("c", "d\te"), CreateFile("é", "")],
        files.get,
    )
    assert "".join(unified(change) for change in planned.changes) == snapshot("""\
diff --git a/a b/a
new file mode 100644
--- /dev/null
+++ b/a
@@ -0,0 +1,1 @@
+a
diff --git a/b b/b
deleted file mode 100644
--- a/b
+++ /dev/null
@@ -1,1 +0,0 @@
-b
diff --git a/c "b/d\\011e"
rename from c
rename to "d\\011e"
diff --git "a/\\303\\251" "b/\\303\\251"
new file mode 100644
""")
    assert [counts(change) for change in planned.changes] == [(1, 0), (0, 1), (0, 0), (0, 0)]


def test_control_characters_and_unreadable_bytes_are_escaped() -> None:
    data = "a = 1 # \u00e9\u00e9\u00e9 caf".encode() + b"\xe9 \x1b[31m\n"
    change = change_of(data, ReplaceEdit("f", "a = 1", "a = '\u202e\x07'"))
    assert unified(change) == snapshot("""\
diff --git a/f b/f
--- a/f
+++ b/f
@@ -1,1 +1,1 @@
-a = 1 # ééé caf\\xe9 ␛[31m
+a = '‹U+202E›␇' # ééé caf\\xe9 ␛[31m
""")  # noqa: RUF001  (the signs that the page shows as well)


def test_line_ends_are_shown_only_if_they_differ() -> None:
    assert "\u240d" not in unified(change_of(b"a\r\nb\r\n", ReplaceEdit("f", "b", "c")))
    change = change_of(b"a\nb\n", ReplaceEdit("f", "a\nb\n", "a\r\nb\r\n"))
    assert unified(change).splitlines()[-2:] == ["+a\u240d", "+b\u240d"]


def test_a_long_line_is_shown_in_part() -> None:
    data = b"x" * 9_000 + b"a" + b"y" * 9_000
    change = change_of(data, ReplaceEdit("f", "a", "b"))
    assert counts(change) == (1, 1)
    assert len(unified(change)) < 9_000


@pytest.mark.parametrize(
    ("data", "edits"),
    [
        (TEXT, [ReplaceEdit("f", "line 3\n", "3\n"), ReplaceEdit("f", "line 20\n", "20")]),
        (b"a\nb", [ReplaceEdit("f", "b", "c")]),
        (b"a\nb", [ReplaceEdit("f", "b", "b\n")]),
        (b"a\n", [ReplaceEdit("f", "a\n", "")]),
    ],
)
def test_git_applies_the_shown_diff(data: bytes, edits: list[ReplaceEdit], tmp_path: Path) -> None:
    change = change_of(data, *edits)
    (tmp_path / "f").write_bytes(data)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=unified(change).encode(), check=True)
    assert (tmp_path / "f").read_bytes() == splice(data, change.hunks)
