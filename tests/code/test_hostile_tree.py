"""Trees as they are found: each file is indexed or left out with a reason, and nothing else."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from treadle.code import CodeIndex, ContextEntry
from treadle.code.model import Reading

CODE = b"def zebra():\n    return 1\n"
FILES = {
    "crlf.py": CODE.replace(b"\n", b"\r\n"),
    "bom.py": b"\xef\xbb\xbf" + CODE,
    "nul.py": CODE + b"\0",
    "latin-1.py": b"# caf\xe9\n" + CODE,
    "long_line.py": CODE + b"# " + b"word " * 20_000 + b"\n" + b"x = 1\n" * 200,
    "minified.js": b"var a=1;" * 20_000,
    "deep.py": b"(\n" * 9_999 + b")\n" * 9_999 + CODE,
    "deeper.js": b"{a:\n" * 100_000,
    "with space.py": CODE,
    "\N{ZEBRA FACE}.py": CODE,
    "new\nline.py": CODE,
    os.fsdecode(b"caf\xe9.py"): CODE,
    "-dash.py": CODE,
    "empty.py": b"",
    "no_end.py": CODE.rstrip(),
    "broken.py": b"def zebra(:\n" + CODE,
}
SKIPPED = {"nul.py": "binary", "minified.js": "minified or generated"}


def everything(_entries: Sequence[ContextEntry], _omitted: int) -> bool:
    return True


def git(root: Path, *arguments: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")
    subprocess.run(
        ["git", *names, "-C", str(root), *arguments], check=True, capture_output=True, timeout=60
    )


@pytest.fixture
def repository(tmp_path: Path) -> Callable[[str], Path]:
    """Makes git repositories with one commit."""

    def make(name: str) -> Path:
        root = tmp_path / name
        root.mkdir(parents=True)
        git(root, "init", "-q")
        (root / f"{root.name}.py").write_bytes(CODE.replace(b"zebra", root.name.encode()))
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "x")
        return root

    return make


def test_unusual_file_is_indexed_or_skipped_with_a_reason(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    for name, data in FILES.items():
        (root / name).write_bytes(data)
    (root / "loop").symlink_to(root)
    (root / "self").symlink_to("self")
    os.mkfifo(root / "pipe.py")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        report = index.refresh()
        assert report.skipped == {**SKIPPED, "loop": "link", "self": "link"}
        readings = {entry.path: entry.reading for entry in index.readings()}
        assert readings.keys() == FILES.keys()
        assert readings["deeper.js"] is Reading.LINES
        assert readings["broken.py"] is Reading.ERRORS
        assert readings["deep.py"] in {Reading.PARSED, Reading.ERRORS}
        found = {result.file for result in index.search("zebra", top_k=50).results}
        assert found >= FILES.keys() - SKIPPED.keys() - {"empty.py", "deeper.js"}
        for entry in index.context("zebra", top_k=50, fits=everything).entries:
            data = (root / entry.file).read_bytes()
            assert data[entry.start_byte : entry.end_byte].decode() in entry.snippet
        assert index.refresh()[:3] == (0, 0, 0)


def test_a_folder_that_cannot_be_read_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root can read every folder, so the operating system's answer is made up."""
    (tmp_path / "tree/locked").mkdir(parents=True)
    (tmp_path / "tree/a.py").write_bytes(CODE)
    real = os.scandir

    locked = (tmp_path / "tree/locked").stat()

    def scandir(folder: int) -> object:
        if os.path.samestat(os.fstat(folder), locked):
            raise PermissionError(13, "Permission denied")
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    with CodeIndex.open(tmp_path / "tree", cache_dir=tmp_path / "cache") as index:
        report = index.refresh()
    assert (report.files, report.skipped) == (1, {"locked": "unreadable folder: Permission denied"})


def test_submodule_is_read_like_a_folder_and_another_repository_is_skipped(
    tmp_path: Path, repository: Callable[[str], Path]
) -> None:
    root, other = repository("outer"), repository("library")
    git(root, "submodule", "--quiet", "add", str(other), "vendored")
    repository("outer/nested")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        index.refresh()
        paths = {entry.path for entry in index.readings()}
        assert paths == {".gitmodules", "outer.py", "vendored/library.py"}
        (root / "vendored/library.py").write_bytes(CODE)
        index.refresh()
        assert index.search("zebra").results[0].file == "vendored/library.py"


@pytest.mark.parametrize("with_git", [True, False])
def test_empty_and_missing_repositories_are_indexed(tmp_path: Path, with_git: bool) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    if with_git:
        git(root, "init", "-q")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        assert index.refresh()[:5] == (0, 0, 0, 0, 0)
        assert index.search("zebra").results == ()
        assert index.context("zebra", top_k=5, fits=everything).entries == ()
        (root / "a.py").write_bytes(CODE)
        assert index.refresh().added == 1
        assert index.search("zebra").results[0].file == "a.py"
