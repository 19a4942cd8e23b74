"""The walk over hostile trees."""

import os
from pathlib import Path

import pytest

from treadle.code.files.walk import walk


def paths(root: Path) -> list[str]:
    return [entry.path for entry in walk(root)]


def test_empty_and_missing_folders_are_walked(tmp_path: Path) -> None:
    assert paths(tmp_path) == []
    heard: list[tuple[str, str]] = []
    assert list(walk(tmp_path / "no", on_skip=lambda *skipped: heard.append(skipped))) == []
    assert heard == [(".", "unreadable folder: No such file or directory")]


def test_links_are_reported_and_never_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.py").write_text("a")
    (tmp_path / "real/loop").symlink_to(tmp_path)
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "dangling").symlink_to("nowhere")
    heard: list[tuple[str, str]] = []
    found = [entry.path for entry in walk(tmp_path, on_skip=lambda *skip: heard.append(skip))]
    assert found == ["real/a.py"]
    assert heard == [("dangling", "link"), ("out", "link"), ("real/loop", "link")]


def test_unusual_names_are_kept(tmp_path: Path) -> None:
    names = [
        "with space.py",
        "\N{SNAKE}.py",
        "new\nline.py",
        "-dash",
        os.fsdecode(b"latin-\xe9.py"),
    ]
    for name in names:
        (tmp_path / name).write_bytes(b"x")
    assert sorted(paths(tmp_path)) == sorted(names)


def test_special_files_and_git_folders_are_skipped(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "sub/.git").mkdir(parents=True)
    (tmp_path / "sub/.git/config").write_text("")
    (tmp_path / "sub/a.c").write_text("")
    (tmp_path / "worktree").mkdir()
    (tmp_path / "worktree/.git").write_text("gitdir: elsewhere")
    assert paths(tmp_path) == ["sub/a.c"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_an_unreadable_folder_is_reported(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    heard: list[tuple[str, str]] = []
    assert list(walk(tmp_path, on_skip=lambda *skip: heard.append(skip))) == []
    locked.chmod(0o700)
    assert heard == [("locked", "unreadable folder: Permission denied")]


def test_file_entries_have_size_times_and_inode(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1234")
    stat = (tmp_path / "a").stat()
    (entry,) = walk(tmp_path)
    assert (entry.size, entry.mtime_ns, entry.inode) == (4, stat.st_mtime_ns, stat.st_ino)


def test_package_with_the_name_of_a_key_file_shows_only_source_code(tmp_path: Path) -> None:
    shown = [
        "src/credentials/Retriever.java", "src/credentials/helper/Store.java",
        "Vault.Secrets/Client.cs", "secrets/store.py", "kubeconfig/load_test.go",
    ]  # fmt: skip
    hidden = [
        "src/credentials/prod.txt", "src/credentials/helper/db.json", "src/credentials/export.sh",
        "Vault.Secrets/appsettings.json", "src/credentials/prod.env", "src/credentials/tls.key",
        ".ssh/a.py", ".aws/credentials/a.py", ".docker/config.json/a.py", ".env/lib/a.py",
        ".config/gh/a.py", "src/credentials/.gnupg/a.py",
    ]  # fmt: skip
    for path in (*shown, *hidden):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x\n")
    skipped: dict[str, str] = {}
    found = [entry.path for entry in walk(tmp_path, on_skip=skipped.__setitem__)]
    assert sorted(found) == sorted(shown)
    assert "is called credentials" in skipped["src/credentials/prod.txt"]
