"""The content of a copy, and that the original is unchanged byte for byte."""

import asyncio
import errno
import os
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checks.projects import Project, until
from treadle.checks import scratch
from treadle.checks.scratch import scratch_copy
from treadle.errors import PathRefusedError, TreadleError
from treadle.inside import Folders


def contents(root: Path) -> dict[str, tuple[int, int, bytes | str]]:
    """Mode, time and content of everything below a folder."""
    found: dict[str, tuple[int, int, bytes | str]] = {}
    for parent, folders, names in os.walk(root):
        for path in (Path(parent, name) for name in (*folders, *names)):
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                content: bytes | str = os.readlink(path)  # noqa: PTH115
            else:
                content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            found[str(path.relative_to(root))] = (status.st_mode, status.st_mtime_ns, content)
    return found


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def repository(project: Project) -> Project:
    git(project.root, "init", "--quiet")
    project.write(".gitignore", "*.log\nbuild/\n.venv\n.env\n")
    project.write("tracked.py", "one\n")
    project.write("bin/tool", "#!/bin/sh\n", mode=0o755)
    project.write("tests/cert.pem", "a certificate for tests\n")
    git(project.root, "add", ".")
    project.write("new.py", "not yet tracked\n")
    project.write("out.log", "ignored\n")
    project.write("build/x.o", "ignored\n")
    project.write(".env", "PASSWORD=x\n")
    project.write(".venv/bin/python", "#!/bin/sh\n")
    return project


async def test_the_copy_has_the_files_that_git_does_not_ignore(repository: Project) -> None:
    async with scratch_copy(repository.root, {}) as tree:
        names = {str(path.relative_to(tree)) for path in tree.rglob("*") if not path.is_dir()}
        assert names == {".gitignore", "tracked.py", "bin/tool", "tests/cert.pem", "new.py"}
        assert (tree / ".venv").readlink() == repository.root / ".venv"
        assert os.access(tree / "bin/tool", os.X_OK)
        assert tree.name == repository.root.name
        original = (repository.root / "tracked.py").stat()
        copied = (tree / "tracked.py").stat()
        assert (copied.st_nlink, copied.st_mtime_ns) == (1, original.st_mtime_ns)
        assert copied.st_ino != original.st_ino
    assert not tree.parent.exists()


async def test_without_git_files_of_tools_are_left_out(project: Project) -> None:
    for name in ("a.py", "sub/b.py", "__pycache__/a.pyc", "target/debug/x", "node_modules/m/i.js"):
        project.write(name, "x")
    async with scratch_copy(project.root, {}) as tree:
        assert sorted(os.listdir(tree)) == ["a.py", "node_modules", "sub"]  # noqa: PTH208
        assert (tree / "node_modules").is_symlink()


async def test_a_broken_repository_is_copied(project: Project) -> None:
    project.write(".git", "gitdir: nowhere\n")
    project.write("a.py", "x")
    async with scratch_copy(project.root, {}) as tree:
        assert os.listdir(tree) == ["a.py"]  # noqa: PTH208


async def test_given_files_replace_those_of_the_tree(repository: Project) -> None:
    files = {
        "tracked.py": b"two\n",
        "bin/tool": b"#!/bin/bash\n",
        "deep/new/file.py": b"new\n",
        "new.py": None,
        "not there.py": None,
    }
    before = contents(repository.root)
    async with scratch_copy(repository.root, files) as tree:
        assert (tree / "tracked.py").read_bytes() == b"two\n"
        assert (tree / "deep/new/file.py").read_bytes() == b"new\n"
        assert stat.S_IMODE((tree / "bin/tool").stat().st_mode) == 0o755
        assert not (tree / "new.py").exists()
    assert contents(repository.root) == before


async def test_a_given_file_may_replace_a_folder(repository: Project) -> None:
    files = {"bin": b"a file now\n", "bin/tool": None, "new.py": None, "new.py/inner": b"x"}
    async with scratch_copy(repository.root, files) as tree:
        assert (tree / "bin").read_bytes() == b"a file now\n"
        assert (tree / "new.py/inner").read_bytes() == b"x"


async def test_links_lead_into_the_copy(repository: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("outside\n")
    links = {
        "inside": "tracked.py",
        "absolute": str(repository.root / "tracked.py"),
        "round": f"../{repository.root.name}/tracked.py",
        "out": str(outside),
        "dangling": "nothing",
        "folder": "bin",
    }
    for name, target in links.items():
        (repository.root / name).symlink_to(target)
    before = contents(tmp_path)
    async with scratch_copy(repository.root, {"folder/more": b"more\n", "absolute": b"x"}) as tree:
        for name in ("inside", "round"):
            (tree / name).write_text("changed\n")
        assert (tree / "tracked.py").read_text() == "changed\n"
        assert (tree / "absolute").read_text() == "x"
        assert not (tree / "absolute").is_symlink()
        assert (tree / "bin/more").read_text() == "more\n"
        assert (tree / "out/file").read_text() == "outside\n"
        assert (tree / "dangling").is_symlink()
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "name", ["../x", "/etc/x", "a/../../x", "out/x", ".venv/x", "", ".", "node_modules/a/x"]
)
async def test_given_files_cannot_leave_the_copy(
    repository: Project, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repository.root / "out").symlink_to(outside)
    (repository.root / "node_modules").mkdir()
    before = contents(tmp_path)
    with pytest.raises(PathRefusedError):
        async with scratch_copy(repository.root, {name: b"x"}):
            pass
    assert contents(tmp_path) == before


async def test_a_link_in_place_of_a_tracked_folder_is_not_followed(
    repository: Project, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (repository.root / "bin").rename(outside)
    (repository.root / "bin").symlink_to(outside)
    before = contents(tmp_path)
    async with scratch_copy(repository.root, {}) as tree:
        assert (tree / "bin").readlink() == outside
    assert contents(tmp_path) == before


async def test_unusual_names_and_kinds_are_copied_or_skipped(repository: Project) -> None:
    names = ["a b\nc", "-x", "caf\udce9", '"quoted"', "ä", "--", ":(glob)**"]
    for name in names:
        repository.write(name, name.encode("utf-8", "surrogateescape"))
    os.mkfifo(repository.root / "pipe")
    repository.write("inner/.git/HEAD", "ref: refs/heads/main\n")
    git(repository.root, "init", "--quiet", "inner")
    repository.write("inner/file", "of another repository\n")
    async with scratch_copy(repository.root, {}) as tree:
        for name in names:
            assert (tree / name).read_bytes() == name.encode("utf-8", "surrogateescape")
        assert not (tree / "pipe").exists()
        assert (tree / "inner/file").exists()
        assert not (tree / "inner/.git").exists()


async def test_the_copy_is_removed_whatever_its_permissions(repository: Project) -> None:
    async with scratch_copy(repository.root, {}) as tree:
        (tree / "locked/in").mkdir(parents=True)
        (tree / "locked/in/file").write_text("x")
        (tree / "locked/in").chmod(0o000)
        (tree / "locked").chmod(0o500)
    assert not tree.parent.exists()


async def test_a_cancelled_copy_is_removed(
    repository: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    for number in range(2_000):
        repository.write(f"many/{number}", "x")

    async def copy() -> None:
        async with scratch_copy(repository.root, {}):
            raise AssertionError("it was not cancelled in time")

    task = asyncio.create_task(copy())
    await until(lambda: any((tmp_path / "temporary").glob("*/tree/*/many/*")))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list((tmp_path / "temporary").iterdir()) == []


NAMES = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=8)
PATHS = st.lists(NAMES | st.just("..") | st.just(".git"), min_size=1, max_size=3).map("/".join)


@given(st.dictionaries(PATHS, st.none() | st.binary(max_size=20), max_size=5))
def test_given_files_never_change_the_original(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes | None]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    (root / "a").mkdir()
    (root / "a/file").write_bytes(b"x")
    (root / "link").symlink_to(root / "a")
    before = contents(root)

    async def copy() -> None:
        async with scratch_copy(root, files) as tree:
            for name, data in files.items():
                path = tree / name
                assert (path.read_bytes() if path.is_file() else None) == data

    with suppress(TreadleError):  # a path that leads out, a file in place of a folder
        asyncio.run(copy())
    assert contents(root) == before


_HOLDING = """
import asyncio, sys
from pathlib import Path
from treadle.checks import scratch
from treadle.checks.scratch import scratch_copy

async def hold():
    async with scratch_copy(Path(sys.argv[1]), {}) as tree:
        (tree / "locked").mkdir(mode=0o000)
        print(tree, flush=True)
        await asyncio.sleep(600)

asyncio.run(hold())
"""


async def test_copies_of_killed_processes_are_removed_and_living_ones_are_kept(
    repository: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (temporary / "treadle-check-of-mine").mkdir()
    command = (sys.executable, "-c", _HOLDING, str(repository.root))
    processes = [
        await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE) for _ in range(2)
    ]
    try:
        trees = []
        for process in processes:
            assert process.stdout is not None
            trees.append(Path((await process.stdout.readline()).decode().strip()))
        processes[0].kill()
        await processes[0].wait()
        assert trees[0].is_dir()
        async with scratch_copy(repository.root, {}) as third:
            left = {path.name for path in temporary.iterdir()}
            copies = {path.parent.parent.name for path in (trees[1], third)}
            assert left == {*copies, "treadle-check-of-mine"}
            assert (trees[1] / "tracked.py").read_bytes() == b"one\n"
    finally:
        processes[1].kill()
        for process in processes:
            await process.wait()
    async with scratch_copy(repository.root, {}):
        assert not trees[1].exists()
    assert [path.name for path in temporary.iterdir()] == ["treadle-check-of-mine"]


async def test_a_tree_that_would_fill_the_disk_is_not_copied(
    repository: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "MAX_COPIED_BYTES", 1_000_000)
    with (repository.root / "sparse.bin").open("wb") as file:
        file.truncate(1 << 34)
    with pytest.raises(TreadleError, match=r"exceed 0\.001 GB \(sparse\.bin alone has"):
        async with scratch_copy(repository.root, {}):
            pass


async def test_a_copy_that_cannot_be_created_is_an_error(
    repository: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(TreadleError) as error:
        async with scratch_copy(repository.root, {}):
            pass
    assert "TMPDIR" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EACCES, "Check the permissions"),
        (errno.ELOOP, "A link is in the place"),
        (errno.EIO, "Try again"),
    ],
)
async def test_the_hint_of_a_failed_copy_fits_the_reason(
    repository: Project, monkeypatch: pytest.MonkeyPatch, number: int, hint: str
) -> None:
    def fail(_: object, path: str) -> None:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(Folders, "read", fail)
    with pytest.raises(TreadleError, match=os.strerror(number)) as error:
        async with scratch_copy(repository.root, {}):
            pass
    assert (error.value.hint or "").startswith(hint)
