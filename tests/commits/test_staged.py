"""The staged changes of real repositories."""

from pathlib import Path

import pytest

from tests.commits.repository import Repository
from treadle.commits.staged import StagedFile, read_staged
from treadle.errors import UsageError
from treadle.git import GitError


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.create(tmp_path / "repo")


def by_path(repository: Repository) -> dict[str, StagedFile]:
    return {file.path: file for file in read_staged(repository.root).files}


def test_every_kind_of_change_is_read(repository: Repository) -> None:
    repository.commit(
        "Begin",
        {"a.py": "a = 1\n", "gone.py": "x\n", "old.py": "one\ntwo\nthree\nfour\n", "t": "text\n"},
    )
    repository.stage("a.py", "a = 2\n")
    repository.stage("new file.py", "b = 1\n")
    repository.stage("image.bin", b"\0\1\2")
    repository.git("rm", "--quiet", "gone.py")
    repository.git("mv", "old.py", "renamed.py")
    (repository.root / "t").unlink()
    (repository.root / "t").symlink_to("a.py")
    repository.git("add", "t")
    found = by_path(repository)
    assert found["a.py"].patch == "@@ -1 +1 @@\n-a = 1\n+a = 2\n"
    assert found["new file.py"].status == "A"
    assert found["image.bin"].note == "binary file"
    assert found["gone.py"].status == "D"
    assert found["renamed.py"].former == "old.py"
    assert found["t"].status == "T"
    assert "+a.py" in found["t"].patch
    assert len(found) == 6


def test_first_commit_has_no_parent(repository: Repository) -> None:
    repository.stage("a.py", "a = 1\n")
    assert by_path(repository)["a.py"].patch == "@@ -0,0 +1 @@\n+a = 1\n"


def test_private_files_are_named_but_not_shown(repository: Repository) -> None:
    repository.stage(".env", "TOKEN=hunter2hunter2\n")
    file = by_path(repository)[".env"]
    assert file.patch == ""
    assert file.note
    assert file.note.startswith("not shown: ")


def test_secrets_are_redacted(repository: Repository) -> None:
    repository.stage("a.py", 'key = "sk-proj-Zm9vYmFyYmF6cXV4cXV1eGNvcmdlZ3JhdWx0"\n')
    assert "[redacted:" in by_path(repository)["a.py"].patch


def test_lines_that_look_like_headers_do_not_split_a_patch(repository: Repository) -> None:
    text = "x\rdiff --git a/a b/a\ndiff --git a/b b/b\n@@ -1 +1 @@\n"
    repository.stage("a.txt", text)
    repository.stage("b.txt", "b\n")
    found = by_path(repository)
    assert "+diff --git a/b b/b" in found["a.txt"].patch
    assert found["b.txt"].patch == "@@ -0,0 +1 @@\n+b\n"


def test_settings_of_the_repository_neither_run_programs_nor_change_the_diff(
    repository: Repository, tmp_path: Path
) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    trap.chmod(0o755)
    repository.commit("Begin", {"a.py": "a = 1\n", ".gitattributes": "*.py diff=x\n"})
    for name in ("diff.external", "diff.x.command", "diff.x.textconv", "core.fsmonitor"):
        repository.git("config", name, str(trap))
    repository.git("config", "core.pager", str(trap))
    repository.git("config", "color.ui", "always")
    repository.git("config", "diff.noprefix", "true")
    (tmp_path / "ran").unlink(missing_ok=True)
    repository.write("a.py", "a = 2\n")
    repository.git("-c", "core.fsmonitor=false", "add", "a.py")
    (tmp_path / "ran").unlink(missing_ok=True)
    assert by_path(repository)["a.py"].patch == "@@ -1 +1 @@\n-a = 1\n+a = 2\n"
    assert not (tmp_path / "ran").exists()


def test_nothing_staged_is_an_error(repository: Repository) -> None:
    repository.commit("Begin", {"a.py": "a = 1\n"})
    repository.write("a.py", "a = 2\n")
    with pytest.raises(UsageError, match="Nothing is staged"):
        read_staged(repository.root)


def test_unmerged_files_are_an_error(repository: Repository) -> None:
    repository.commit("Begin", {"a.py": "a = 1\n"})
    repository.git("checkout", "--quiet", "-b", "other")
    repository.commit("Two", {"a.py": "a = 2\n"})
    repository.git("checkout", "--quiet", "main")
    repository.commit("Three", {"a.py": "a = 3\n"})
    with pytest.raises(Exception, match="merge"):
        repository.git("merge", "other")
    with pytest.raises(UsageError, match=r"a\.py has unmerged changes"):
        read_staged(repository.root)


def test_a_folder_without_git_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="not a git repository"):
        read_staged(tmp_path)
