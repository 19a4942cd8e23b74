"""The pages are true: their commands run, their links lead to files."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import treadle
from scripts.write_configuration_reference import PAGE, with_reference
from tests.cli import fork_server
from tests.fakes.replies import Answer
from tests.page.served import playing
from tests.project.pages import PAGES, ROOT, Command, commands, links

QUESTION = 'treadle ask "How are tool calls matched to their results?"'
ALL_COMMANDS = {each.text: each for page in PAGES for each in commands(page)}.values()
"""Of a command on several pages, one."""
TREADLE_COMMANDS = [c for c in ALL_COMMANDS if "treadle " in c.text and c.runs_here]


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of this repository that the examples search for.

    An index of all packages takes 11 s of processor time, and one of these takes 1 s.
    """
    root = tmp_path_factory.mktemp("pages") / "treadle"
    for package in ("session", "tools"):
        source = Path("src/treadle") / package
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / source, root / source, ignore=ignored)
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    program = root.parent / "bin" / "treadle"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(fork_server.command())} "$@"\n')
    program.chmod(0o755)
    return root


def run(command: str, root: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command in a shell, configured by `variables` only, without an API key."""
    env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    env = {name: value for name, value in env.items() if not name.startswith("TREADLE_")}
    env["TREADLE_HOME"] = str(root.parent / "home")
    env |= variables
    env["PATH"] = f"{root.parent / 'bin'}{os.pathsep}{env['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=root,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="session")
def asked(workshop: Path) -> Path:
    """The workshop after the README's question: it has a session and a trace."""
    with playing([Answer("By their ids.")]) as provider:
        done = run(QUESTION, workshop, TREADLE_BASE_URL=provider.base_url)
    assert done.returncode == 0, done.stderr
    return workshop


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(600)  # the small model takes minutes on a busy machine
def test_the_readme_question_is_answered_without_configuration(workshop: Path) -> None:
    """The small model takes 20 s of processor time. The quick suite asks it a shorter question in
    `tests/cli/test_embedded.py`."""
    done = run(QUESTION, workshop)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("command", [c for c in TREADLE_COMMANDS if c.text != QUESTION], ids=str)
def test_a_command_of_a_page_runs(command: Command, asked: Path) -> None:
    done = run(command.text, asked)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    assert done.stdout or done.stderr


def test_the_pages_have_commands_to_run() -> None:
    assert {"README.md", "docs/configuration.md"} <= {c.page for c in TREADLE_COMMANDS}


def test_every_make_command_of_a_page_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {
        target
        for page in PAGES
        for target in re.findall(r"(?:^\$ |`)make ([a-z-]+)", page.read_text("utf-8"), re.MULTILINE)
    }
    assert {"demo", "test"} <= named <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_to_files(page: Path) -> None:
    assert [written for written, target in links(page) if not target.exists()] == []


def test_every_page_is_linked_from_an_index() -> None:
    linked = {
        target
        for index in (ROOT / "README.md", ROOT / "docs/README.md")
        for _, target in links(index)
    }
    docs = {page for page in PAGES if page.is_relative_to(ROOT / "docs")}
    assert docs - linked - {ROOT / "docs/README.md"} == set()


def test_the_decisions_are_numbered_without_a_gap() -> None:
    numbers = sorted(int(page.name[:4]) for page in (ROOT / "docs/decisions").glob("*.md"))
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_changelog_has_the_current_version() -> None:
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert next(name for name in versions if name != "Unreleased") == treadle.__version__


def test_the_reference_of_the_settings_is_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_reference(page), "run `make docs`"
