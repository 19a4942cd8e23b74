"""The tools that change files, called like in a session, with a person who answers."""

from typing import Any

import pytest

from tests.toolbox.edit_bench import YES, Answer, Bench
from treadle.config.model import ApprovalSettings, EditSettings
from treadle.edits.model import ProposalState
from treadle.events.changes import EditApplied, EditDenied, EditFailed, EditStaged
from treadle.events.types import (
    ApprovalRequested,
    ApprovalScope,
    Effect,
    ErrorKind,
    ToolCallCompleted,
    ToolCallFailed,
)

PYTHON = '''import os


class Cart:
    """A cart."""

    @property
    def total(self) -> int:
        return 1

    def add(self, item):
        self.items.append(item)


def total():
    return 2
'''
RUST = """/// A cart.
#[derive(Debug)]
pub struct Cart {
    items: Vec<u8>,
}

/// What a cart does.
impl Cart {
    /// Adds.
    #[inline]
    pub fn add(&mut self, item: u8) {
        self.items.push(item);
    }
}
"""


def test_text_is_replaced_after_a_person_approves_the_diff(bench: Bench) -> None:
    bench.write("cart.py", PYTHON)
    result = bench.edit({"file": "cart.py", "replace": {"old": "return 2", "new": "return 3"}})
    assert bench.read("cart.py") == PYTHON.replace("return 2", "return 3").encode()
    assert result["state"] == "applied"
    (file,) = result["files"]
    assert (file["path"], file["added"], file["removed"]) == ("cart.py", 1, 1)
    assert file["preview"] == bench.questions[0].preview
    assert bench.questions[0].reason == "In 1 file, it adds 1 line and removes 1."
    assert "-    return 2\n+    return 3\n" in file["preview"]
    assert str(bench.questions[0].proposal_id) == result["proposal_id"]
    assert [type(event) for event in bench.events] == [EditStaged, EditApplied]
    found = bench.ok("get_file_metadata", path="cart.py")
    assert found["content_hash"] == file["hash"]


def test_items_are_replaced_with_their_decorators_and_doc_comments(bench: Bench) -> None:
    bench.write("cart.py", PYTHON)
    bench.write("src/cart.rs", RUST)
    bench.edit(
        {
            "file": "cart.py",
            "item": {
                "canonical_path": "cart.Cart.total",
                "code": "@cached_property\ndef total(self) -> int:\n    return 7\n",
            },
        },
        {
            "file": "src/cart.rs",
            "item": {
                "canonical_path": "Cart::add",
                "code": "/// Adds one.\npub fn add(&mut self, item: u8) {\n    self.push(item);\n}",
            },
        },
    )
    assert bench.read("cart.py").decode() == PYTHON.replace(
        "    @property\n    def total(self) -> int:\n        return 1\n",
        "    @cached_property\n    def total(self) -> int:\n        return 7\n",
    )
    assert bench.read("src/cart.rs").decode() == RUST.replace(
        "    /// Adds.\n    #[inline]\n    pub fn add(&mut self, item: u8) {\n"
        "        self.items.push(item);\n    }\n",
        "    /// Adds one.\n    pub fn add(&mut self, item: u8) {\n"
        "        self.push(item);\n    }\n",
    )
    located = bench.ok("code_item_lookup", name="Cart.total")["items"]
    assert located[0]["signature"].startswith("def total(self)")


def test_kind_distinguishes_an_impl_block_from_its_type(bench: Bench) -> None:
    bench.write("src/cart.rs", RUST)
    edit = {"file": "src/cart.rs", "item": {"canonical_path": "Cart", "code": "impl Cart {}"}}
    failure = bench.refused(edit)
    assert failure.kind is ErrorKind.VALIDATION
    assert "2 items" in failure.message
    assert "lines 1-5" in failure.message
    assert "lines 7-14" in failure.message
    assert failure.hint is not None
    assert "kind" in failure.hint
    edit["item"]["kind"] = "impl"  # type: ignore[index]
    bench.edit(edit)
    assert bench.read("src/cart.rs").decode() == RUST[: RUST.index("/// What")] + "impl Cart {}\n"


def test_unknown_item_lists_the_nearest_items(bench: Bench) -> None:
    bench.write("cart.py", PYTHON)
    failure = bench.refused(
        {"file": "cart.py", "item": {"canonical_path": "Cart.totl", "code": ""}}
    )
    assert failure.kind is ErrorKind.NOT_FOUND
    assert failure.hint is not None
    assert "cart.Cart.total" in failure.hint
    assert bench.states() == []


def test_ranges_require_the_content_they_are_based_on(bench: Bench) -> None:
    bench.write("a.txt", "one\ntwo\nthree\n")
    known = bench.ok("get_file_metadata", path="a.txt")["content_hash"]
    bench.edit(
        {"file": "a.txt", "expected_hash": known, "range": {"start": 4, "end": 7, "code": "2"}}
    )
    assert bench.read("a.txt") == b"one\n2\nthree\n"
    failure = bench.refused(
        {"file": "a.txt", "expected_hash": known, "lines": {"first": 1, "last": 1, "code": "x"}}
    )
    assert failure.kind is ErrorKind.CONFLICT
    assert bench.read("a.txt") == b"one\n2\nthree\n"
    bench.edit({"file": "a.txt", "lines": {"first": 2, "last": 1, "code": "new\n"}})
    assert bench.read("a.txt") == b"one\nnew\n2\nthree\n"


def test_all_edits_of_a_call_are_applied_or_none(bench: Bench) -> None:
    bench.write("a.py", "a = 1\nb = 2\n")
    bench.write("b.py", "c = 3\n")
    failure = bench.refused(
        {"file": "a.py", "replace": {"old": "a = 1", "new": "a = 9"}},
        {"file": "b.py", "replace": {"old": "d = 4", "new": "d = 5"}},
    )
    assert failure.kind is ErrorKind.NOT_FOUND
    assert failure.field == "edits.1"
    overlap = bench.refused(
        {"file": "a.py", "replace": {"old": "a = 1\nb", "new": "x\nb"}},
        {"file": "a.py", "replace": {"old": "b = 2", "new": "b = 3"}},
    )
    assert "overlap" in overlap.message
    assert bench.read("a.py") == b"a = 1\nb = 2\n"
    bench.edit(
        {"file": "a.py", "replace": {"old": "a = 1", "new": "a = 9"}},
        {"file": "a.py", "replace": {"old": "b = 2", "new": "b = 8"}},
        {"file": "b.py", "replace": {"old": "c = 3", "new": "c = 7"}},
    )
    assert (bench.read("a.py"), bench.read("b.py")) == (b"a = 9\nb = 8\n", b"c = 7\n")
    assert len(bench.questions) == 1


def test_six_calls_for_one_file_in_one_reply_all_succeed(bench: Bench) -> None:
    lines = [f"value_{number} = {number}\n" for number in range(6)]
    bench.write("a.py", "".join(lines))
    outcomes = bench.calls(
        *(
            (
                "apply_code_edit",
                {
                    "edits": [
                        {
                            "file": ("a.py", "./a.py", str(bench.root / "a.py"))[number % 3],
                            "replace": {"old": f"_{number} = {number}", "new": f"_{number} = 'x'"},
                        }
                    ]
                },
            )
            for number in range(6)
        )
    )
    landed = [isinstance(outcome, ToolCallCompleted) for outcome in outcomes]
    text = bench.read("a.py").decode().splitlines()
    for number, done in enumerate(landed):
        assert text[number] == f"value_{number} = 'x'" if done else f"value_{number} = {number}"
        if not done:
            outcome = outcomes[number]
            assert isinstance(outcome, ToolCallFailed)
            assert outcome.error.kind is ErrorKind.CONFLICT


def test_the_model_receives_the_comment_of_a_denial(bench: Bench) -> None:
    bench.write("a.py", "a = 1\n")
    bench.person = lambda _: (ApprovalScope.DENIED, "call it alpha")
    failure = bench.refused({"file": "a.py", "replace": {"old": "a = 1", "new": "b = 1"}})
    assert (failure.kind, failure.effect) == (ErrorKind.DENIED, Effect.NONE)
    assert "call it alpha" in failure.message
    assert bench.read("a.py") == b"a = 1\n"
    assert bench.states() == [ProposalState.DENIED]
    assert bench.edits.list()[0].words == "call it alpha"
    assert isinstance(bench.events[-1], EditDenied)


def test_model_receives_the_hunks_that_a_person_denied(bench: Bench) -> None:
    bench.write("a.py", "".join(f"v{n} = {n}\n" for n in range(30)))

    def second_only(question: ApprovalRequested) -> Answer:
        assert question.proposal_id is not None
        bench.edits.deny(question.proposal_id, hunks={(0, 0)})
        return ApprovalScope.ONCE, "leave v1 alone"

    bench.person = second_only
    result = bench.edit(
        {"file": "a.py", "replace": {"old": "v1 = 1\n", "new": "v1 = 'x'\n"}},
        {"file": "a.py", "replace": {"old": "v25 = 25\n", "new": "v25 = 'x'\n"}},
    )
    assert b"v1 = 1\n" in bench.read("a.py")
    assert b"v25 = 'x'\n" in bench.read("a.py")
    assert (result["state"], result["files"][0]["denied"]) == ("applied", 1)
    assert result["said"] == "leave v1 alone"
    assert any("denied the hunks" in warning for warning in result["warnings"])


def test_the_model_receives_an_edit_as_the_person_changed_it(bench: Bench) -> None:
    bench.write("a.py", "a = 1\n")

    def amend(question: ApprovalRequested) -> Answer:
        assert question.proposal_id is not None
        bench.edits.amend(question.proposal_id, "a.py", b"alpha = 1\n")
        return YES

    bench.person = amend
    result = bench.edit({"file": "a.py", "replace": {"old": "a = 1", "new": "b = 1"}})
    assert bench.read("a.py") == b"alpha = 1\n"
    assert "+alpha = 1" in result["files"][0]["preview"]
    assert any("changed the edit" in warning for warning in result["warnings"])


def test_without_a_person_an_edit_is_only_staged(bench: Bench) -> None:
    bench.write("a.py", "a = 1\n")
    bench.person = None
    result = bench.edit({"file": "a.py", "replace": {"old": "a = 1", "new": "b = 1"}})
    assert result["state"] == "staged"
    assert bench.read("a.py") == b"a = 1\n"
    assert bench.states() == [ProposalState.STAGED]
    assert any("treadle edits approve" in warning for warning in result["warnings"])
    bench.edits.apply(bench.edits.list()[0].id)
    assert bench.read("a.py") == b"b = 1\n"


def test_settings_may_allow_edits_without_approval(bench: Bench) -> None:
    bench.settings = EditSettings(auto_approve=("docs/*.md", ".env"))
    bench.person = None
    bench.write("docs/a.md", "one\n")
    bench.write("a.md", "one\n")
    replace = {"old": "one", "new": "two"}
    assert bench.edit({"file": "docs/a.md", "replace": replace})["state"] == "applied"
    both = bench.edit(
        {"file": "docs/a.md", "replace": {"old": "two", "new": "three"}},
        {"file": "a.md", "replace": replace},
    )
    assert both["state"] == "staged"
    bench.write(".env", "one\n")
    assert bench.refused({"file": ".env", "replace": replace}).kind is ErrorKind.DENIED
    assert bench.read(".env") == b"one\n"
    bench.rules = ApprovalSettings(deny=("* path=docs/",))
    assert bench.refused({"file": "docs/a.md", "replace": {"old": "two", "new": "x"}}).kind is (
        ErrorKind.DENIED
    )


def test_new_syntax_errors_are_reported_or_refused(bench: Bench) -> None:
    bench.write("a.py", "def f():\n    return 1\n")
    edit = {"file": "a.py", "replace": {"old": "return 1", "new": "return (1"}}
    bench.settings = EditSettings(syntax_errors="refuse")
    failure = bench.refused(edit)
    assert failure.kind is ErrorKind.VALIDATION
    assert "line 2" in failure.message
    assert bench.read("a.py") == b"def f():\n    return 1\n"
    assert not bench.questions
    bench.settings = EditSettings()
    result = bench.edit(edit)
    assert any("a.py has new syntax errors at line 2" in text for text in result["warnings"])
    mended = bench.edit({"file": "a.py", "replace": {"old": "return (1", "new": "return (1)"}})
    assert not any("syntax" in text for text in mended["warnings"])


def test_a_file_that_changes_during_the_question_is_a_conflict(bench: Bench) -> None:
    bench.write("a.py", "a = 1\nb = 2\n")

    def user_saves(_question: ApprovalRequested) -> Answer:
        bench.write("a.py", "a = 1\nb = 3\n")
        return YES

    bench.person = user_saves
    failure = bench.refused({"file": "a.py", "replace": {"old": "b = 2", "new": "b = 9"}})
    assert (failure.kind, failure.effect) == (ErrorKind.CONFLICT, Effect.NONE)
    assert bench.read("a.py") == b"a = 1\nb = 3\n"
    assert bench.states() == [ProposalState.CONFLICTED]
    assert isinstance(bench.events[-1], EditFailed)


def test_files_are_created_renamed_and_deleted(bench: Bench) -> None:
    bench.ok("create_file", path="new/a.py", content="a = 1\n")
    assert bench.read("new/a.py") == b"a = 1\n"
    exists = bench.failed("create_file", path="new/a.py", content="b")
    assert "already" in exists.message
    bench.ok("create_file", path="new/a.py", content="a = 2\n", on_exists="overwrite")
    bench.ok("rename_file", path="new/a.py", target="b.py")
    assert not (bench.root / "new/a.py").exists()
    assert bench.read("b.py") == b"a = 2\n"
    bench.write("c.py", "c")
    assert bench.failed("rename_file", path="b.py", target="c.py").kind is not ErrorKind.INTERNAL
    bench.ok("delete_file", path="b.py")
    assert not (bench.root / "b.py").exists()
    assert bench.failed("delete_file", path="b.py").kind is ErrorKind.NOT_FOUND
    bench.edits.undo(bench.edits.list()[0].id)
    assert bench.read("b.py") == b"a = 2\n"


def test_a_patch_changes_several_files_at_once(bench: Bench) -> None:
    bench.write("a.py", PYTHON)
    bench.write("gone.py", "x = 1\n")
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@ class Cart:\n     @property\n"
        "     def total(self) -> int:\n-        return 1\n+        return 5\n"
        "*** Add File: b.py\n+b = 1\n*** Delete File: gone.py\n*** End Patch\n"
    )
    bench.ok("apply_patch", diff=patch)
    assert bench.read("a.py") == PYTHON.replace("return 1", "return 5").encode()
    assert bench.read("b.py") == b"b = 1\n"
    assert not (bench.root / "gone.py").exists()
    ill = bench.failed("apply_patch", diff="*** Begin Patch\n*** Move File: a\n*** End Patch\n")
    assert ill.kind is ErrorKind.PARSING


def test_a_failure_names_the_responsible_argument(bench: Bench) -> None:
    bench.write("wide.py", "x = 1\n".encode("utf-16"))
    edit = {"file": "wide.py", "replace": {"old": "x", "new": "y"}}
    absent = {"file": "cart.py", "replace": {"old": "no such text", "new": ""}}
    assert bench.refused(absent).field == "edits.0"
    assert bench.refused(edit).field is None  # the text says which of several it was
    patch = "--- a/nothing.py\n+++ b/nothing.py\n@@ -1 +1 @@\n-a\n+b\n"
    assert bench.failed("apply_patch", diff=patch).field == "diff"
    assert bench.failed("apply_patch", diff="nothing").field == "diff"
    assert bench.failed("delete_file", path="nothing.py").field == "path"


@pytest.mark.parametrize("path", ["../out.py", "/etc/passwd", ".git/config", ".env", "link/a.py"])
def test_outside_and_private_files_are_not_changed(bench: Bench, path: str) -> None:
    bench.person = None
    (bench.root / ".git").mkdir()
    outside = bench.root.parent / "outside"
    outside.mkdir()
    (bench.root / "link").symlink_to(outside)
    for failure in (
        bench.failed("create_file", path=path, content="x", on_exists="overwrite"),
        bench.failed(
            "apply_patch", diff=f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"
        ),
        bench.refused({"file": path, "lines": {"first": 1, "last": 1, "code": "x"}}),
    ):
        assert failure.kind in {ErrorKind.PERMISSION, ErrorKind.DENIED, ErrorKind.PARSING}
        assert failure.effect is Effect.NONE
    assert list(outside.iterdir()) == []
    assert not (bench.root / ".git/config").exists()


def test_a_person_may_allow_changes_of_a_private_file(bench: Bench) -> None:
    bench.write(".env", "COLOUR=red\n")
    result = bench.edit({"file": ".env", "replace": {"old": "red", "new": "blue"}})
    assert result["state"] == "applied"
    assert bench.read(".env") == b"COLOUR=blue\n"
    assert "usually holds keys" in bench.questions[0].reason


def test_edit_requires_exactly_one_of_its_forms(bench: Bench) -> None:
    failure = bench.refused({"file": "a.py"})
    assert failure.kind is ErrorKind.VALIDATION
    assert "exactly one" in failure.message


def test_a_large_diff_is_cut_for_the_model_and_whole_for_the_person(bench: Bench) -> None:
    text = "".join(f"value_{n} = {n}\n" for n in range(3_000))
    result = bench.ok("create_file", path="a.py", content=text)
    preview = result["files"][0]["preview"]
    assert len(preview) < 12_000
    assert "more lines" in preview
    question = bench.questions[0].preview
    assert bench.questions[0].reason == "In 1 file, it adds 3,000 lines."
    assert question is not None
    assert "+value_2999 = 2999" in question


def test_no_syntax_error_is_reported_for_characters_with_an_ascii_byte(bench: Bench) -> None:
    """The second byte of some of them in Shift_JIS is a backslash."""
    text = '// 設定を読み込む関数です。\nchar *a = "日本語の文字列";\nint b;\n'
    bench.write("a.c", text.encode("cp932"))
    bench.settings = EditSettings(syntax_errors="refuse")
    bench.edit({"file": "a.c", "replace": {"old": "日本語の文字列", "new": "予定表"}})
    assert bench.read("a.c") == text.replace("日本語の文字列", "予定表").encode("cp932")
    assert (
        "syntax" in bench.refused({"file": "a.c", "replace": {"old": '"予', "new": "予"}}).message
    )


_METHODS = "".join(f"    def m{n}(self):\n        return {n}\n\n" for n in range(3))
_CLASS = f"class A:\n{_METHODS}"


@pytest.mark.parametrize(
    "comment",
    [
        "# ... existing code ...",
        "# ... rest of the code remains the same ...",
        "# (other methods unchanged)",
        "# rest of the class...",
        "# … unchanged …",
        "# (...rest of implementations)",
        "# (...no changes around here)",
        "# ...",
    ],
)
def test_a_placeholder_comment_is_reported(bench: Bench, comment: str) -> None:
    """Aider-AI/aider#1832, google-gemini/gemini-cli#4037: placeholders replace code."""
    code = f"class A:\n    {comment}\n\n    def m2(self):\n        return 22\n"
    edits: list[dict[str, Any]] = [
        {"item": {"canonical_path": "A", "code": code}},
        {"replace": {"old": _CLASS, "new": code}},
        {"lines": {"first": 1, "last": 10, "code": code}},
    ]
    for edit in edits:
        bench.write("a.py", _CLASS)
        result = bench.edit({"file": "a.py", **edit})
        assert any(f"`{comment}` is written literally" in each for each in result["warnings"])
    bench.write("a.py", _CLASS)
    result = bench.ok("create_file", path="a.py", content=code, on_exists="overwrite")
    assert any(f"`{comment}` is written literally" in each for each in result["warnings"])


@pytest.mark.parametrize(
    "comment",
    ["# Wait for the rest of the reply.", "# The code is the same in both.", "# TODO ..."],
)
def test_other_comments_are_not_placeholders(bench: Bench, comment: str) -> None:
    bench.write("a.py", _CLASS)
    code = f"class A:\n    {comment}\n    x = 1\n"
    result = bench.edit({"file": "a.py", "item": {"canonical_path": "A", "code": code}})
    assert not any("is written literally" in each for each in result["warnings"])


def test_a_placeholder_that_was_there_before_is_not_reported(bench: Bench) -> None:
    source = _CLASS.replace("class A:\n", "class A:\n    # ... existing code ...\n")
    bench.write("a.py", source)
    code = source.replace("return 1", "return 11")
    result = bench.edit({"file": "a.py", "item": {"canonical_path": "A", "code": code}})
    assert not any("is written literally" in each for each in result["warnings"])
