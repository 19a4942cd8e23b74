"""All files of Treadle are for their owner only, whatever the umask and the earlier files."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import environment, treadle
from tests.security.stranger import NOBODY, needs_root
from treadle.errors import ConfigError, PathRefusedError
from treadle.owner_only import open_output, private_file, private_folder
from treadle.server.credentials import load_token, token_path


def run_with_umask(umask: int, *arguments: str, home: Path, repo: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "treadle.cli.main", *arguments, "--repo", str(repo)],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=100,
        check=True,
        umask=umask,
    )


def open_to_others(home: Path) -> list[str]:
    """The files below `home` with more than owner permissions."""
    found = [home, *home.rglob("*")]
    return [str(path.relative_to(home)) for path in found if path.stat().st_mode & 0o077]


@pytest.mark.slow
@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_files_of_commands_are_readable_by_their_owner_only(repo: Path, umask: int) -> None:
    home = repo.parent / "home"
    calls = '{"edits": [{"file": "calc.py", "replace": {"old": "left +", "new": "right +"}}]}'
    for arguments in (
        ("search", "add"),
        ("tools", "call", "apply_code_edit", "--args", calls),
        ("edits", "list"),
        ("traces", "list"),
        ("traces", "export", "-o", str(home / "all.jsonl.gz")),
        ("traces", "export", "-o", str(home / "otlp.json"), "--format", "otlp-json"),
    ):
        run_with_umask(umask, *arguments, home=home, repo=repo)
    assert (home / "data" / "proposals.db").exists()
    assert open_to_others(home) == []


def test_open_permissions_are_closed(repo: Path) -> None:
    home = repo.parent / "home"
    run_with_umask(0, "search", "add", home=home, repo=repo)
    run_with_umask(0, "traces", "list", home=home, repo=repo)
    for path in home.rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    (home / "data" / "traces.db-wal").touch(0o666)
    run_with_umask(0, "search", "add", home=home, repo=repo)
    run_with_umask(0, "traces", "list", home=home, repo=repo)
    assert open_to_others(home) == []


@pytest.mark.parametrize("umask", [0, 0o377])
def test_a_file_and_its_folders_have_their_modes_whatever_the_umask(
    tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        made = private_file(tmp_path / "a" / "b" / "c.db")
        with open_output(tmp_path / "a" / "out.json") as file:
            file.write(b"{}")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (*made.parents[:2], made)]
    assert modes == [0o700, 0o700, 0o600]
    assert stat.S_IMODE((tmp_path / "a" / "out.json").stat().st_mode) == 0o600


def test_a_pipe_in_the_place_of_a_database_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.db")
    with pytest.raises(PathRefusedError, match="not a regular file"):
        private_file(tmp_path / "x.db")


def test_a_folder_in_the_place_of_a_database_is_an_operating_system_error(tmp_path: Path) -> None:
    (tmp_path / "x.db").mkdir()
    with pytest.raises(IsADirectoryError):
        private_file(tmp_path / "x.db")


@needs_root
def test_a_folder_or_file_of_another_user_is_refused(tmp_path: Path, repo: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    with pytest.raises(PathRefusedError, match="another user"):
        private_folder(theirs)
    (tmp_path / "x.db").touch()
    os.chown(tmp_path / "x.db", NOBODY, NOBODY)
    for attempt in (private_file, open_output):
        with pytest.raises(PathRefusedError, match="another user"):
            attempt(tmp_path / "x.db")
    home = repo.parent / "home"
    for folder in ("data", "cache"):
        (home / folder).mkdir(parents=True, exist_ok=True)
        os.chown(home / folder, NOBODY, NOBODY)
    for command in (("search", "add"), ("traces", "list"), ("sessions", "list")):
        ran = treadle(*command, home=home, repo=repo)
        assert ran.status == 3, ran
        assert "belongs to another user" in ran.err
        assert len(ran.err.splitlines()) == 1


@needs_root
def test_a_configuration_of_another_user_is_ignored(repo: Path) -> None:
    home = repo.parent / "home"
    user = home / "config" / "config.toml"
    own = repo / ".treadle" / "config.toml"
    for path in (user, own):
        path.parent.mkdir(parents=True)
    own.write_text("[tools]\ntimeout = 77\n")
    shown = treadle("config", "show", home=home, repo=repo)
    assert "77" in shown.out
    os.chown(own, NOBODY, NOBODY)
    shown = treadle("config", "show", home=home, repo=repo)
    assert "77" not in shown.out
    assert "another user" in shown.err + shown.out
    user.write_text("[tools]\ntimeout = 78\n")
    for owner, mode in ((NOBODY, 0o600), (0, 0o666)):
        os.chown(user, owner, owner)
        user.chmod(mode)
        refused = treadle("config", "show", home=home, repo=repo)
        assert refused.status == 2
        assert "config.toml is not read" in refused.err
    os.chown(user, 0, 0)
    user.chmod(0o644)
    user.write_text(f'trusted_roots = ["{repo}"]\n')
    shown = treadle("config", "show", home=home, repo=repo)
    assert "77" in shown.out


def test_a_linked_token_is_refused_and_its_target_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    other = tmp_path / "other"
    other.write_text("a" * 40)
    other.chmod(0o644)
    token_path().symlink_to(other)
    with pytest.raises(ConfigError, match="is a link"):
        load_token({})
    assert stat.S_IMODE(other.stat().st_mode) == 0o644


def test_a_token_file_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    token_path().touch()
    os.truncate(token_path(), 1 << 36)
    with pytest.raises(ConfigError, match="does not contain a token"):
        load_token({})
