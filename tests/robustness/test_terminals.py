"""Terminals of every kind: no encoding, closed stream or full disk causes a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import environment, treadle

ASCII = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "größe.py").write_text('def greet():\n    return "é\U0001f600"\n', encoding="utf-8")
    return folder


def test_an_ascii_terminal_gets_escapes(repo: Path, tmp_path: Path) -> None:
    ran = treadle("context", "greet", "--budget", "500", home=tmp_path / "h", repo=repo, **ASCII)
    assert ran.status == 0
    assert r'return "\u00e9\ud83d\ude00"' in ran.out


def test_json_stays_json_in_ascii(repo: Path, tmp_path: Path) -> None:
    words = ("tools", "call", "request_code_context", "--json")
    arguments = ("--args", '{"token_budget": 500, "hint": "greet"}')
    ran = treadle(*words, *arguments, home=tmp_path / "h", repo=repo, **ASCII)
    assert ran.status == 0
    assert 'return "é\U0001f600"' in json.loads(ran.out)["context"][0]["snippet"]


@pytest.mark.parametrize(
    ("closed", "words", "status"),
    [
        (">&-", "search greet", 0),
        (">&-", "search greet --json", 0),
        ("<&-", "ask -", 2),
        ("2>&-", "search --nonsense", 2),
        (">/dev/full", "search greet", 1),
    ],
)
def test_closed_streams_and_full_disks(
    closed: str, words: str, status: int, repo: Path, tmp_path: Path
) -> None:
    command = f'"{sys.executable}" -m treadle.cli.main {words} --repo "{repo}" {closed}'
    done = subprocess.run(
        ["sh", "-c", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(tmp_path / "h", PYTHONWARNINGS="ignore"),
        timeout=110,
        check=False,
    )
    assert done.returncode == status
    assert len(done.stderr.splitlines()) <= 1
    assert "Unexpected" not in done.stderr


def test_a_question_of_undecodable_bytes_is_accepted(repo: Path, tmp_path: Path) -> None:
    ran = treadle("search", os.fsdecode(b"greet \xff"), home=tmp_path / "h", repo=repo)
    assert (ran.status, ran.err) == (0, "")
    assert "greet" in ran.out


@pytest.mark.parametrize("number", ["0", "-1", "1" * 30, "1" * 5000, "1e3"])
def test_absurd_numbers_are_refused(number: str, repo: Path, tmp_path: Path) -> None:
    ran = treadle("traces", "list", f"--limit={number}", home=tmp_path / "h", repo=repo)
    assert ran.status == 2
    assert len(ran.err) < 300
