"""The match of a replaced text: exact, or with a reported leniency; never by similarity."""

import pytest

from tests.edits.planned import failure, planned, result
from treadle.edits.requests import LineRangeEdit, ReplaceEdit
from treadle.events.types import ErrorKind


def replace(old: str, new: str, *, everywhere: bool = False) -> ReplaceEdit:
    return ReplaceEdit("f", old, new, everywhere)


def test_lf_of_a_model_matches_crlf_and_the_new_lines_end_as_the_file_does() -> None:
    plan = planned(b"a\r\nb\r\nc\r\n", replace("a\nb\n", "a\nx\ny\n"))
    assert result(b"a\r\nb\r\nc\r\n", plan) == b"a\r\nx\r\ny\r\nc\r\n"
    assert plan.notes == ("f: line 1: its line ends were replaced by those of the file.",)


def test_a_line_added_to_a_crlf_file_by_an_exact_match_ends_with_crlf() -> None:
    data = b"a\r\nb\r\n"
    plan = planned(data, replace("b", "b\nc"))
    assert result(data, plan) == b"a\r\nb\r\nc\r\n"
    assert plan.notes == ()


def test_cr_alone_is_a_line_end() -> None:
    data = b"a\rb\rc\r"
    assert result(data, planned(data, replace("a\nb", "a\nx\nb"))) == b"a\rx\rb\rc\r"


def test_unchanged_lines_keep_their_ends_in_a_mixed_file() -> None:
    data = b"a\r\nb\nc\r\nd\n"
    plan = planned(data, replace("a\nb\nc\nd\n", "a\nb\nnew\nc\nd\n"))
    assert result(data, plan) == b"a\r\nb\nnew\nc\r\nd\n"


def test_line_ends_themselves_can_be_changed() -> None:
    data = b"a\nb\nc\n"
    assert result(data, planned(data, replace("a\nb\n", "a\r\nb\r\n"))) == b"a\r\nb\r\nc\n"


@pytest.mark.parametrize("everywhere", [False, True])
def test_crlf_of_a_model_matches_lf_and_never_gets_into_the_file(*, everywhere: bool) -> None:
    data = b"a\nb\nc\n"
    plan = planned(data, replace("a\r\nb\r\n", "a\r\nx\r\ny\r\n", everywhere=everywhere))
    assert result(data, plan) == b"a\nx\ny\nc\n"
    assert "line ends were replaced by those of the file" in plan.notes[0]
    one = planned(data, replace("b\r\n", "x\r\n", everywhere=everywhere))
    assert result(data, one) == b"a\nx\nc\n"


def test_the_byte_order_mark_is_ignored_and_kept() -> None:
    data = b"\xef\xbb\xbfa\nb\n"
    assert result(data, planned(data, replace("a\n", "x\n"))) == b"\xef\xbb\xbfx\nb\n"
    assert result(data, planned(data, replace("\ufeffa\n", "\ufeffx\n"))) == b"\xef\xbb\xbfx\nb\n"
    assert result(data, planned(data, replace("\ufeffa\n", "x\n"))) == b"\xef\xbb\xbfx\nb\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("a\n".encode("utf-16"), "UTF-16"),
        ("a\n".encode("utf-32"), "UTF-32"),
        ("a\n".encode("utf-16-le"), "NUL"),
        (b"a\0b\n", "NUL"),
    ],
)
def test_text_that_is_not_utf8_is_refused_by_name(data: bytes, said: str) -> None:
    error = failure(data, replace("a", "b"))
    assert error.kind is ErrorKind.VALIDATION
    assert said in str(error)


def test_bytes_that_are_not_utf8_are_kept() -> None:
    data = b"# caf\xe9\na = 1\n"
    assert result(data, planned(data, replace("a = 1", "a = 2"))) == b"# caf\xe9\na = 2\n"


def test_other_bytes_in_the_same_line_are_kept() -> None:
    data = b"a = 1  # caf\xe9\n"
    assert result(data, planned(data, replace("a = 1", "a = 2"))) == b"a = 2  # caf\xe9\n"


def test_a_replacement_character_never_gets_into_a_file_that_cannot_be_read() -> None:
    data = b"# caf\xe9\na = 1\n"
    for edit in (replace("# caf\ufffd", "# x"), replace("a = 1", "a = '\ufffd'")):
        assert failure(data, edit).kind is ErrorKind.VALIDATION
    data = "a = '\ufffd'\n".encode()
    assert result(data, planned(data, replace("a = '\ufffd'", "b = '\ufffd'"))) == data.replace(
        b"a", b"b"
    )


def test_a_lone_surrogate_is_refused() -> None:
    assert failure(b"a\n", replace("a", "\ud800")).kind is ErrorKind.VALIDATION


def test_trailing_white_space_is_ignored_and_kept_in_unchanged_lines() -> None:
    data = b"def f():  \n    a = 1\t\n    return a\n"
    plan = planned(
        data, replace("def f():\n    a = 1\n    return a\n", "def f():\n    a = 1\n    return 2\n")
    )
    assert result(data, plan) == b"def f():  \n    a = 1\t\n    return 2\n"
    assert plan.notes == ("f: line 1: trailing white space was ignored.",)


def test_spaces_of_a_model_become_the_tabs_of_the_file() -> None:
    data = b"class A:\n\tdef f(self):\n\t\treturn 1\n"
    old = "    def f(self):\n        return 1\n"
    new = "    def f(self):\n        if self.x:\n            return 2\n        return 1\n"
    plan = planned(data, replace(old, new))
    assert result(data, plan) == (
        b"class A:\n\tdef f(self):\n\t\tif self.x:\n\t\t\treturn 2\n\t\treturn 1\n"
    )
    assert plan.notes == ("f: line 2: its indentation was shifted to that of the file.",)


def test_two_spaces_of_a_model_become_the_tabs_of_the_file() -> None:
    data = b"f() {\n\tif (a) {\n\t\tb();\n\t}\n}\n"
    plan = planned(
        data, replace("  if (a) {\n    b();\n  }\n", "  if (a) {\n    if (c)\n      b();\n  }\n")
    )
    assert result(data, plan) == b"f() {\n\tif (a) {\n\t\tif (c)\n\t\t\tb();\n\t}\n}\n"


def test_the_first_line_may_lack_its_indentation() -> None:
    data = b"class A:\n\tdef f(self):\n\t\tx = 1\n\t\treturn 1\n"
    old = "def f(self):\n        x = 1\n        return 1\n"
    new = "def f(self):\n        if a:\n            return 2\n        return 1\n"
    applied = planned(data, replace(old, new))
    expected = b"class A:\n\tdef f(self):\n\t\tif a:\n\t\t\treturn 2\n\t\treturn 1\n"
    assert result(data, applied) == expected


def test_a_leniency_never_begins_within_a_line() -> None:
    assert failure(b"max = 1  \ny = 2\n", replace("x = 1\ny = 2\n", "")).kind is ErrorKind.NOT_FOUND
    assert failure(b"a\nmax", replace("x\n", "")).kind is ErrorKind.NOT_FOUND


def test_tabs_of_a_model_become_the_spaces_of_the_file() -> None:
    data = b"f() {\n  if (a) {\n    b();\n  }\n}\n"
    plan = planned(
        data, replace("\tif (a) {\n\t\tb();\n\t}\n", "\tif (a) {\n\t\tif (c)\n\t\t\tb();\n\t}\n")
    )
    assert result(data, plan) == b"f() {\n  if (a) {\n    if (c)\n      b();\n  }\n}\n"


def test_text_without_the_indentation_of_the_file_is_shifted() -> None:
    data = b"class A:\n    def f(self):\n        x = 1\n        return x\n"
    plan = planned(
        data, replace("def f(self):\n    x = 1\n    return x\n", "def f(self):\n    return 1\n")
    )
    assert result(data, plan) == b"class A:\n    def f(self):\n        return 1\n"


def test_text_indented_too_much_is_shifted_back() -> None:
    data = b"if a:\n    b()\n    c()\n"
    plan = planned(
        data, replace("        b()\n        c()\n", "        b()\n        if d:\n            c()\n")
    )
    assert result(data, plan) == b"if a:\n    b()\n    if d:\n        c()\n"


def test_a_new_line_that_is_indented_too_little_to_be_shifted_is_refused() -> None:
    error = failure(
        b"if a:\n    b()\n    c()\n", replace("        b()\n        c()\n", "    b()\nd()\n")
    )
    assert error.kind is ErrorKind.VALIDATION
    assert "'d()'" in str(error)


def test_a_shift_that_is_not_the_same_for_all_lines_does_not_match() -> None:
    error = failure(b"if a:\n    b()\n    c()\n", replace("if a:\n  b()\n    c()\n", "x"))
    assert error.kind is ErrorKind.NOT_FOUND
    assert "different indentation" in str(error)


def test_a_superfluous_last_line_end_is_ignored() -> None:
    assert result(b"a\nb", planned(b"a\nb", replace("b\n", "c\n"))) == b"a\nc"
    data = b"a\nb\nc\n"
    assert result(data, planned(data, replace("b\n\n", "x\n\n"))) == b"a\nx\nc\n"


def test_text_that_occurs_twice_is_refused_with_its_lines() -> None:
    error = failure(b"a\nb\na\n", replace("a", "c"))
    assert error.kind is ErrorKind.CONFLICT
    assert "2 times in f: lines 1 and 3" in str(error)


def test_overlapping_occurrences_count_separately() -> None:
    assert "2 times" in str(failure(b"aaa\n", replace("aa", "b")))


def test_all_occurrences_are_replaced_on_request() -> None:
    data = b"a\nb\na\r\n"
    assert result(data, planned(data, replace("a", "c", everywhere=True))) == b"c\nb\nc\r\n"


def test_a_leniency_counts_only_for_a_unique_match() -> None:
    data = b"  a \n  b\n---\n    a \n    b\n"
    assert "2 times" in str(failure(data, replace("a\nb\n", "c\n", everywhere=True)))


def test_an_unmatched_text_reports_the_most_similar_lines() -> None:
    data = b"def f(a):\n    x = 1\n    y = 2\n    return x\n"
    error = failure(data, replace("def f(a):\n    x = 1\n    y = 3\n    return x\n", ""))
    assert error.kind is ErrorKind.NOT_FOUND
    assert "line 3 of the file is '    y = 2', and the text has '    y = 3'" in str(error)
    error = failure(data, replace("return y + x", ""))
    assert "The nearest line is 4: '    return x'" in str(error)
    assert "No line of the text is in the file" in str(failure(data, replace("zebra", "")))


def test_an_empty_text_matches_only_an_empty_file() -> None:
    assert failure(b"a\n", replace("", "b")).kind is ErrorKind.VALIDATION
    assert result(b"", planned(b"", replace("", "b\n"))) == b"b\n"


def test_an_edit_that_changes_nothing_is_an_error() -> None:
    assert "changes nothing" in str(failure(b"a\n", replace("a", "a")))
    assert "changes nothing" in str(failure(b"a\r\nb\r\n", replace("a\nb\n", "a\nb\n")))


def test_a_text_with_explicit_line_ends_is_replaced_literally() -> None:
    data = b"a\r\nb\r\nc\nd\n"
    plan = planned(data, replace("a\r\nb", "x\r\ny\r\nz"))
    assert result(data, plan) == b"x\r\ny\r\nz\r\nc\nd\n"


def test_a_shifted_passage_without_its_last_line_end_keeps_that_of_the_file() -> None:
    data = b"class A:\n    if x:\n        y\n    z\n"
    plan = planned(data, replace("if x:\n    y", "if x:\n    w"))
    assert result(data, plan) == data.replace(b"y", b"w")


def test_the_last_line_of_a_long_file_keeps_its_missing_end() -> None:
    data = b"x" * 300 + b"\nlast"
    assert result(data, planned(data, LineRangeEdit("f", 2, 2, "new\n"))) == data[:-4] + b"new"


@pytest.mark.parametrize("data", [b"a\nb\nc\n", b"a\nb\nc", b"a\n"])
def test_a_match_does_not_extend_beyond_the_last_line(data: bytes) -> None:
    lines = len(data.splitlines())
    assert failure(data, LineRangeEdit("f", lines + 1, lines + 1, "x")).kind is ErrorKind.VALIDATION
    added = result(data, planned(data, LineRangeEdit("f", lines + 1, lines, "x")))
    assert added.splitlines() == [*data.splitlines(), b"x"]


def test_a_doubled_last_line_end_of_the_model_adds_no_empty_line() -> None:
    data = b"a\nb\nc\n"
    assert result(data, planned(data, replace("b\n\n", "x\n\n"))) == b"a\nx\nc\n"
