"""Folders made to harm whoever opens them: none of their programs runs, and nothing waits."""

import hashlib
import os
import struct
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import treadle
from treadle import git as git_module
from treadle.checks.discovery import find_checks
from treadle.checks.environment import in_copy
from treadle.checks.scratch import scratch_copy
from treadle.code.files import git as git_files
from treadle.code.files.git import tracked_below
from treadle.code.files.walk import walk
from treadle.config.model import CheckSettings
from treadle.inside import MAX_DEPTH
from treadle.repository_identity import identity

HUGE = 1 << 34
MIB = 1 << 20


def git(root: Path, *arguments: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    done = subprocess.run(
        ["git", *names, *arguments], cwd=root, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def remove_deep(folder: Path) -> None:
    """Remove a folder that is too deep for `shutil`."""
    subprocess.run(["rm", "-rf", folder], check=True)


def index_of(*names: str) -> bytes:
    """A git index, version 2, with unchecked file names, which git itself would not write."""
    data = b"DIRC" + struct.pack(">II", 2, len(names))
    for name in map(os.fsencode, names):
        fixed = struct.pack(">6I", 0, 0, 0, 0, 0, 0) + struct.pack(">4I", 0o100644, 0, 0, 0)
        entry = fixed[:24] + fixed[24:40] + hashlib.sha1(b"", usedforsecurity=False).digest()
        entry += struct.pack(">H", len(name)) + name
        data += entry + b"\0" * (8 - len(entry) % 8)
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


@pytest.mark.parametrize("url", ["ext::{program}", "{repo}"])
@pytest.mark.skipif(os.name != "posix", reason="the program is a shell script")
async def test_a_copy_for_a_check_runs_no_program_that_the_repository_names(
    repo: Path, url: str
) -> None:
    """Git fetches an object that a listing lacks, with programs from the repository's settings."""
    (repo / "left").mkdir()
    (repo / "right").mkdir()
    (repo / "left" / "file").write_text("left")
    (repo / "right" / "file").write_text("right")
    git(repo, "init", "--quiet")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "x")
    git(repo, "sparse-checkout", "set", "--cone", "--sparse-index", "left")
    missing = git(repo, "rev-parse", "HEAD:right")
    (repo / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    ran = repo.parent / "ran"
    program = repo.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    with (repo / ".git" / "config").open("a") as config:
        config.write(
            f"[core]\nrepositoryformatversion = 1\nfsmonitor = {program}\nsshCommand = {program}\n"
            "[extensions]\npartialClone = origin\n"
            f'[remote "origin"]\nurl = {url.format(program=program, repo=repo)}\n'
            f'promisor = true\nuploadpack = {program}\n[protocol "ext"]\nallow = always\n'
        )
    async with scratch_copy(repo, {}) as tree:
        assert (tree / "calc.py").is_file()
    assert not ran.exists()


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/hostname", "a/../../outside", ".git/config", "calc.py/../../x"]
)
async def test_a_copy_has_no_name_outside_of_the_tree(repo: Path, name: str) -> None:
    (repo.parent / "outside").write_text("outside")
    git(repo, "init", "--quiet")
    (repo / ".git" / "index").write_bytes(index_of(name, "calc.py"))
    async with scratch_copy(repo, {}) as tree:
        around = tree.parent.parent
        files = {path.relative_to(around).name for path in around.rglob("*") if path.is_file()}
        assert files == {"calc.py", "in-use"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are of POSIX")
async def test_a_pipe_in_place_of_an_ignore_file_does_not_keep_a_copy_waiting(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repo, "init", "--quiet")
    os.mkfifo(repo / ".gitignore")
    monkeypatch.setattr(git_module, "SECONDS", 0.2)
    async with scratch_copy(repo, {}) as tree:
        assert (tree / "calc.py").is_file()


async def test_a_file_that_becomes_a_link_is_not_copied(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It becomes one between the check and the copy."""
    secret = repo.parent / "secret"
    secret.write_text("secret")
    looked = Path.lstat

    def swapping(path: Path) -> os.stat_result:
        status = looked(path)
        if path == repo / "calc.py":
            path.unlink()
            path.symlink_to(secret)
        return status

    monkeypatch.setattr(Path, "lstat", swapping)
    with pytest.raises(Exception, match="could not be copied"):
        async with scratch_copy(repo, {}):
            pass


@pytest.mark.parametrize("of_git", [True, False])
async def test_too_deep_folders_are_not_copied(repo: Path, of_git: bool) -> None:
    below = repo
    for _ in range(1_100):
        below /= "d"
        below.mkdir()
    (below / "x").write_text("")
    deepest = repo.joinpath(*["d"] * MAX_DEPTH, "x")
    deepest.write_text("")
    if of_git:
        git(repo, "init", "--quiet")
    try:
        async with scratch_copy(repo, {}) as tree:
            copied = list(tree.rglob("x"))
            assert copied == [tree / deepest.relative_to(repo)]
    finally:
        remove_deep(repo / "d")


@pytest.mark.parametrize("pointer", ["gitdir: a\0b\n", "gitdir: .\n", "gitdir: " + "a/" * 9_999])
def test_an_impossible_git_folder_is_ignored(repo: Path, pointer: str) -> None:
    (repo / ".git").write_text(pointer)
    (repo / "commondir").write_text("\0")
    assert tracked_below(repo, repo) == tracked_below(repo.parent, repo.parent)
    assert [entry.path for entry in walk(repo)] == ["calc.py", "commondir"]
    identity(repo)


def test_too_deep_folders_are_skipped_with_a_reason(repo: Path) -> None:
    below = repo.joinpath(*["d"] * (MAX_DEPTH + 50))
    below.mkdir(parents=True)
    (below / "far.py").write_text("x = 1\n")
    (repo.joinpath(*["d"] * MAX_DEPTH) / "near.py").write_text("x = 1\n")
    skipped: list[tuple[str, str]] = []
    found = {entry.path for entry in walk(repo, on_skip=lambda *each: skipped.append(each))}
    assert {name.rpartition("/")[2] for name in found} == {"calc.py", "near.py"}
    assert [reason for _, reason in skipped] == [f"more than {MAX_DEPTH} folders deep"]


def test_an_index_that_repeats_a_long_path_is_not_read(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 4 stores only the difference from the path before: few bytes, many long paths."""
    monkeypatch.setattr(git_files, "_MAX_PATH_BYTES", MIB)
    (repo / ".git").mkdir()

    def entry(removed: int, rest: bytes) -> bytes:
        return b"\0" * 24 + struct.pack(">I", 0o100644) + b"\0" * 34 + bytes([removed]) + rest

    long = entry(0, b"a" * 1_000 + b"\0")
    for count, read in ((500, 501), (5_000, 0)):
        data = b"DIRC" + struct.pack(">II", 4, count + 1) + long
        data += b"".join(entry(1, bytes([97 + n % 26]) + b"\0") for n in range(count))
        (repo / ".git" / "index").write_bytes(data)
        assert len(git_files._entries(data)) == read

    deep = index_of(*(f"{n}" + "/d" * 700 for n in range(20)))
    (repo / ".git" / "index").write_bytes(deep)
    assert tracked_below(repo, repo) == ((frozenset(),) * 3)


@pytest.mark.parametrize("kind", ["huge", "pipe", "endless"])
def test_a_configuration_that_never_ends_is_refused(repo: Path, kind: str) -> None:
    config = repo / ".treadle" / "config.toml"
    config.parent.mkdir()
    _make(config, kind)
    ran = treadle("index", home=repo.parent / "home", repo=repo)
    assert ran.status in {0, 2}
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("kind", ["huge", "pipe", "endless"])
def test_endless_files_of_a_project_are_skipped(repo: Path, kind: str) -> None:
    for name in ("pyproject.toml", "package.json", "Makefile", "Cargo.toml", "tox.ini"):
        _make(repo / name, kind)
    assert find_checks(repo, CheckSettings()) is not None
    site = repo / ".venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    _make(site / "x.pth", kind)
    _make(site / "__editable___x_finder.py", kind)
    tree = repo.parent / "copy"
    tree.mkdir()
    moved = in_copy({"VIRTUAL_ENV": str(repo / ".venv")}, repo, tree)
    assert moved["PYTHONPATH"] == ""


def _make(path: Path, kind: str) -> None:
    if kind == "huge":
        path.touch()
        os.truncate(path, HUGE)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
