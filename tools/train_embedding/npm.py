"""The files of a JavaScript package with its code, each function once and as it was written.

Such a package has its sources, their build output, or both, and is often built several times.
"""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

_SOURCES = frozenset({"src", "source"})
_BUILT = re.compile(
    r"(?:dist|build|built|lib|out|es|esm|mjs|modules?|cjs|commonjs|umd|bundles?|browser"
    r"|react-native|workerd|node_esm|types|es\d+|esm\d+|fesm\d*)(?:[-_.][\w-]+)?",
    re.IGNORECASE,
)
"""Folders at the start of a path that describe a build, not a topic."""
_MODULES = re.compile(r"(?:^|[-_/])(?:es|esm|mjs|modules?|fesm\d*|es6|es20\d\d)/|\.mjs$")
_TRANSLATED = re.compile(
    r"(?:^|[-_/])(?:cjs|commonjs|umd|browser|react-native|workerd|es5|esm5|webgl-only)/|\.cjs$"
)
_DECLARED = re.compile(r"\.d\.[cm]?ts$")
_BUNDLED = re.compile(r"[._-](?:min|bundle|umd|iife|prod(?:uction)?)\.[cm]?js$", re.IGNORECASE)
_LONG_LINES = 150
"""Average bytes of a line above which a file was not written by people."""


def is_code(below: str) -> bool:
    """Whether a file may have functions as people wrote them, by its name."""
    return not _DECLARED.search(below) and not _BUNDLED.search(below)


def is_minified(data: bytes) -> bool:
    """Whether the lines are longer than people write them."""
    return len(data) > _LONG_LINES * (data.count(b"\n") + 1)


def where_written(below: str) -> str:
    """The path in the package's own repository, if it can be derived: builds come from `src`."""
    parts = below.split("/")
    first = _built_parts(parts)
    return "/".join(["src", *parts[first:]] if first else parts)


def once_built(paths: Iterable[str]) -> list[str]:
    """Of the files built from the same source only the source, or the best of them.

    If most of the sources exist, no other build output is used.
    """
    best: dict[str, str] = {}
    for path in sorted(paths):
        key = where_written(path).rpartition(".")[0].removeprefix("src/")
        known = best.get(key)
        best[key] = path if known is None else min(known, path, key=_rank)
    chosen = sorted(best.values())
    sources = [path for path in chosen if _of_sources(path)]
    built = [path for path in chosen if not _of_sources(path) and _built_parts(path.split("/"))]
    if 2 * len(sources) >= len(built):
        chosen = [path for path in chosen if path not in set(built)]
    return chosen


def _of_sources(path: str) -> bool:
    return path.partition("/")[0].lower() in _SOURCES


def _built_parts(parts: list[str]) -> int:
    """The number of build folders at the start, and of the source folders."""
    count = 0
    while count < len(parts) - 1 and (
        parts[count].lower() in _SOURCES or _BUILT.fullmatch(parts[count])
    ):
        count += 1
    return count


def _rank(path: str) -> tuple[int, int, str]:
    """Smaller values are closer to the written source."""
    if _of_sources(path):
        nearness = 0 if PurePosixPath(path).suffix in (".ts", ".tsx", ".mts") else 1
    elif _TRANSLATED.search(path):
        nearness = 4
    else:
        nearness = 2 if _MODULES.search(path) else 3
    return nearness, len(path), path
