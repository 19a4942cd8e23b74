"""Commits of exactly the edits of a conversation, next to changes of the person."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.commits.repository import Repository
from treadle.commits.create import create_commit
from treadle.commits.message import CommitMessage
from treadle.commits.session_index import EditedFile, locked_index, session_index
from treadle.commits.staged import head_or_empty_tree, written_tree
from treadle.git import GitError

LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository.create(tmp_path / "repo")
    made.commit("Begin", {"a.txt": LINES, "b.txt": LINES, "sub/c.txt": LINES})
    return made


def commit_edits(root: Path, files: dict[str, EditedFile]) -> dict[str, str]:
    """Commit the edits, and return the reasons why files are left out."""
    with session_index(root, files) as built:
        tree, head = written_tree(root, built.to_commit), head_or_empty_tree(root)
        with locked_index(root, built):
            create_commit(root, CommitMessage("Edit"), tree=tree, head=head, index=built.to_commit)
        return {each.path: each.reason for each in built.left_out}


def edited(repository: Repository, path: str, old: str, new: str) -> EditedFile:
    """Replace a text of a file, as an edit of a conversation does."""
    before = (repository.root / path).read_bytes()
    after = before.replace(old.encode(), new.encode())
    assert after != before
    repository.write(path, after)
    return EditedFile((before, after))


def test_only_the_edits_are_committed(repository: Repository) -> None:
    repository.stage("b.txt", LINES.replace("two", "TWO"))
    repository.write("sub/c.txt", LINES.replace("ten", "TEN"))
    repository.write("untracked.txt", "mine\n")
    edit = edited(repository, "a.txt", "one", "ONE")
    assert commit_edits(repository.root, {"a.txt": edit}) == {}
    expected = {"a.txt": LINES.replace("one", "ONE"), "b.txt": LINES, "sub/c.txt": LINES}
    assert repository.tree() == {path: text.encode() for path, text in expected.items()}
    assert repository.tree("")["b.txt"] == LINES.replace("two", "TWO").encode()
    status = repository.git("status", "--porcelain").decode()
    assert status == "M  b.txt\n M sub/c.txt\n?? untracked.txt\n"


def test_changes_of_the_person_in_the_same_file_stay_out(repository: Repository) -> None:
    repository.stage("a.txt", LINES.replace("two", "STAGED"))
    repository.write("a.txt", LINES.replace("two", "STAGED").replace("six", "UNSTAGED"))
    edit = edited(repository, "a.txt", "ten", "EDIT")
    assert commit_edits(repository.root, {"a.txt": edit}) == {}
    assert repository.tree()["a.txt"] == LINES.replace("ten", "EDIT").encode()
    staged = LINES.replace("ten", "EDIT").replace("two", "STAGED").encode()
    assert repository.tree("")["a.txt"] == staged
    assert b"UNSTAGED" in (repository.root / "a.txt").read_bytes()


@pytest.mark.parametrize("staged", [True, False])
def test_overlapping_changes_are_left_out_and_named(repository: Repository, staged: bool) -> None:
    text = LINES.replace("two", "MINE")
    (repository.stage if staged else repository.write)("a.txt", text)
    first = edited(repository, "a.txt", "MINE", "EDIT")
    second = edited(repository, "b.txt", "one", "ONE")
    reasons = commit_edits(repository.root, {"a.txt": first, "b.txt": second})
    assert list(reasons) == ["a.txt"]
    assert "at the same lines" in reasons["a.txt"]
    assert repository.tree()["a.txt"] == LINES.encode()
    assert repository.tree()["b.txt"] == LINES.replace("one", "ONE").encode()
    assert repository.tree("")["a.txt"] == (text if staged else LINES).encode()


def test_created_deleted_and_executable_files(repository: Repository) -> None:
    (repository.root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (repository.root / "run.sh").chmod(0o755)
    (repository.root / "a.txt").unlink()
    files = {
        "run.sh": EditedFile((None, b"#!/bin/sh\n")),
        "a.txt": EditedFile((LINES.encode(), None)),
    }
    assert commit_edits(repository.root, files) == {}
    assert set(repository.tree()) == {"run.sh", "b.txt", "sub/c.txt"}
    assert repository.git("ls-tree", "HEAD", "run.sh").startswith(b"100755 ")
    assert repository.git("status", "--porcelain") == b""


def test_edits_that_head_contains_are_not_committed_again(repository: Repository) -> None:
    first = edited(repository, "a.txt", "one", "ONE")
    commit_edits(repository.root, {"a.txt": first})
    second = edited(repository, "a.txt", "two", "TWO")
    both = EditedFile((*first.states, second.states[-1]))
    with session_index(repository.root, {"a.txt": both}) as built:
        assert built.paths == ("a.txt",)
    assert commit_edits(repository.root, {"a.txt": both}) == {}
    with session_index(repository.root, {"a.txt": both}) as built:
        assert built.paths == ()


def test_ignored_files_and_links_are_left_out(repository: Repository) -> None:
    repository.commit("Ignore", {".gitignore": "build/\n"})
    repository.write("build/x", "x\n")
    (repository.root / "link").symlink_to("a.txt")
    repository.git("add", "link")
    files = {"build/x": EditedFile((None, b"x\n")), "link": EditedFile((b"a.txt", b"new\n"))}
    with session_index(repository.root, files) as built:
        reasons = {each.path: each.reason for each in built.left_out}
    assert reasons["build/x"] == "git ignores it"
    assert "regular file" in reasons["link"]


def test_a_folder_of_the_repository_can_be_the_root(repository: Repository) -> None:
    edit = edited(repository, "sub/c.txt", "one", "ONE")
    assert commit_edits(repository.root / "sub", {"c.txt": edit}) == {}
    assert repository.tree()["sub/c.txt"].startswith(b"ONE")
    assert repository.git("status", "--porcelain") == b""


def test_line_ends_are_converted_as_git_does(repository: Repository) -> None:
    repository.commit("Attributes", {".gitattributes": "*.txt text eol=crlf\n"})
    crlf = LINES.replace("\n", "\r\n")
    repository.write("a.txt", crlf)
    edit = edited(repository, "a.txt", "one", "ONE")
    assert commit_edits(repository.root, {"a.txt": edit}) == {}
    assert repository.tree()["a.txt"] == LINES.replace("one", "ONE").encode()


def test_nothing_changes_if_a_hook_refuses(repository: Repository) -> None:
    hook = repository.root / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    repository.stage("b.txt", "staged\n")
    edit = edited(repository, "a.txt", "one", "ONE")
    index = (repository.root / ".git/index").read_bytes()
    with pytest.raises(Exception, match="git committed nothing"):
        commit_edits(repository.root, {"a.txt": edit})
    assert (repository.root / ".git/index").read_bytes() == index
    assert not (repository.root / ".git/index.lock").exists()
    assert repository.git("log", "--format=%s") == b"Begin\n"


def test_another_git_process_is_respected(repository: Repository) -> None:
    edit = edited(repository, "a.txt", "one", "ONE")
    lock = repository.root / ".git/index.lock"
    lock.touch()
    with pytest.raises(GitError, match=r"index\.lock exists"):
        commit_edits(repository.root, {"a.txt": edit})
    assert lock.exists()
    lock.unlink()
    with session_index(repository.root, {"a.txt": edit}) as built:
        repository.stage("b.txt", "changed meanwhile\n")
        with (
            pytest.raises(GitError, match="staged changes changed"),
            locked_index(repository.root, built),
        ):
            pass
    assert not lock.exists()


def test_first_commit_of_a_repository(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "new")
    repository.write("a.txt", "a\n")
    assert commit_edits(repository.root, {"a.txt": EditedFile((None, b"a\n"))}) == {}
    assert repository.tree() == {"a.txt": b"a\n"}


def test_repositories_with_long_object_ids(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "new", "--object-format=sha256")
    repository.commit("Begin", {"a.txt": "a\n", "b.txt": "b\n"})
    (repository.root / "b.txt").unlink()
    files = {"b.txt": EditedFile((b"b\n", None))}
    assert commit_edits(repository.root, files) == {}
    assert repository.tree() == {"a.txt": b"a\n"}


WORDS = LINES.split()
CHANGES = st.dictionaries(st.sampled_from(WORDS), st.sampled_from(["X", "Y", ""]), max_size=3)


def changed(text: str, changes: dict[str, str]) -> str:
    lines = [changes.get(line, line) for line in text.split()]
    return "".join(f"{line}\n" for line in lines if line)


@settings(max_examples=12)  # each example starts git 40 times
@given(staged=CHANGES, unstaged=CHANGES, edits=CHANGES)
def test_commits_never_contain_a_change_of_the_person(
    tmp_path_factory: pytest.TempPathFactory,
    staged: dict[str, str],
    unstaged: dict[str, str],
    edits: dict[str, str],
) -> None:
    repository = Repository.create(tmp_path_factory.mktemp("property") / "repo")
    repository.commit("Begin", {"a.txt": LINES, "b.txt": "b\n"})
    repository.stage("a.txt", changed(LINES, staged))
    mine = changed(changed(LINES, staged), unstaged)
    repository.write("b.txt", "edited\n")
    now = changed(mine, {word: f"edited-{new}" for word, new in edits.items()})
    repository.write("a.txt", now)
    index = repository.tree("")["a.txt"]
    files = {
        "a.txt": EditedFile((mine.encode(), now.encode())),
        "b.txt": EditedFile((b"b\n", b"edited\n")),
    }
    if now == mine:
        del files["a.txt"]
    reasons = commit_edits(repository.root, files)
    committed = repository.tree()["a.txt"].decode()
    others = [line for line in committed.split() if not line.startswith("edited-")]
    assert set(others) <= set(WORDS)  # a word of the person would be X or Y
    expected = {f"edited-{new}" for word, new in edits.items() if word in mine.split()}
    if "a.txt" in reasons or "a.txt" not in files:
        assert committed == LINES
        assert repository.tree("")["a.txt"] == index
    else:
        assert {line for line in committed.split() if line.startswith("edited-")} == expected
        kept = repository.tree("")["a.txt"].decode().split()
        assert {line for line in kept if line in {"X", "Y"}} == {
            line for line in index.decode().split() if line in {"X", "Y"}
        }
    assert (repository.root / "a.txt").read_text() == now
    shutil.rmtree(repository.root)
