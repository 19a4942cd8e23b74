"""Errors of the commands for a team: each names the wrong value, and states what to do."""

from pathlib import Path

import pytest

from tests.cli.command import treadle


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("worker --repos nosuch", "--repos"),
        ("worker --calls 0", "--calls"),
        ("projects add Web!", "Web!"),
        ("projects remove nosuch", "nosuch"),
        ("projects remove default", "default"),
        ("users invite nobody", "nobody"),
        ("users invite a@example.com --project nosuch", "nosuch"),
        ("users remove a@example.com", "a@example.com"),
        ("users role a@example.com editor", "a@example.com"),
        ("keys create ci --scopes all", "all"),
        ("keys create ci --project nosuch", "nosuch"),
        ("keys revoke nosuch", "nosuch"),
        ("audit --since yesterday", "yesterday"),
        ("store check --project No!", "No!"),
        ("store restore nosuch", "nosuch"),
    ],
)
def test_error_names_the_value_and_what_to_do(tmp_path: Path, words: str, named: str) -> None:
    ran = treadle(*words.split(), home=tmp_path / "home")
    assert ran.status in {1, 2}, ran.err  # 1: the named thing does not exist
    (line,) = ran.err.splitlines()
    assert named in line
    assert line.count(". ") >= 1, line  # a sentence with the reason, and one with the next step
