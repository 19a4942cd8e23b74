"""The foreign projects are pinned and varied, and have the expected files."""

from pathlib import Path

import pytest

from bench.retrieval.packages import Package, UnreachableError, unpacked
from tests.foreign.projects import PROJECTS, Project, Trait, foreign_tree
from tests.foreign.samples import installed_files, sample_files
from treadle.code.languages import language_of


def test_projects_are_many_varied_and_pinned() -> None:
    assert len(PROJECTS) >= 40
    assert len({project.name for project in PROJECTS}) == len(PROJECTS)
    assert len({language for project in PROJECTS for language in project.languages}) >= 15
    assert {trait for project in PROJECTS for trait in project.traits} == set(Trait)
    assert all(len(project.package.sha256) == 64 for project in PROJECTS)


def test_same_seed_draws_the_same_installed_files() -> None:
    drawn = installed_files(7, 20)
    assert [str(file) for file in drawn] == [str(file) for file in installed_files(7, 20)]
    assert [str(file) for file in drawn] != [str(file) for file in installed_files(8, 20)]
    assert len(drawn) == 20
    assert all(file.read() for file in drawn)


def test_installed_files_are_only_of_the_languages_asked_for() -> None:
    assert {file.language for file in installed_files(1, 10, ["python"])} == {"python"}


def test_package_without_its_client_is_unreachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnreachableError):
        unpacked(Package("npm", "any", "1.0.0", sha256="0" * 64), tmp_path / "cache")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_project_has_files_of_its_languages(project: Project) -> None:
    tree = foreign_tree(project.name)
    found = {
        language.name
        for path in tree.rglob("*")
        if (language := language_of(path.name, b"")) is not None
    }
    assert set(project.languages) - {"cpp"} <= found
    links = [path.resolve() for path in tree.rglob("*") if path.is_symlink()]
    assert [link for link in links if not link.is_relative_to(tree.resolve())] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_samples_span_the_languages(foreign_seed: int) -> None:
    drawn = sample_files(foreign_seed, 60)
    assert len(drawn) == 60
    assert len({file.language for file in drawn}) >= 15
