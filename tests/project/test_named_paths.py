"""The files, folders and packages that the pages for contributors name exist."""

import pkgutil
import re
import subprocess
from pathlib import Path

import pytest

from tests.project.pages import PAGES, ROOT

PACKAGE = ROOT / "src" / "treadle"
TESTS = ROOT / "tests"
NAMED_PAGES = ("CONTRIBUTING.md", "docs/architecture.md")
CURRENT_PAGES = tuple(page for page in PAGES if page.parent.name != "decisions")
"""All pages except the records of decisions, which describe the past."""
CREATED = {".venv/", ".cache/"}
"""Folders that commands of the project create."""
_CODE = re.compile(r"`([^`\n]+)`")
_FROM_ROOT = re.compile(r"(?:src/treadle|tests|bench|scripts|tools/train_embedding|web)/.")
_NAME = re.compile(r"`(treadle(?:\.\w+)+)`")
_PATH = re.compile(r"[A-Za-z0-9_./-]+(?:\.(?:py|tsv?|tsx|toml|json|md|sh)|/)")


def named_paths(text: str) -> list[str]:
    """The paths of files and folders in backquotes."""
    return [code for code in _CODE.findall(text) if _PATH.fullmatch(code)]


@pytest.fixture(scope="module")
def project_paths() -> str:
    """The paths of all files of the project and of their folders, each between line breaks."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    folders = {f"{path[: at.end()]}" for path in listed for at in re.finditer("/", path)}
    return "\n".join(["", *(f"/{path}" for path in [*listed, *folders]), ""])


@pytest.mark.parametrize("page", NAMED_PAGES)
def test_every_path_that_a_page_names_exists(page: str, project_paths: str) -> None:
    named = set(named_paths((ROOT / page).read_text("utf-8")))
    modules = {path for path in named if re.fullmatch(r"\w+\.py", path)}
    missing = {path for path in named - modules if f"/{path}\n" not in project_paths}
    missing |= {path for path in modules if not [*PACKAGE.rglob(path), *TESTS.rglob(path)]}
    assert len(named) > 30
    assert missing - CREATED == set()


@pytest.mark.parametrize("page", CURRENT_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_from_the_root_that_a_page_names_exists(page: Path, project_paths: str) -> None:
    named = {path for path in named_paths(page.read_text("utf-8")) if _FROM_ROOT.match(path)}
    assert {path for path in named if f"\n/{path}\n" not in project_paths} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_name_of_the_package_in_a_page_can_be_imported(page: Path) -> None:
    named = set(_NAME.findall(page.read_text("utf-8")))
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    for name in named:
        if name.split(".")[1] in packages | {path.stem for path in PACKAGE.glob("*.py")}:
            assert pkgutil.resolve_name(name) is not None


def test_every_package_and_module_is_on_a_floor() -> None:
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    floors = text.partition("## Floors")[2].partition("\n## ")[0]
    packages = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGE.glob("[a-z]*.py")}
    assert {name for name in packages | modules if name not in floors} == set()
