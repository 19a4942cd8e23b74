"""Plans: several edits and files, ranges and items, created, deleted and renamed files."""

import pytest

from tests.edits.planned import failure, planned, result
from treadle.edits.model import ChangeKind, EditError, Hunk, content_hash, splice
from treadle.edits.patches import parse_patch
from treadle.edits.plan import plan
from treadle.edits.relocation import reverse
from treadle.edits.requests import (
    CreateFile,
    DeleteFile,
    EditRequest,
    LineRangeEdit,
    RangeEdit,
    RenameFile,
    ReplaceEdit,
)
from treadle.events.types import ErrorKind

TEXT = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"


def test_a_hunk_has_the_differing_lines_and_three_lines_of_context() -> None:
    applied = planned(TEXT, ReplaceEdit("f", "four\nfive", "four\nFIVE"))
    (hunk,) = applied.changes[0].hunks
    assert (hunk.start, hunk.line, hunk.old, hunk.new) == (19, 5, b"five\n", b"FIVE\n")
    assert (hunk.before, hunk.after) == (b"two\nthree\nfour\n", b"six\nseven\neight\n")


def test_an_edit_is_split_at_unchanged_lines() -> None:
    applied = planned(TEXT, ReplaceEdit("f", "one\ntwo\nthree\n", "1\ntwo\n3\n"))
    assert [(h.line, h.old, h.new) for h in applied.changes[0].hunks] == [
        (1, b"one\n", b"1\n"),
        (3, b"three\n", b"3\n"),
    ]


def test_edits_within_one_line_are_one_hunk() -> None:
    applied = planned(b"a b c\n", ReplaceEdit("f", "c", "C"), ReplaceEdit("f", "a", "A"))
    assert [(h.old, h.new) for h in applied.changes[0].hunks] == [(b"a b c\n", b"A b C\n")]


def test_a_hunk_of_a_very_long_line_has_only_its_difference() -> None:
    data = b"x" * 100_000 + "é=1".encode() + b"y" * 100_000 + b"\nend\n"
    applied = planned(data, ReplaceEdit("f", "é=1", "ü=1"))
    (hunk,) = applied.changes[0].hunks
    assert (hunk.old, hunk.new) == ("é".encode(), "ü".encode())
    assert len(hunk.before) <= 2_000
    assert len(hunk.after) <= 2_000
    assert result(data, applied) == data.replace("é".encode(), "ü".encode())


def test_several_edits_all_match_the_original() -> None:
    edits = [ReplaceEdit("f", "one", "two"), ReplaceEdit("f", "two", "three")]
    assert result(b"one\ntwo\n", planned(b"one\ntwo\n", *edits)) == b"two\nthree\n"


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (("one\ntwo", "1"), ("two\nthree", "2"), "edits[0] (lines 1-2) and edits[1] (lines 2-3)"),
        (("two", "2"), ("one\ntwo\nthree", "x"), "edits[0] (line 2) and edits[1] (lines 1-3)"),
        (("one\ntwo", "one\nTWO"), ("one", "1"), "edits[0] (lines 1-2) and edits[1] (line 1)"),
    ],
)
def test_overlapping_and_nested_edits_are_refused_by_number_and_line(
    first: tuple[str, str], second: tuple[str, str], said: str
) -> None:
    error = failure(TEXT, ReplaceEdit("f", *first), ReplaceEdit("f", *second))
    assert (error.kind, error.path, error.number) == (ErrorKind.CONFLICT, "f", 1)
    assert said in str(error)


def test_one_impossible_edit_refuses_the_plan() -> None:
    error = failure(TEXT, ReplaceEdit("f", "one", "1"), ReplaceEdit("f", "zebra", "2"))
    assert (error.kind, error.path, error.number) == (ErrorKind.NOT_FOUND, "f", 1)


def test_an_edit_for_another_hash_is_a_conflict() -> None:
    edit = ReplaceEdit("f", "one", "1", expected_hash=content_hash(b"other"))
    error = failure(TEXT, edit)
    assert error.kind is ErrorKind.CONFLICT
    assert (error.expected, error.received) == (content_hash(b"other"), content_hash(TEXT))
    assert content_hash(TEXT) in str(error)
    fresh = ReplaceEdit("f", "one", "1", expected_hash=content_hash(TEXT))
    assert result(TEXT, planned(TEXT, fresh)).startswith(b"1\n")


def test_an_edit_of_a_missing_file_is_refused() -> None:
    for edit in (ReplaceEdit("f", "a", "b"), DeleteFile("f"), RenameFile("f", "g")):
        assert failure(None, edit).kind is ErrorKind.NOT_FOUND


def test_files_are_created_deleted_and_renamed() -> None:
    files = {"b": b"b\xff\0\n", "c": b"c\n"}
    applied = plan(
        [
            CreateFile("a", "a\n"),
            DeleteFile("b"),
            ReplaceEdit("c", "c", "C"),
            RenameFile("c", "d"),
        ],
        files.get,
    )
    assert [(c.kind, c.path, c.target, c.base_hash, c.result_hash) for c in applied.changes] == [
        (ChangeKind.CREATE, "a", None, None, content_hash(b"a\n")),
        (ChangeKind.DELETE, "b", None, content_hash(b"b\xff\0\n"), None),
        (ChangeKind.RENAME, "c", "d", content_hash(b"c\n"), content_hash(b"C\n")),
    ]
    assert applied.changes[1].hunks == (Hunk(0, 1, b"b\xff\0\n", b""),)
    assert [(h.old, h.new) for h in applied.changes[2].hunks] == [(b"c\n", b"C\n")]


def test_a_file_is_renamed_whatever_its_content() -> None:
    applied = plan([RenameFile("a", "b")], {"a": b"\0\xff"}.get)
    assert applied.changes[0].base_hash == applied.changes[0].result_hash
    assert applied.changes[0].hunks == ()


def test_an_existing_file_is_overwritten_only_on_request() -> None:
    assert failure(TEXT, CreateFile("f", "x")).kind is ErrorKind.CONFLICT
    applied = planned(TEXT, CreateFile("f", TEXT.decode().replace("two", "2"), overwrite=True))
    assert applied.changes[0].kind is ChangeKind.MODIFY
    assert [(h.old, h.new) for h in applied.changes[0].hunks] == [(b"two\n", b"2\n")]
    assert "changes nothing" in str(failure(b"a\n", CreateFile("f", "a\n", overwrite=True)))


def test_an_overwritten_file_keeps_its_mark_and_its_line_ends() -> None:
    data = b"\xef\xbb\xbfa\r\nb\r\n"
    applied = planned(data, CreateFile("f", "a\nc\n", overwrite=True))
    assert result(data, applied) == b"\xef\xbb\xbfa\r\nc\r\n"
    assert len(applied.notes) == 2


@pytest.mark.parametrize(
    "edits",
    [
        [CreateFile("f", "a"), ReplaceEdit("f", "a", "b")],
        [ReplaceEdit("f", "a", "b"), CreateFile("f", "a")],
        [CreateFile("f", "a"), CreateFile("f", "b")],
        [DeleteFile("f"), ReplaceEdit("f", "a", "b")],
        [DeleteFile("f"), RenameFile("f", "g")],
        [RenameFile("f", "g"), RenameFile("f", "h")],
    ],
)
def test_contradicting_edits_are_refused(edits: list[EditRequest]) -> None:
    error = failure(b"a\n", *edits)
    assert (error.kind, error.path, error.number) == (ErrorKind.VALIDATION, "f", 1)
    assert "edits[1] conflicts with edits[0]" in str(error)


def test_a_rename_needs_a_free_target() -> None:
    files = {"a": b"a", "b": b"b", "c": b"c"}
    attempts: list[list[EditRequest]] = [
        [RenameFile("a", "b")],
        [RenameFile("a", "d"), RenameFile("c", "d")],
        [RenameFile("a", "d"), CreateFile("d", "x")],
    ]
    for edits in attempts:
        with pytest.raises(EditError) as caught:
            plan(edits, files.get)
        assert caught.value.kind is ErrorKind.CONFLICT


def test_a_plan_needs_an_edit() -> None:
    assert failure(b"", *[]).kind is ErrorKind.VALIDATION


def test_bytes_are_replaced_with_the_line_ends_of_the_file() -> None:
    data = b"a\r\nbcd\r\n"
    applied = planned(data, RangeEdit("f", 4, 5, "1\n2"))
    assert result(data, applied) == b"a\r\nb1\r\n2d\r\n"


@pytest.mark.parametrize(
    ("start", "end"), [(-1, 1), (2, 1), (0, 99), (2, 3), (0, 2), (5, 6), (0, 5)]
)
def test_ranges_outside_the_file_or_inside_a_character_are_refused(start: int, end: int) -> None:
    data = "aé".encode() + b"\n\r\nb"
    assert failure(data, RangeEdit("f", start, end, "x")).kind is ErrorKind.VALIDATION


def test_a_range_with_bytes_that_are_not_utf8_is_refused() -> None:
    data = b"a\n\xe9\nb\n"
    assert "would be lost" in str(failure(data, RangeEdit("f", 0, 3, "x")))
    assert "would be lost" in str(failure(data, LineRangeEdit("f", 2, 2, "x")))
    assert result(data, planned(data, LineRangeEdit("f", 3, 3, "x"))) == b"a\n\xe9\nx\n"


@pytest.mark.parametrize(
    ("first", "last", "code", "expected"),
    [
        (1, 1, "x", b"x\nb\nc"),
        (1, 2, "x\ny\nz\n", b"x\ny\nz\nc"),
        (3, 3, "x\n", b"a\nb\nx"),
        (2, 1, "x", b"a\nx\nb\nc"),
        (4, 3, "x", b"a\nb\nc\nx"),
        (1, 2, "", b"c"),
        (3, 3, "", b"a\nb\n"),
    ],
)
def test_lines_are_replaced_inserted_and_removed(
    first: int, last: int, code: str, expected: bytes
) -> None:
    applied = planned(b"a\nb\nc", LineRangeEdit("f", first, last, code))
    assert result(b"a\nb\nc", applied) == expected


@pytest.mark.parametrize(("first", "last"), [(0, 1), (5, 4), (3, 4), (3, 1)])
def test_lines_that_are_not_in_the_file_are_refused(first: int, last: int) -> None:
    error = failure(b"a\nb\nc", LineRangeEdit("f", first, last, "x"))
    assert "which has 3 lines" in str(error)


METHOD = b"class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"


def item(data: bytes, old: bytes, code: str) -> bytes:
    start = data.index(old)
    edit = RangeEdit("f", start, start + len(old), code, reindent=True)
    return result(data, planned(data, edit))


@pytest.mark.parametrize(
    "code",
    [
        "def f(self):\n    if self.x:\n        return 3\n    return 1\n",
        "def f(self):\n        if self.x:\n            return 3\n        return 1",
        "    def f(self):\n        if self.x:\n            return 3\n        return 1\n",
        "  def f(self):\n      if self.x:\n          return 3\n      return 1\n",
        "\ndef f(self):\n\tif self.x:\n\t\treturn 3\n\treturn 1\n",
    ],
)
def test_the_code_of_a_method_gets_its_indentation(code: str) -> None:
    new = b"def f(self):\n        if self.x:\n            return 3\n        return 1"
    old = b"def f(self):\n        return 1"
    assert item(METHOD, old, code) == METHOD.replace(old, new)


@pytest.mark.parametrize(
    "code",
    [
        "@cached\ndef f(self) -> int:\n    return 1",
        "@cached\n    def f(self) -> int:\n        return 1",
        "    @cached\n    def f(self) -> int:\n        return 1",
    ],
)
def test_decorators_belong_to_the_item(code: str) -> None:
    old = b"def f(self):\n        return 1"
    new = b"@cached\n    def f(self) -> int:\n        return 1"
    assert item(METHOD, old, code) == METHOD.replace(old, new)


@pytest.mark.parametrize(
    "code",
    [
        "def f(\n    self,\n) -> int:\n    return 3",
        "def f(\n        self,\n    ) -> int:\n        return 3",
    ],
)
def test_a_head_of_several_lines_keeps_its_shape(code: str) -> None:
    old = b"def f(self):\n        return 1"
    new = b"def f(\n        self,\n    ) -> int:\n        return 3"
    assert item(METHOD, old, code) == METHOD.replace(old, new)


@pytest.mark.parametrize(
    "code",
    [
        "fn f() {\n    if a {\n        b();\n    }\n}",
        "fn f() {\n        if a {\n            b();\n        }\n    }",
        "    fn f() {\n        if a {\n            b();\n        }\n    }\n",
    ],
)
def test_code_in_braces_gets_the_indentation_of_the_item(code: str) -> None:
    data = b"impl A {\n    fn f() {\n        c();\n    }\n}\n"
    expected = b"impl A {\n    fn f() {\n        if a {\n            b();\n        }\n    }\n}\n"
    assert item(data, b"fn f() {\n        c();\n    }", code) == expected


@pytest.mark.parametrize(
    "code",
    [
        "f() {\n    if (a) {\n        b();\n    }\n}",
        "f() {\n        if (a) {\n            b();\n        }\n    }",
        "f() {\n\tif (a) {\n\t\tb();\n\t}\n}",
        "\tf() {\n\t\tif (a) {\n\t\t\tb();\n\t\t}\n\t}",
        "  f() {\n    if (a) {\n      b();\n    }\n  }",
    ],
)
def test_the_tabs_of_a_file_are_kept(code: str) -> None:
    data = b"class A {\n\tf() {\n\t\tc();\n\t}\n}\n"
    expected = b"class A {\n\tf() {\n\t\tif (a) {\n\t\t\tb();\n\t\t}\n\t}\n}\n"
    assert item(data, b"f() {\n\t\tc();\n\t}", code) == expected


def test_an_unindented_item_is_not_changed() -> None:
    data = b"def f():\r\n    return 1\r\n"
    expected = b"def f():\r\n    return 2\r\n"
    assert item(data, b"def f():\r\n    return 1", "def f():\n    return 2\n") == expected


@pytest.mark.parametrize(
    "data",
    [b"a\r\nb\r\n", b"\xef\xbb\xbfa\nb\n", b"a\nb", b"a\rb\r", b"\xef\xbb\xbfa\r\nb"],
)
def test_a_patch_deletes_a_file_with_any_line_ends(data: bytes) -> None:
    applied = planned(data, *parse_patch("--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"))
    (change,) = applied.changes
    assert change.kind is ChangeKind.DELETE
    assert splice(data, change.hunks) == b""
    assert reverse(change).hunks[0].new == data


def test_a_deleting_patch_must_have_all_lines_of_the_file() -> None:
    patch = parse_patch("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")
    error = failure(b"a\nb\n", *patch)
    assert "differs from the lines" in error.message
    assert error.hint


def test_a_patch_deletes_a_file_with_bytes_that_are_not_utf8() -> None:
    shown = "caf\ufffd"
    patch = parse_patch(f"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-{shown}\n")
    (change,) = planned(b"caf\xe9\n", *patch).changes
    assert change.hunks[0].old == b"caf\xe9\n"


def test_a_replacement_character_cannot_overwrite_unreadable_bytes() -> None:
    new = CreateFile("f", "caf\ufffd\nb\n", overwrite=True)
    assert "U+FFFD" in failure(b"caf\xe9\na\n", new).message
    assert result(b"a\n", planned(b"a\n", new)) == "caf\ufffd\nb\n".encode()


@pytest.mark.parametrize("data", ["a\n".encode("utf-16"), "a\n".encode("utf-32"), b"a\0b"])
def test_text_cannot_overwrite_a_file_in_another_encoding(data: bytes) -> None:
    error = failure(data, CreateFile("f", "b\n", overwrite=True))
    assert error.number == 0
    assert error.hint


@pytest.mark.parametrize(
    "edit",
    [
        CreateFile("new", "caf\0e9\n"),
        ReplaceEdit("f", "a", "a\0"),
        LineRangeEdit("f", 1, 1, "\0"),
        RangeEdit("f", 0, 1, "\0"),
        *parse_patch("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+a\0\n"),
    ],
)
def test_nul_is_never_written(edit: EditRequest) -> None:
    error = failure(b"a\nb\n", edit)
    assert "NUL" in error.message
    assert error.hint


def test_one_path_cannot_be_a_file_and_a_folder() -> None:
    error = failure(b"a\n", CreateFile("n/deep/m", "x"), CreateFile("n", "y"))
    assert "n cannot be both a file and, for n/deep/m, a folder" in error.message
    assert "for x/g" in failure(b"a\n", RenameFile("f", "x/g"), CreateFile("x", "y")).message


def test_a_rename_to_the_same_name_is_refused() -> None:
    assert "that is already its path" in failure(b"a\n", RenameFile("f", "f")).message


@pytest.mark.parametrize(("start", "end"), [(1, 2), (0, 2), (2, 4)])
def test_a_range_keeps_the_byte_order_mark(start: int, end: int) -> None:
    error = failure(b"\xef\xbb\xbfab\n", RangeEdit("f", start, end, "x"))
    assert "inside a character" in error.message
