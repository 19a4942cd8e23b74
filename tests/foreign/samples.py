"""Files drawn from foreign projects, or from the packages installed for development.

The same seed draws the same files. Each language has the same chance, then each project, then each
file of it, so that a large project does not outweigh the others.
"""

import os
import random
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from bench.retrieval.packages import UnreachableError
from tests.foreign.projects import PROJECTS, fetched
from treadle.code.languages import language_of

MAX_BYTES = 400_000
"""Larger files are left out of samples."""
_HEAD = 20_000
_ByLanguage = Mapping[str, Mapping[Path, list[str]]]


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A file at `path` below the `root` of its project."""

    root: Path
    path: str
    language: str
    """The name of the language; `notebook` or `text` if no grammar reads the file."""

    def read(self) -> bytes:
        return (self.root / self.path).read_bytes()

    def __str__(self) -> str:
        return f"{self.root.name}/{self.path}"


def sample_files(seed: int, count: int, languages: Iterable[str] = ()) -> list[ForeignFile]:
    """At most `count` files of `PROJECTS` in `languages` (all by default).

    Fetches the projects that are not cached, so only slow tests call this. The test is skipped if
    no project can be fetched.
    """
    wanted = frozenset(languages)
    trees: list[Path] = []
    for project in PROJECTS:
        if not wanted or wanted & {*project.languages, "notebook", "text"}:
            try:
                trees.append(fetched(project))
            except UnreachableError:
                continue
    if not trees:
        pytest.skip("no foreign project can be fetched")
    return _drawn(seed, count, wanted, trees)


def installed_files(seed: int, count: int, languages: Iterable[str] = ()) -> list[ForeignFile]:
    """At most `count` files of the installed packages: pinned, real and available without a
    registry.

    Most are Python, JavaScript, TypeScript, C, C++, Markdown, JSON and shell.
    """
    return _drawn(seed, count, frozenset(languages), [Path(sysconfig.get_paths()["purelib"])])


def _drawn(
    seed: int, count: int, languages: frozenset[str], trees: list[Path]
) -> list[ForeignFile]:
    by_language: defaultdict[str, dict[Path, list[str]]] = defaultdict(dict)
    for tree in trees:
        for language, paths in _files(tree).items():
            if not languages or language in languages:
                by_language[language][tree] = paths
    return _each_alike(random.Random(seed), count, by_language)


def _each_alike(rng: random.Random, count: int, by_language: _ByLanguage) -> list[ForeignFile]:
    names = sorted(by_language)
    available = sum(len(paths) for trees in by_language.values() for paths in trees.values())
    chosen: dict[tuple[Path, str], ForeignFile] = {}
    tries = 0
    while len(chosen) < min(count, available) and tries < 20 * count:
        language = names[tries % len(names)]
        tree = rng.choice(sorted(by_language[language]))
        path = rng.choice(by_language[language][tree])
        chosen[tree, path] = ForeignFile(tree, path, language)
        tries += 1
    return list(chosen.values())


@cache
def _files(tree: Path) -> dict[str, list[str]]:
    """The paths below a tree by language, sorted."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_symlink() or not 0 < path.stat().st_size <= MAX_BYTES:
                continue
            if language := _language(path):
                found[language].append(path.relative_to(tree).as_posix())
    return dict(found)


def _language(path: Path) -> str:
    if path.suffix == ".ipynb":
        return "notebook"
    if path.suffix in (".html", ".j2", ".txt", ".rst", ".css", ".tpl", ".ejs", ".vue", ".svelte"):
        return "text"
    language = language_of(path.name, _head(path) if path.suffix == ".h" else b"")
    return language.name if language else ""


def _head(path: Path) -> bytes:
    with path.open("rb") as opened:
        return opened.read(_HEAD)
