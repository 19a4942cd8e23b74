"""Patches of both forms: how they are parsed, and which lines their hunks match."""

import pytest

from tests.edits.planned import failure, planned, result
from treadle.edits.model import ChangeKind, EditError
from treadle.edits.patches import parse_patch
from treadle.edits.requests import CreateFile, DeleteFile, PatchEdit, RenameFile
from treadle.events.types import ErrorKind

HEAD = "--- a/f\n+++ b/f\n"


def update(body: str) -> str:
    return f"*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n"


def patched(data: bytes, text: str) -> bytes:
    return result(data, planned(data, *parse_patch(text)))


def refusal(data: bytes, text: str) -> EditError:
    return failure(data, *parse_patch(text))


def unreadable(text: str) -> str:
    with pytest.raises(EditError) as caught:
        parse_patch(text)
    assert caught.value.kind is ErrorKind.PARSING
    return str(caught.value)


def test_a_git_diff_changes_several_files() -> None:
    text = """\
diff --git a/new.py b/new.py
new file mode 100644
index 0000000..e69de29
--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+a
+b
\\ No newline at end of file
diff --git a/empty b/empty
new file mode 100644
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-a
diff --git a/old name b/new name
similarity index 90%
rename from old name
rename to new name
--- a/old name\t
+++ b/new name\t
@@ -1 +1 @@
-a
+b
"""
    *first, moved = parse_patch(text)
    assert first == [
        CreateFile("new.py", "a\nb"),
        CreateFile("empty", ""),
        DeleteFile("gone", content="a\n"),
        RenameFile("old name", "new name"),
    ]
    assert isinstance(moved, PatchEdit)
    assert moved.path == "old name"


def test_a_file_is_deleted_only_if_it_has_the_removed_lines() -> None:
    text = "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    (change,) = planned(b"a\n", *parse_patch(text)).changes
    assert change.kind is ChangeKind.DELETE
    assert refusal(b"a\nmine\n", text).kind is ErrorKind.CONFLICT


def test_quoted_names_are_parsed() -> None:
    text = (
        '--- "a/caf\\303\\251 \\"x\\".py"\n+++ "b/caf\\303\\251 \\"x\\".py"\n@@ -1 +1 @@\n-a\n+b\n'
    )
    assert parse_patch(text)[0].path == 'café "x".py'


def test_names_without_prefix_and_with_time_stamps_are_parsed() -> None:
    text = "--- src/f.py\t2026-01-01 00:00:00\n+++ src/f.py\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n"
    assert parse_patch(text)[0].path == "src/f.py"
    assert parse_patch(text.replace("--- src", "--- a/src"))[0].path == "src/f.py"


def test_wrong_line_numbers_and_counts_are_tolerated() -> None:
    assert (
        patched(b"a\nb\nc\n", f"{HEAD}@@ -90,7 +90,1 @@ def f():\n a\n-b\n+x\n c\n") == b"a\nx\nc\n"
    )
    assert patched(b"a\nb\nc\n", f"{HEAD}@@ ... @@\n a\n-b\n+x\n") == b"a\nx\nc\n"
    assert patched(b"a\n\nb\n", f"{HEAD}@@\n a\n\n-b\n+x\n\n\n") == b"a\n\nx\n"


def test_lines_within_the_counts_are_not_headers() -> None:
    text = f"{HEAD}@@ -1,2 +1,2 @@\n--- a\n+++ b\n c\n@@ -4 +4 @@\n-x\n+y\n"
    assert patched(b"-- a\nc\nd\nx\n", text) == b"++ b\nc\nd\ny\n"


def test_fences_and_prose_around_a_patch_are_ignored() -> None:
    text = f"Here it is:\n\n```diff\n{HEAD}@@ -1 +1 @@\n-a\n+b\n```\nDone.\n"
    assert patched(b"a\n", text) == b"b\n"
    fenced = "\n".join(["```", update("@@\n-a\n+b\n"), "```"])
    assert patched(b"a\n", fenced) == b"b\n"


def test_a_patch_with_crlf_is_parsed() -> None:
    text = f"{HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+c\n".replace("\n", "\r\n")
    assert patched(b"a\nb\n", text) == b"a\nc\n"
    assert patched(b"a\r\nb\r\n", text) == b"a\r\nc\r\n"


def test_git_diffs_may_change_line_ends() -> None:
    assert patched(b"a\nb\n", f"{HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+b\r\n") == b"a\nb\r\n"


def test_lf_lines_of_a_patch_match_a_crlf_file() -> None:
    plan = planned(b"a\r\nb\r\n", *parse_patch(f"{HEAD}@@ -1,2 +1,3 @@\n a\n+x\n b\n"))
    assert result(b"a\r\nb\r\n", plan) == b"a\r\nx\r\nb\r\n"
    assert plan.notes == ("f: line 1: its line ends were replaced by those of the file.",)


def test_context_keeps_the_bytes_of_the_file() -> None:
    data = b"a  \n\tb\n# caf\xe9\nc\n"
    assert patched(data, f"{HEAD}@@ -1,2 +1,2 @@\n a\n-\tb\n+\tx\n") == b"a  \n\tx\n# caf\xe9\nc\n"


def test_added_lines_get_the_tabs_of_the_file() -> None:
    data = b"f() {\n\tif (a) {\n\t\tb();\n\t}\n}\n"
    added = "+        if (c) {\n+            b();\n+        }\n"
    body = f"@@\n     if (a) {{\n-        b();\n{added}     }}\n"
    expected = b"f() {\n\tif (a) {\n\t\tif (c) {\n\t\t\tb();\n\t\t}\n\t}\n}\n"
    assert patched(data, update(body)) == expected


def test_the_last_line_end_changes_only_by_the_patch() -> None:
    assert patched(b"a\nb", f"{HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+c\n") == b"a\nc"
    assert patched(b"a\nb", f"{HEAD}@@ -1,2 +1,3 @@\n a\n b\n+c\n") == b"a\nb\nc"
    no_newline = "\\ No newline at end of file\n"
    assert patched(b"a\nb\n", f"{HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+b\n{no_newline}") == b"a\nb"
    assert patched(b"a\nb", f"{HEAD}@@ -1,2 +1,2 @@\n a\n-b\n{no_newline}+b\n") == b"a\nb\n"


@pytest.mark.parametrize("context", [" \n", " int b;\n \n", " int a;\n int b;\n \n"])
def test_empty_context_after_the_last_line_matches_the_end_of_the_file(context: str) -> None:
    data = b"int a;\nint b;\n"
    text = update(f"@@ -1,2 +1,2 @@\n{context}+int c;\n")
    assert patched(data, text) == b"int a;\nint b;\n\nint c;\n"


def test_an_ambiguous_hunk_needs_the_exact_line_number() -> None:
    data = b"a\nb\n---\na\nb\n"
    text = f"{HEAD}@@ -4,2 +4,2 @@\n a\n-b\n+c\n"
    assert patched(data, text) == b"a\nb\n---\na\nc\n"
    error = refusal(data, text.replace("-4,2", "-3,2"))
    assert error.kind is ErrorKind.CONFLICT
    assert "2 times in f: lines 1 and 4" in str(error)


def test_hunks_are_searched_after_the_previous_hunk() -> None:
    data = b"x\na\ny\na\n"
    assert patched(data, update("@@\n-x\n+X\n a\n@@\n y\n-a\n+b\n")) == b"X\na\ny\nb\n"
    error = refusal(b"x\ny\n", update("@@\n-y\n+Y\n@@\n-x\n+X\n"))
    assert "only at line 1" in str(error)


def test_two_hunks_may_share_context_lines() -> None:
    data = b"a\nb\nc\nd\ne\n"
    assert patched(data, update("@@\n-a\n+A\n b\n c\n@@\n b\n c\n-d\n+D\n")) == b"A\nb\nc\nD\ne\n"


CLASSES = b"""\
class A:
    def run(self):
        return 1

    def other(self):
        return 2


class B:
    def run(self):
        return 1
"""


def test_anchors_select_one_of_several_matches() -> None:
    body = "@@ class B:\n@@ def run(self):\n-        return 1\n+        return 3\n"
    assert patched(CLASSES, update(body)) == CLASSES[:-2] + b"3\n"
    body = "@@ class A:\n def run(self):\n-    return 1\n+    return 3\n"
    assert patched(CLASSES, update(body)) == CLASSES.replace(b"return 1", b"return 3", 1)


def test_anchors_that_leave_several_matches_are_refused() -> None:
    error = refusal(CLASSES, update("@@ def run(self):\n-        return 1\n+        return 3\n"))
    assert error.kind is ErrorKind.CONFLICT
    assert "lines 3 and 11" in str(error)


def test_a_hunk_outside_of_its_anchor_is_refused() -> None:
    error = refusal(CLASSES, update("@@ class B:\n-        return 2\n+        return 3\n"))
    assert error.kind is ErrorKind.NOT_FOUND
    assert "line 6" in str(error)


def test_an_anchor_that_is_not_in_the_file_is_refused() -> None:
    error = refusal(CLASSES, update("@@ class C:\n-        return 2\n+        return 3\n"))
    assert "The anchor 'class C:'" in str(error)


def test_a_hunk_may_be_bound_to_the_end_of_the_file() -> None:
    data = b"a\nb\na\n"
    assert patched(data, update("@@\n-a\n+c\n*** End of File\n")) == b"a\nb\nc\n"
    assert patched(data, update("@@\n+c\n*** End of File\n")) == b"a\nb\na\nc\n"


def test_added_lines_without_context_are_refused() -> None:
    assert refusal(b"a\nb\n", f"{HEAD}@@ -1,0 +2 @@\n+c\n").kind is ErrorKind.VALIDATION
    assert patched(b"", f"{HEAD}@@ -0,0 +1 @@\n+c\n") == b"c\n"


def test_an_unmatched_hunk_reports_where_it_differs() -> None:
    error = refusal(b"a\nb\nc\n", f"{HEAD}@@ -1,3 +1,3 @@\n a\n-x\n+y\n c\n")
    assert error.kind is ErrorKind.NOT_FOUND
    assert "line 2 of the file is 'b', and the text has 'x'" in str(error)


def test_a_begin_patch_patch_changes_several_files() -> None:
    text = """\
*** Begin Patch
*** Add File: new.py
+a
+
+b
*** Delete File: gone
*** Update File: f
*** Move to: g
@@ def f():
-a
+b
*** Update File: h
*** Move to: i
*** End Patch
"""
    requests = parse_patch(text)
    assert requests[:3] == (
        CreateFile("new.py", "a\n\nb\n"),
        DeleteFile("gone"),
        RenameFile("f", "g"),
    )
    assert isinstance(requests[3], PatchEdit)
    assert requests[4:] == (RenameFile("h", "i"),)


def test_a_rename_with_hunks_is_one_change() -> None:
    text = "*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n-a\n+b\n*** End Patch"
    (change,) = planned(b"a\n", *parse_patch(text)).changes
    assert (change.kind, change.path, change.target) == (ChangeKind.RENAME, "f", "g")
    assert [(hunk.old, hunk.new) for hunk in change.hunks] == [(b"a\n", b"b\n")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Line 1 of the patch does not start a patch"),
        ("hello\n", "does not start a patch"),
        (f"{HEAD}@@ -1 +1 @@\n-a\nb\n", "Line 5 of the patch does not start with"),
        ("@@ -1 +1 @@\n-a\n+b\n", "before a file is named"),
        (f"{HEAD}@@ something\n-a\n+b\n", "Line 3 of the patch starts a hunk without"),
        (HEAD, "names f, but has no hunk"),
        ("--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", "names two files, a/f and b/g"),
        ("--- /dev/null\n+++ b/f\n@@ -1 +1 @@\n a\n+b\n", "creates or deletes a file"),
        ("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "changes the mode"),
        ("diff --git a/f b/f\nGIT binary patch\nliteral 3\n", "binary patch"),
        ("diff --git a/f b/f\nBinary files a/f and b/f differ\n", "binary patch"),
        ("diff --git a/f b/g\ncopy from f\ncopy to g\n", "copies a file"),
        ("diff --git a/f b/f\nnew file mode 120000\n", "a link or a submodule"),
        (
            "diff --git a/f b/f\nnew file mode 100755\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n",
            "executable",
        ),
        (update(""), "Line 2 of the patch updates f, but has no hunk"),
        (update("@@\n"), "Line 3 of the patch starts an empty hunk"),
        (update("@@\nx\n"), "Line 4 of the patch does not start with"),
        ("*** Begin Patch\n*** Add File: f\na\n*** End Patch\n", "Line 3 of the patch is neither"),
    ],
)
def test_unreadable_patches_are_refused_with_the_line(text: str, said: str) -> None:
    assert said in unreadable(text)


@pytest.mark.parametrize("context", ["", " y\n"], ids=["no context", "context"])
def test_hunks_out_of_order_are_refused(context: str) -> None:
    """vybestack/llxprt-code#3597: a hunk for an earlier line was applied at a later one."""
    data = b"x\ny\n" * 5
    text = f"{HEAD}@@ -7 +7 @@\n-x\n+x7\n{context}@@ -3 +3 @@\n-x\n+x3\n{context}"
    error = refusal(data, text)
    assert "is for line 3 of f" in str(error)
    in_order = f"{HEAD}@@ -3 +3 @@\n-x\n+x3\n{context}@@ -7 +7 @@\n-x\n+x7\n{context}"
    assert patched(data, in_order) == b"x\ny\nx3\ny\nx\ny\nx7\ny\nx\ny\n"
