"""Which files of a git repository are its own: tracked ones, not those of other work trees."""

import subprocess
from pathlib import Path

import pytest

from treadle.code import CodeIndex
from treadle.code.files.git import tracked_below
from treadle.code.files.walk import walk


def git(root: Path, *arguments: str) -> None:
    settings = (
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.com",
        "-c",
        "protocol.file.allow=always",
    )
    subprocess.run(["git", *settings, *arguments], cwd=root, check=True, capture_output=True)


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"def {Path(path).stem}():\n    return 1\n")


def walked(root: Path) -> tuple[set[str], dict[str, str]]:
    skipped: dict[str, str] = {}
    found = {entry.path for entry in walk(root, on_skip=skipped.__setitem__)}
    return {path for path in found if path.endswith(".py")}, skipped


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "-q")
    write(root, "own.py")
    git(root, "add", "own.py")
    git(root, "commit", "-q", "-m", "one")
    return root


def test_linked_work_tree_inside_is_skipped(root: Path) -> None:
    git(root, "worktree", "add", "-q", "trees/other", "-b", "other")
    assert walked(root) == ({"own.py"}, {"trees/other": "another work tree or clone"})


def test_clone_inside_is_skipped(root: Path) -> None:
    git(root, "clone", "-q", ".", "copies/clone")
    assert walked(root) == ({"own.py"}, {"copies/clone": "another work tree or clone"})
    assert walked(root / "copies" / "clone")[0] == {"own.py"}


def test_submodule_is_part_of_the_project(root: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    git(library, "init", "-q")
    write(library, "lib.py")
    git(library, "add", ".")
    git(library, "commit", "-q", "-m", "one")
    git(root, "submodule", "add", "-q", str(library), "libs/library")
    assert walked(root)[0] == {"own.py", "libs/library/lib.py"}


def test_repositories_in_adjacent_folders_are_walked(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q")
        write(tmp_path / name, f"{name}.py")
    assert walked(tmp_path)[0] == {"one/one.py", "two/two.py"}


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_ignored_tracked_file_is_read(root: Path, version: str) -> None:
    git(root, "config", "index.version", version)
    (root / ".gitignore").write_text("gen.py\nbuild/\n*.min.py\n")
    (root / ".git" / "info" / "exclude").write_text("excluded.py\n")
    paths = ["gen.py", "build/in.py", "build/deep/in.py", "a.min.py", "excluded.py"]
    write(root, *paths, "build/out.py", "build/deep/out.py", "build/other/out.py", "b.min.py")
    git(root, "add", "-f", *paths)
    if version == "3":
        write(root, "later.py")
        git(root, "add", "--intent-to-add", "later.py")
        paths.append("later.py")
    git(root, "update-index", "--index-version", version) if version != "3" else None
    assert walked(root)[0] == {"own.py", *paths}
    assert walked(root / "build")[0] >= {"in.py", "deep/in.py"}


def test_treadleignore_excludes_a_tracked_file(root: Path) -> None:
    (root / ".treadleignore").write_text("own.py\n")
    assert walked(root)[0] == set()


def test_tracked_file_in_a_linked_work_tree_counts(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    (tmp_path / "linked" / ".gitignore").write_text("*.py\n")
    assert walked(tmp_path / "linked")[0] == {"own.py"}


@pytest.mark.parametrize("damage", [b"", b"DIRC", b"DIRC\0\0\0\x02\xff\xff\xff\xff", b"\0" * 500])
def test_damaged_index_of_git_tracks_nothing(root: Path, damage: bytes) -> None:
    (root / ".gitignore").write_text("own.py\n")
    (root / ".git" / "index").write_bytes(damage)
    assert walked(root)[0] == set()
    assert tracked_below(root, root).files == frozenset()


def test_ignored_tracked_file_is_found_by_search(root: Path, tmp_path: Path) -> None:
    (root / ".gitignore").write_text("build/\n")
    write(root, "build/zebra.py")
    git(root, "add", "-f", "build/zebra.py")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        index.refresh()
        assert index.search("zebra").results[0].file == "build/zebra.py"


@pytest.mark.parametrize("query", ["zebra stripes", "count_stripes"])
@pytest.mark.parametrize("copy", ["a_copy", "old/deep"])
def test_copy_inside_of_the_tree_ranks_below_the_original(
    tmp_path: Path, query: str, copy: str
) -> None:
    text = "def count_stripes(zebra):\n    return zebra.stripes\n"
    for folder in ("src/lib", f"{copy}/src/lib"):
        (tmp_path / "root" / folder).mkdir(parents=True)
        (tmp_path / "root" / folder / "zoo.py").write_text(text)
    (tmp_path / "root" / copy / "src/lib/zoo.py").write_text(text.replace("return", "return 1 +"))
    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        found = [hit for hit in index.search(query).results if hit.name == "count_stripes"]
        assert [hit.file for hit in found] == ["src/lib/zoo.py", f"{copy}/src/lib/zoo.py"]
