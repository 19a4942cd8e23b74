"""Requests for commit messages, and replies of models."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.commits.draft import draft_message
from treadle.commits.message import (
    BODY_COLUMNS,
    CommitMessage,
    cut_patches,
    problems,
    question,
    read_message,
)
from treadle.commits.staged import StagedChanges, StagedFile
from treadle.commits.style import CommitStyle, style_of
from treadle.tokens import estimate

LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=40))
PATCHES = LINES.map(lambda lines: "".join(f"+{line}\n" for line in lines))


@given(st.lists(PATCHES, max_size=6), st.integers(0, 400))
def test_cut_patches_stay_within_the_budget(patches: list[str], tokens: int) -> None:
    files = [StagedFile(f"f{number}", "M", patch=each) for number, each in enumerate(patches)]
    cut = cut_patches(files, tokens)
    assert sum(map(estimate, cut)) <= tokens
    for whole, part in zip(patches, cut, strict=True):
        found = re.fullmatch(r"(?s)(.*?)… (\d+) more lines\n", part)
        if found is None:
            assert part in {whole, ""}
        else:
            assert whole.startswith(found[1])
            assert whole[len(found[1]) :].count("\n") >= int(found[2]) - 1
    if sum(map(estimate, patches)) <= tokens:
        assert cut == patches


def test_short_patches_leave_their_tokens_to_long_ones() -> None:
    short = StagedFile("a", "M", patch="+x = 1\n")
    long = StagedFile("b", "M", patch="".join(f"+y{number} = {number}\n" for number in range(500)))
    cut = cut_patches([short, long], 400)
    assert cut[0] == short.patch
    assert estimate(cut[1]) > 300


@pytest.mark.parametrize(
    ("reply", "subject", "body"),
    [
        ("Fix stale totals", "Fix stale totals", ""),
        ("```\nFix stale totals\n\nBecause.\n```", "Fix stale totals", "Because."),
        ("**Subject:** Fix it\n\nBecause.", "Fix it", "Because."),
        ('"Fix it"', "Fix it", ""),
        ("<think>Hm.</think>\nFix it", "Fix it", ""),
        ("# Fix it", "Fix it", ""),
        ("Fix it\n\nWhy.\n\nCo-authored-by: Nobody <n@x.org>", "Fix it", "Why."),
        ("Fix it\n\nSigned-off-by: N <n@x.org>\nCloses: later", "Fix it", "Closes: later"),
        ("", "", ""),
        ("\x1b[31mFix it\x1b[0m", "[31mFix it[0m", ""),
        ("feat(parser)!: read `x`", "feat(parser)!: read `x`", ""),
    ],
)  # fmt: skip
def test_message_is_read_from_a_reply(reply: str, subject: str, body: str) -> None:
    assert read_message(reply) == CommitMessage(subject, body)


@given(st.lists(st.lists(st.from_regex(r"[a-z]{1,90}", fullmatch=True), min_size=1), max_size=8))
def test_wrapping_keeps_all_words(paragraphs: list[list[str]]) -> None:
    text = "\n\n".join(" ".join(words) for words in paragraphs)
    body = read_message(f"Subject\n\n{text}").body
    words = [word for paragraph in paragraphs for word in paragraph]
    kept = body.split()
    assert kept == words[: len(kept)]
    assert len(kept) == len(words) or body.count("\n") >= 38
    assert all(len(line) <= BODY_COLUMNS or " " not in line for line in body.splitlines())


def test_list_items_keep_their_indentation() -> None:
    item = "- " + "word " * 30
    lines = read_message(f"Subject\n\n{item}\n- second").body.splitlines()
    assert [line[:2] for line in lines] == ["- ", "  ", "  ", "- "]


def test_request_marks_diffs_as_data_and_states_the_rules() -> None:
    style = style_of(["Fix a", "Add b", "Remove c"])
    changes = StagedChanges("t", (StagedFile("a.py", "M", patch="@@ -1 +1 @@\n-a\n+b\n"),))
    text = question(changes, style, 1_000)
    assert "<recorded-" in text
    assert 'source="diff of a.py"' in text
    assert "at most 72 characters" in text
    assert "Remove c" in text


CONVENTIONAL = ["feat(ui): add a button", "fix: stop a leak", "chore: update lock file"]


def test_style_follows_the_recent_commits() -> None:
    style = style_of(CONVENTIONAL)
    assert style.prefixed == CONVENTIONAL[0]
    assert not style.capitalised
    assert not style.bodies
    scoped = style_of(["net/http: close idle connections", "cmd/go: add a flag", "fmt: fix verb"])
    assert scoped.prefixed == "net/http: close idle connections"
    plain = style_of(["Fix a leak.\n\nIt grew.", "Add a test.\n\nFor the leak."])
    assert plain.prefixed is None
    assert plain.capitalised
    assert plain.full_stop
    assert plain.bodies
    assert style_of([]) == CommitStyle()


def test_broken_rules_are_named() -> None:
    style = style_of(CONVENTIONAL)
    assert problems(CommitMessage("fix: stop it"), style) == ()
    assert problems(CommitMessage("Stop it"), style)[0].startswith("The subject has no prefix")
    assert "80 characters" in problems(CommitMessage("fix: " + "x" * 75), style)[0]
    assert problems(CommitMessage(""), style) == ("The message is empty.",)


@pytest.mark.parametrize(
    ("files", "messages", "subject"),
    [
        ([("src/a.py", "M")], [], "Update a.py"),
        ([("src/a.py", "A"), ("src/b/c.py", "A")], [], "Add 2 files in src"),
        ([("a", "A"), ("b", "D")], [], "Update 2 files"),
        ([("src/a.py", "D")], CONVENTIONAL, "chore: remove a.py"),
        ([("net/a.go", "M")], ["net: a b", "fmt: c d"], "net: update a.go"),
    ],
)
def test_draft_names_the_files(
    files: list[tuple[str, str]], messages: list[str], subject: str
) -> None:
    changes = StagedChanges("t", tuple(StagedFile(path, status) for path, status in files))
    assert draft_message(changes, style_of(messages)).subject == subject
