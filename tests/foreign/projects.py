"""Real projects by other authors, pinned, from the package registries.

The registry's own client fetches a project once, into the user's cache folder. Its archive is
compared with a pinned checksum before it is unpacked. No code of a project runs.
"""

import enum
import fcntl
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import pytest

from bench.retrieval.packages import Package, UnreachableError, unpacked

CACHE = Path(platformdirs.user_cache_dir("treadle-foreign-tests", appauthor=False))


class Trait(enum.StrEnum):
    """Why a project is hard to read."""

    NOTEBOOKS = enum.auto()
    TEMPLATES = enum.auto()
    GENERATED = enum.auto()
    LEGACY_ENCODING = enum.auto()
    MACROS = enum.auto()
    PLATFORM_TWINS = enum.auto()
    MONOREPO = enum.auto()
    MINIFIED = enum.auto()


@dataclass(frozen=True, slots=True)
class Project:
    """A pinned package, its languages, and its traits."""

    package: Package
    languages: tuple[str, ...]
    traits: frozenset[Trait] = frozenset()

    @property
    def name(self) -> str:
        return self.package.name


def _listed(line: str) -> Project:
    client, name, version, sha256, languages, traits = line.split("\t")
    package = Package(client, name, version, sha256=sha256)
    return Project(package, tuple(languages.split()), frozenset(map(Trait, traits.split())))


PROJECTS: tuple[Project, ...] = tuple(
    _listed(line)
    for line in Path(__file__).with_suffix(".tsv").read_text().splitlines()
    if not line.startswith("#")
)
_BY_NAME = {project.name: project for project in PROJECTS}


def fetched(project: Project) -> Path:
    """The folder of a project, fetched if it is not cached. Raises `UnreachableError`."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:  # test workers share the cache
        fcntl.flock(lock, fcntl.LOCK_EX)
        return unpacked(project.package, CACHE)


def foreign_tree(name: str) -> Path:
    """The root of a project's files; the test is skipped if the project cannot be fetched.

    Tests read below it and never write: copy what a test changes.
    """
    try:
        return fetched(_BY_NAME[name])
    except UnreachableError as error:
        pytest.skip(f"{name} cannot be fetched: {error}")
