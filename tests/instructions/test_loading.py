"""Which instruction files a prompt gets, in which order, and how they are cut."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.instructions.loading import MAX_FILES, cut_text, load_instructions
from treadle.instructions.model import Instructions, LoadedFile
from treadle.instructions.sources import MAX_BYTES
from treadle.tokens import estimate

LINE = "Write one sentence per line, and name the actor first.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "outer" / "repo"
    folder.mkdir(parents=True)
    return folder


def write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def load(root: Path, *files: str, budget: int = 2_000, own: Path | None = None) -> Instructions:
    return load_instructions(root, own, budget, files=files)


def texts(loaded: Instructions) -> dict[str, str]:
    return {each.path: each.text for each in loaded.files if each.text}


def left_out(loaded: Instructions) -> dict[str, str]:
    return {each.path: each.reason or "" for each in loaded.files if not each.text}


def only(loaded: Instructions) -> LoadedFile:
    (file,) = loaded.files
    return file


# The files of folders


def test_files_come_from_the_root_to_the_folder_of_the_file(root: Path) -> None:
    for folder in (".", "pkg", "pkg/a", "pkg/b"):
        write(root / folder / "AGENTS.md", f"Rules of {folder}.")
    loaded = load(root, "pkg/a/x.py")
    assert list(texts(loaded)) == ["AGENTS.md", "pkg/AGENTS.md", "pkg/a/AGENTS.md"]


def test_each_folder_chooses_its_own_name(root: Path) -> None:
    write(root / "CLAUDE.md", "Root.")
    write(root / "pkg" / "AGENTS.md", "Package.")
    write(root / "pkg" / "CLAUDE.md", "Not used.")
    write(root / "web" / ".github" / "copilot-instructions.md", "Web.")
    loaded = load(root, "pkg/x.py", "web/x.ts")
    assert list(texts(loaded)) == [
        "CLAUDE.md",
        "pkg/AGENTS.md",
        "web/.github/copilot-instructions.md",
    ]


def test_file_above_the_root_is_not_read(root: Path) -> None:
    write(root.parent / "AGENTS.md", "Above.")
    assert load(root, "../x.py", "/etc/x").files == ()


@pytest.mark.parametrize("reference", ["CLAUDE.md", "@CLAUDE.md", "./CLAUDE.md\n"])
def test_file_with_only_a_file_name_stands_for_that_file(root: Path, reference: str) -> None:
    write(root / "AGENTS.md", reference)
    write(root / "CLAUDE.md", "The rules.")
    assert texts(load(root)) == {"CLAUDE.md": "The rules."}


def test_claude_file_that_names_agents_file_does_not_hide_it(root: Path) -> None:
    write(root / "AGENTS.md", "The rules.")
    write(root / "CLAUDE.md", "AGENTS.md")
    assert texts(load(root)) == {"AGENTS.md": "The rules."}


def test_single_word_that_names_no_file_is_text(root: Path) -> None:
    write(root / "AGENTS.md", "Tabs!")
    assert texts(load(root)) == {"AGENTS.md": "Tabs!"}


def test_two_files_that_name_each_other_are_harmless(root: Path) -> None:
    write(root / "AGENTS.md", "CLAUDE.md")
    write(root / "CLAUDE.md", "AGENTS.md")
    assert texts(load(root)) in ({}, {"AGENTS.md": "CLAUDE.md"}, {"CLAUDE.md": "AGENTS.md"})


# The budget


def test_cut_file_states_what_is_missing(root: Path) -> None:
    write(root / "AGENTS.md", LINE * 1_800)
    file = only(load(root))
    assert file.cut
    assert file.tokens <= 2_000 < file.whole_tokens
    assert file.text.startswith(LINE * 10)
    assert "The rest of AGENTS.md is cut" in file.text
    assert file.reason is not None
    assert f"of {len(LINE) * 1_800:,} bytes" in file.reason


def test_nearest_file_is_whole_when_the_root_is_cut(root: Path) -> None:
    write(root / "AGENTS.md", LINE * 1_000)
    write(root / "pkg" / "AGENTS.md", LINE * 20)
    root_file, nested = load(root, "pkg/x.py").files
    assert root_file.cut
    assert not nested.cut
    assert root_file.tokens + nested.tokens <= 2_000


def test_root_is_left_out_when_the_nearest_file_uses_the_budget(root: Path) -> None:
    write(root / "AGENTS.md", LINE * 10)
    write(root / "pkg" / "AGENTS.md", LINE * 1_000)
    loaded = load(root, "pkg/x.py")
    assert set(texts(loaded)) == {"pkg/AGENTS.md"} or loaded.files[0].cut
    assert loaded.tokens <= 2_000


def test_own_file_is_bounded_and_leaves_half_of_the_budget(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "config" / "AGENTS.md", LINE * 90_000)
    write(root / "AGENTS.md", LINE * 50)
    own, repository = load(root, own=tmp_path / "config").files
    assert own.own
    assert own.cut
    assert own.tokens <= 1_000
    assert repository.text == (LINE * 50).strip()


def test_own_file_comes_first_and_follows_no_imports(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "config" / "AGENTS.md", "Mine. @keys.toml")
    write(tmp_path / "config" / "keys.toml", "secret")
    write(root / "AGENTS.md", "Theirs.")
    assert [each.text for each in load(root, own=tmp_path / "config").files] == [
        "Mine. @keys.toml",
        "Theirs.",
    ]


@given(
    sizes=st.lists(st.integers(0, 120), min_size=1, max_size=4),
    budget=st.integers(0, 2_500),
)
def test_tokens_never_exceed_the_budget(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], budget: int
) -> None:
    root = tmp_path_factory.mktemp("repo")
    folder = root
    for number, size in enumerate(sizes):
        write(folder / "AGENTS.md", f"Folder {number}.\n" + LINE * size)
        folder /= "deeper"
    loaded = load(root, "/".join(["deeper"] * (len(sizes) - 1)) or "x", budget=budget)
    assert loaded.tokens <= budget
    assert sum(estimate(each.text) for each in loaded.files) <= budget
    assert len(loaded.files) == len(sizes), "each file is named, even without a text"
    nearest = loaded.files[-1]
    assert (nearest.reason is None) == (nearest.whole_tokens <= budget)


@given(st.text(), st.integers(0, 60))
def test_cut_text_is_a_beginning_within_the_tokens(text: str, tokens: int) -> None:
    shortened = cut_text(text, tokens)
    assert text.startswith(shortened)
    assert estimate(shortened) <= tokens
    if tokens and estimate(text) <= tokens:
        assert shortened.rstrip() == text.rstrip()


# Imports


def test_imports_follow_the_file_that_names_them(root: Path) -> None:
    write(root / "AGENTS.md", "Read @docs/style.md, and (@docs/tests.md).\n- @docs/sub/git.md")
    write(root / "docs" / "style.md", "Style: @sub/more.md")
    write(root / "docs" / "sub" / "more.md", "More, as in @../../AGENTS.md.")
    write(root / "docs" / "tests.md", "Tests.")
    write(root / "docs" / "sub" / "git.md", "Git.")
    loaded = load(root)
    assert list(texts(loaded)) == [
        "AGENTS.md", "docs/style.md", "docs/sub/more.md", "docs/tests.md", "docs/sub/git.md",
    ]  # fmt: skip
    assert loaded.files[2].imported_by == "docs/style.md"
    assert left_out(loaded) == {}


@pytest.mark.parametrize(
    "text",
    [
        "Use `@docs/style.md` here.",
        "``code ` @docs/style.md``",
        "```\n@docs/style.md\n```",
        "~~~ text\n@docs/style.md\n~~~",
        "    @docs/style.md",
        "<!-- @docs/style.md -->",
        "Write to me@docs/style.md.",
        "`a`@docs/style.md",
    ],
)
def test_code_and_addresses_are_not_imports(root: Path, text: str) -> None:
    write(root / "AGENTS.md", f"Rules.\n\n{text}\n\nMore.")
    write(root / "docs" / "style.md", "Style.")
    assert list(texts(load(root))) == ["AGENTS.md"]
    assert left_out(load(root)) == {}


@pytest.mark.parametrize(
    "word", ["@google.com", "@param", "@google/clasp", "@types/node", "@/components/x", "@", "@@"]
)
def test_handles_and_scopes_are_neither_imports_nor_errors(root: Path, word: str) -> None:
    write(root / "AGENTS.md", f"See {word} for this.")
    assert left_out(load(root)) == {}


@pytest.mark.parametrize(
    "word", ["/etc/passwd", "~/.ssh/id_rsa", "../x.md", "docs/../../x.md", "link.md", "out/x.md"]
)
def test_import_from_outside_is_refused_and_named(root: Path, word: str) -> None:
    write(root.parent / "x.md", "Outside.")
    write(root / "docs" / "here.md", "Here.")
    (root / "link.md").symlink_to(root.parent / "x.md")
    (root / "out").symlink_to("..")
    write(root / "AGENTS.md", f"Rules. @{word} @docs/here.md")
    loaded = load(root)
    assert list(texts(loaded)) == ["AGENTS.md", "docs/here.md"]
    ((path, reason),) = left_out(loaded).items()
    assert word in path
    assert "leads out of the repository" in reason


def test_missing_import_is_named(root: Path) -> None:
    write(root / "AGENTS.md", "Read @docs/missing.md.")
    assert left_out(load(root)) == {"@docs/missing.md": "There is no such file."}


def test_private_file_is_not_imported(root: Path) -> None:
    write(root / ".env", "TOKEN=x")
    write(root / "notes.txt", "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----")
    (root / "harmless.md").symlink_to(".env")
    write(root / "AGENTS.md", "Rules @.env @harmless.md @notes.txt")
    loaded = load(root)
    assert list(texts(loaded)) == ["AGENTS.md"]
    assert all("It is private" in reason for reason in left_out(loaded).values())
    assert len(left_out(loaded)) == 3


def test_file_that_the_rules_close_is_not_read(root: Path) -> None:
    write(root / "AGENTS.md", "Rules @docs/a.md")
    write(root / "docs" / "a.md", "Closed.")
    loaded = load_instructions(root, None, 2_000, open_to=lambda path: not path.startswith("docs"))
    assert left_out(loaded) == {"docs/a.md": "The approval rules do not let a model read it."}


def test_cycles_and_repeated_imports_load_each_file_once(root: Path) -> None:
    write(root / "AGENTS.md", "Me: @AGENTS.md\n" + "@a.md\n" * 1_000)
    write(root / "a.md", "A @b.md")
    write(root / "b.md", "B @a.md @AGENTS.md")
    assert list(texts(load(root, budget=20_000))) == ["AGENTS.md", "a.md", "b.md"]


def test_long_chain_of_imports_ends_and_says_so(root: Path) -> None:
    write(root / "AGENTS.md", "Start @n0.md")
    for number in range(50):
        write(root / f"n{number}.md", f"Step {number} @n{number + 1}.md")
    loaded = load(root)
    assert list(texts(loaded)) == ["AGENTS.md", *(f"n{number}.md" for number in range(5))]
    assert "depth of 5" in left_out(loaded)["n5.md"]


def test_number_of_files_is_limited(root: Path) -> None:
    for number in range(90):
        write(root / f"n{number}.md", f"Number {number}.")
    write(root / "AGENTS.md", " ".join(f"@n{number}.md" for number in range(90)))
    loaded = load(root, budget=50_000)
    assert len(texts(loaded)) == MAX_FILES
    assert any("at most 60 files" in reason for reason in left_out(loaded).values())


# Hostile files


def test_link_out_of_the_root_is_refused_and_the_next_name_is_used(root: Path) -> None:
    write(root.parent / "secret", "The secret.")
    (root / "first").symlink_to("../secret")
    (root / "AGENTS.md").symlink_to("first")
    write(root / "CLAUDE.md", "The rules.")
    loaded = load(root)
    assert texts(loaded) == {"CLAUDE.md": "The rules."}
    assert left_out(loaded) == {"AGENTS.md": "It leads out of the repository."}


def test_linked_folder_out_of_the_root_is_refused(root: Path) -> None:
    write(root.parent / "AGENTS.md", "Outside.")
    (root / "pkg").symlink_to(root.parent)
    assert left_out(load(root, "pkg/x.py")) == {"pkg/AGENTS.md": "It leads out of the repository."}


def test_link_inside_the_root_is_read_once_under_its_real_path(root: Path) -> None:
    write(root / "docs" / "rules.md", "The rules.")
    (root / "AGENTS.md").symlink_to("docs/rules.md")
    (root / "pkg").mkdir()
    (root / "pkg" / "CLAUDE.md").symlink_to("../AGENTS.md")
    assert texts(load(root, "pkg/x.py")) == {"docs/rules.md": "The rules."}


def test_same_text_in_two_files_is_sent_once(root: Path) -> None:
    write(root / "AGENTS.md", "The rules. @CLAUDE.md")
    write(root / "CLAUDE.md", "The rules. @CLAUDE.md")
    assert list(texts(load(root))) == ["AGENTS.md"]


def test_other_kinds_of_files_are_named_and_do_not_block(root: Path) -> None:
    os.mkfifo(root / "AGENTS.md")
    (root / "CLAUDE.md").mkdir()
    write(root / "pkg" / "AGENTS.md", b"\x7fELF\0\0")
    (root / "dev").mkdir()
    (root / "dev" / "AGENTS.md").symlink_to("/dev/zero")
    assert left_out(load(root, "pkg/x", "dev/x")) == {
        "AGENTS.md": "It is not a regular file.",
        "CLAUDE.md": "It is not a regular file.",
        "dev/AGENTS.md": "It leads out of the repository.",
        "pkg/AGENTS.md": "It is not a text file.",
    }


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Größe".encode("utf-16"), "Größe"),
        (b"\xef\xbb\xbfRules.", "Rules."),
        (b"Caf\xe9 rules.", "Caf\ufffd rules."),
        ("Hidden\u202e\u200b text.".encode(), "Hidden\\u202e\\u200b text."),
        (b"One.\r\nTwo.\r\n", "One.\nTwo."),
    ],
)
def test_text_is_decoded_and_shows_hidden_characters(root: Path, data: bytes, text: str) -> None:
    write(root / "AGENTS.md", data)
    assert texts(load(root)) == {"AGENTS.md": text}


def test_empty_file_gives_nothing(root: Path) -> None:
    write(root / "AGENTS.md", " \n")
    assert load(root).files == ()


def test_single_long_line_is_read_and_cut_within_bounds(root: Path) -> None:
    write(root / "AGENTS.md", b"word " * 2_000_000)
    file = only(load(root))
    assert file.tokens <= 2_000
    assert len(file.text) <= MAX_BYTES
    assert file.whole_tokens > 500_000


def test_secret_in_a_file_is_redacted(root: Path) -> None:
    key = "sk-proj-" + "Ab3dEf6hIj9lMn2pQr5t" * 2
    write(root / "AGENTS.md", f"Use OPENAI_API_KEY={key} for tests.")
    assert key not in str(load(root).files)


def test_known_file_is_skipped_until_it_changes(root: Path) -> None:
    write(root / "AGENTS.md", "First.")
    known = {(each.path, each.digest) for each in load(root).files}
    assert load_instructions(root, None, 2_000, known=known).files == ()
    write(root / "AGENTS.md", "Second.")
    assert texts(load_instructions(root, None, 2_000, known=known)) == {"AGENTS.md": "Second."}
