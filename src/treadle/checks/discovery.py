"""Finds the checks of a project in the configuration and in the files of the project."""

import json
import re
from collections.abc import Callable, Iterator
from configparser import ConfigParser
from configparser import Error as ConfigParserError
from dataclasses import replace
from pathlib import Path
from typing import Any

from treadle import toml
from treadle.checks.model import Check, CheckKind
from treadle.config.model import CheckCommand, CheckSettings
from treadle.inside import read_regular

MAX_FILE_BYTES = 1_000_000
"""The maximum size of a project file in bytes. A larger file is not read."""

CONFIGURATION = "configuration"
"""The `origin` of a check that the settings define."""


def find_checks(root: Path, settings: CheckSettings) -> tuple[Check, ...]:
    """Find the checks of the project at `root`. Configured checks come first.

    Names of checks are unique. A configured check replaces a check with the same name that was
    found in the project's files. A configured check without a command only changes the time limit
    of the check that was found. This function reads a few files at the root and runs no program. A
    project file that cannot be read counts as empty.
    """
    project = _Project(root, settings.timeout)
    found = {check.name: check for find in _FINDERS for check in find(project)}
    configured: dict[str, Check] = {}
    for name, table in settings.commands.items():
        if table.command:
            configured[name] = _configured(name, table, settings)
        elif name in found and table.timeout is not None:
            found[name] = replace(found[name], timeout=table.timeout)
    return tuple({**configured, **{n: c for n, c in found.items() if n not in configured}}.values())


def _configured(name: str, table: CheckCommand, settings: CheckSettings) -> Check:
    return Check(
        name,
        table.command,
        table.kind,
        CONFIGURATION,
        table.timeout or settings.timeout,
        parser=table.parser,
        takes_paths=table.paths,
    )


class _Project:
    """The files at the root that show which tools a project uses."""

    def __init__(self, root: Path, timeout: float) -> None:
        self._root = root
        self.timeout = timeout
        self.pyproject = self._toml("pyproject.toml")

    def has(self, *names: str) -> str | None:
        """The first name in `names` that is the name of a file at the root, or None."""
        return next((name for name in names if (self._root / name).is_file()), None)

    def text(self, name: str) -> str:
        """The text of a file. It is empty if the file is missing, too large or unreadable."""
        path = self._root / name
        try:
            data = read_regular(str(path), MAX_FILE_BYTES + 1)
        except OSError:
            return ""
        return "" if len(data) > MAX_FILE_BYTES else data.decode("utf-8-sig", "replace")

    def json(self, name: str) -> dict[str, Any]:
        """The object in a JSON file. It is empty if the file does not contain an object."""
        try:
            value = json.loads(self.text(name) or "{}")
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    def tool(self, name: str) -> dict[str, Any] | None:
        """The table `[tool.NAME]` of `pyproject.toml`, or None if it is missing."""
        table = _table(self.pyproject, "tool").get(name)
        return table if isinstance(table, dict) else None

    def ini_section(self, name: str, section: str) -> dict[str, str] | None:
        """A section of an INI file, or None if it is missing."""
        parser = ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string(self.text(name))
            return dict(parser[section]) if section in parser else None
        except (ConfigParserError, ValueError):
            return None

    def has_python_tests(self) -> str | None:
        """The folder `tests` or `test` if it contains a file that pytest collects, or None."""
        for folder in ("tests", "test"):
            below = self._root / folder
            for pattern in ("test_*.py", "*_test.py", "*/test_*.py"):
                if next(below.glob(pattern), None) is not None:
                    return f"{folder}/"
        return None

    def _toml(self, name: str) -> dict[str, Any]:
        try:
            return toml.loads(self.text(name))
        except (ValueError, RecursionError):
            return {}


def _table(values: dict[str, Any], name: str) -> dict[str, Any]:
    table = values.get(name)
    return table if isinstance(table, dict) else {}


def _pytest(project: _Project) -> Iterator[Check]:
    if origin := _pytest_origin(project):
        argv = ("pytest", "--tb=short", "-rfE", "--color=no")
        yield Check("pytest", argv, "test", origin, project.timeout, "pytest", takes_paths=True)


def _pytest_origin(project: _Project) -> str | None:
    if own := project.has("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"):
        return own
    if project.tool("pytest") is not None:
        return "pyproject.toml"
    if project.ini_section("tox.ini", "pytest") is not None:
        return "tox.ini"
    if project.ini_section("setup.cfg", "tool:pytest") is not None:
        return "setup.cfg"
    return project.has("conftest.py") or project.has_python_tests()


def _ruff(project: _Project) -> Iterator[Check]:
    origin = project.has("ruff.toml", ".ruff.toml")
    if origin is None and project.tool("ruff") is not None:
        origin = "pyproject.toml"
    if origin:
        argv = ("ruff", "check", "--output-format=json-lines")
        yield Check("ruff", argv, "lint", origin, project.timeout, "ruff", takes_paths=True)


def _mypy(project: _Project) -> Iterator[Check]:
    origin, table = _mypy_settings(project)
    if origin is None:
        return
    names_files = any(key in table for key in ("files", "packages", "modules"))
    yield Check(
        "mypy",
        ("mypy", *_MYPY_OPTIONS),
        "types",
        origin,
        project.timeout,
        "mypy",
        takes_paths=True,
        targets=() if names_files else (".",),
    )


_MYPY_OPTIONS = (
    "--show-column-numbers",
    "--no-pretty",
    "--hide-error-context",
    "--no-color-output",
)


def _mypy_settings(project: _Project) -> tuple[str | None, dict[str, Any]]:
    for name in ("mypy.ini", ".mypy.ini", "setup.cfg"):
        if (section := project.ini_section(name, "mypy")) is not None:
            return name, section
    if (table := project.tool("mypy")) is not None:
        return "pyproject.toml", table
    return None, {}


def _cargo(project: _Project) -> Iterator[Check]:
    if project.has("Cargo.toml"):
        for name, kind in _CARGO:
            argv = ("cargo", name, "--message-format=json")
            yield Check(f"cargo {name}", argv, kind, "Cargo.toml", project.timeout, "cargo")


_CARGO: tuple[tuple[str, CheckKind], ...] = (("check", "build"), ("test", "test"))


def _node(project: _Project) -> Iterator[Check]:
    script = _table(project.json("package.json"), "scripts").get("test")
    if isinstance(script, str) and script.strip() and _NO_TEST not in script:
        yield Check("npm test", ("npm", "test"), "test", "package.json", project.timeout, "node")
    if project.has("tsconfig.json"):
        argv = ("tsc", "--noEmit", "--pretty", "false")
        yield Check("tsc", argv, "types", "tsconfig.json", project.timeout, "tsc")


_NO_TEST = "no test specified"
"""A part of the test script that `npm init` writes by default.

This script is not a check, since it always fails.
"""


def _go(project: _Project) -> Iterator[Check]:
    if project.has("go.mod"):
        test, vet = ("go", "test", "-json", "./..."), ("go", "vet", "./...")
        yield Check("go test", test, "test", "go.mod", project.timeout, "go")
        yield Check("go vet", vet, "lint", "go.mod", project.timeout, "go")


def _make(project: _Project) -> Iterator[Check]:
    name = project.has("GNUmakefile", "makefile", "Makefile")
    if name is None:
        return
    targets = {
        target for line in _TARGETS.finditer(project.text(name)) for target in line[1].split()
    }
    for target in ("check", "test"):
        if target in targets:
            yield Check(f"make {target}", ("make", target), "test", name, project.timeout)


_TARGETS = re.compile(r"^([^\s#:=][^#:=\n]*)::?(?![:=])", re.MULTILINE)

_FINDERS: tuple[Callable[[_Project], Iterator[Check]], ...] = (
    _pytest,
    _ruff,
    _mypy,
    _cargo,
    _node,
    _go,
    _make,
)
