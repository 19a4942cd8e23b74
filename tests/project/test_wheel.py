"""An installed project contains the page, and reports if it does not."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.project.pages import ROOT
from treadle.code.dense import own_embedding
from treadle.server.built_page import FOLDER

PAGE = "treadle/server/page/"
MODEL = "treadle/code/dense/embedding/"


def build(project: Path, target: str, output: Path) -> tuple[list[str], str]:
    """The names in the package of that kind, and the output of its build."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", output],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    (package,) = output.iterdir()
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            return wheel.namelist(), done.stdout + done.stderr
    with tarfile.open(package) as sources:
        return sources.getnames(), done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_a_package_contains_the_built_page_without_its_sources(target: str, tmp_path: Path) -> None:
    if not (FOLDER / "index.html").is_file():
        assert not os.environ.get("CI"), "The page is not built: run `make web`."
        pytest.skip("The page is not built: run `make web`.")
    names, said = build(ROOT, target, tmp_path)
    page = [name.partition(PAGE)[2] for name in names if PAGE in name]
    assert "index.html" in page
    assert {"js", "css"} <= {name.rpartition(".")[2] for name in page if name.startswith("assets/")}
    assert not [name for name in names if name.endswith(".map") or "node_modules" in name]
    assert "does not hold the page" not in said
    kept = {name.rpartition("/")[2] for name in names if MODEL in name}
    assert kept == {path.name for path in own_embedding().iterdir()}


@pytest.mark.slow
def test_the_sources_build_the_same_wheel(tmp_path: Path) -> None:
    names, _ = build(ROOT, "wheel", tmp_path / "wheel")
    build(ROOT, "sdist", tmp_path / "sources")
    (packed,) = (tmp_path / "sources").iterdir()
    shutil.unpack_archive(packed, tmp_path / "unpacked", filter="data")
    (project,) = (tmp_path / "unpacked").iterdir()
    again, _ = build(project, "wheel", tmp_path / "again")
    assert sorted(again) == sorted(names)


@pytest.mark.slow
def test_a_wheel_without_the_page_is_reported(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(
        ROOT / "src", project / "src", ignore=shutil.ignore_patterns("page", "__pycache__")
    )
    (project / "scripts").mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "scripts/page_in_wheel.py"):
        shutil.copy(ROOT / name, project / name)
    names, said = build(project, "wheel", tmp_path / "built")
    assert "treadle/server/app.py" in names
    assert not [name for name in names if PAGE in name]
    assert "does not hold the page" in said
    assert "make wheel" in said
