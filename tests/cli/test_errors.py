"""Whatever goes wrong, a person gets one line that says what to do, and the right exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import treadle


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    return folder


def test_unusable_data_folder_names_the_setting_that_moves_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = treadle("sessions", "list", home=tmp_path / "file")
    assert ran.status == 1
    assert f"data folder {tmp_path}/file/data cannot be used" in ran.err
    assert "Set TREADLE_HOME to a writable folder." in ran.err


def test_missing_action_lists_the_available_ones(tmp_path: Path) -> None:
    ran = treadle("tools", home=tmp_path)
    assert ran.status == 2
    assert "an action is missing: list, schema, call" in ran.err


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["serach", "x"], 2, "Did you mean `treadle search`?"),
        (["serach", "search"], 2, "There is no command 'serach'"),
        (["search"], 2, "required: query"),
        (["tools", "fly"], 2, "choose from 'list', 'schema', 'call'"),
        (["search", "x", "--top-k", "0"], 2, "not a whole number from 1"),
        (["search", "x", "--nonsense"], 2, "unrecognized arguments: --nonsense"),
        (["--json", "search", "x"], 2, "`treadle search --json …`"),
        (["--repo", "calc", "search", "x"], 2, "`treadle search --repo …`"),
        (["--session", "last"], 2, "`treadle chat --session …`"),
        (["search", "x", "--repo", "/no/such/folder"], 2, "/no/such/folder does not exist"),
        (["search", " "], 2, "The query is empty"),
        (["ask", ""], 2, "The question is empty"),
        (["ask", "hi", "--model", "nope/x"], 2, "no provider named 'nope'"),
        (["ask", "hi", "--model", "openai/x"], 4, "OPENAI_API_KEY is not set"),
        (["tools", "call", "nope"], 2, "no tool named 'nope'"),
        (["tools", "call", "read_file", "--args", "{bad"], 2, "not valid JSON"),
        (["tools", "call", "read_file", "--args", '{"pth": "x"}'], 2, "Did you mean `path`?"),
        (["tools", "call", "read_file", "--args", '{"path": "../x"}'], 3, "outside the root"),
        (["tools", "call", "read_file", "--args", '{"path": "clac.py"}'], 1, "calc.py"),
        (["tools", "schema", "nope"], 1, "There are: request_code_context"),
        (["traces", "show", "LAST"], 1, "Ask something first"),
        (["sessions", "show", "last"], 1, "no conversation"),
    ],
)
def test_error_is_one_line_with_an_exit_status(
    arguments: list[str], status: int, said: str, repo: Path, tmp_path: Path
) -> None:
    elsewhere = "--repo" in arguments or arguments[0] == "traces"
    ran = treadle(*arguments, home=tmp_path / "home", repo=None if elsewhere else repo)
    assert ran.status == status
    assert said in ran.err
    assert "Traceback" not in ran.err
    progress = "… "  # a busy machine shows lines such as `… starting (2 s)`
    lines = [line for line in ran.err.splitlines() if not line.startswith(progress)]
    assert len(lines) == 1


def test_invalid_configuration_names_file_line_and_nearest_key(repo: Path, tmp_path: Path) -> None:
    config = tmp_path / "home" / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[tools]\ntimeuot = 3\n")
    ran = treadle("config", "check", home=tmp_path / "home", repo=repo)
    assert ran.status == 2
    assert "timeuot" in ran.err
    assert "timeout" in ran.err
    assert str(config) in ran.err


def test_empty_repository_is_reported(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = treadle("search", "x", home=tmp_path / "home", repo=tmp_path / "empty")
    assert (ran.status, ran.out) == (0, "")
    assert "is empty" in ran.err


def test_read_only_home_is_reported(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, where a folder should be")
    ran = treadle("search", "add", home=tmp_path / "home", repo=repo)
    assert ran.status == 1
    assert "Traceback" not in ran.err
    # A command that takes seconds on a busy machine says so in a line of its own.
    lines = [line for line in ran.err.splitlines() if not line.startswith("… starting (")]
    assert len(lines) == 1


def test_unreadable_binary_and_huge_files_are_skipped_with_a_reason(
    repo: Path, tmp_path: Path
) -> None:
    (repo / "image.bin").write_bytes(b"\x00\x01\x02" * 100)
    (repo / "huge.py").write_text("x = 1\n" * 2_000_000)
    (repo / "broken.py").write_text("def broken(:\n    return (\n\ndef fine():\n    pass\n")
    ran = treadle("index", "--report", "--json", home=tmp_path / "home", repo=repo)
    report = json.loads(ran.out)
    reasons = {entry["path"]: entry["reason"] for entry in report["skipped"]}
    assert ran.status == 0
    assert set(reasons) == {"image.bin", "huge.py"}
    assert all(reasons.values())
    assert report["files"] >= 2


def test_closed_pipe_ends_without_an_error(repo: Path, tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m treadle.cli.main tools schema --repo "{repo}" | true'
    done = subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        env={"TREADLE_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"},
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == ""


def test_home_folder_is_not_indexed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "treadle.cli.main", "search", "x"],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "TREADLE_HOME": str(tmp_path / "t"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pass one with --repo" in done.stderr


@pytest.mark.parametrize(
    "command", [["search", "add", "--json"], ["tools", "list", "--json"], ["sessions", "list"]]
)
def test_unknown_variable_is_reported_once(repo: Path, command: list[str]) -> None:
    alone = treadle(*command, home=repo.parent / "home", repo=repo)
    ran = treadle(*command, home=repo.parent / "home", repo=repo, TREADLE_BIN="/opt/secret")
    assert (ran.status, alone.status) == (0, 0)
    assert ran.err.count("TREADLE_BIN is not a setting") == 1
    assert "TREADLE_BIN" not in ran.out
    assert "/opt/secret" not in ran.err
    if "--json" in command:
        assert json.loads(ran.out).keys() == json.loads(alone.out).keys()
