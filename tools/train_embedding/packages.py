"""The packages that the examples are from: pinned in packages.tsv, permissive, none of a benchmark.

`packages.tsv` has a line for each: language, client, name, version, and the licence in its own
metadata, which is compared again with the download.
"""

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.retrieval.packages import Package, unpacked
from tools.train_embedding.licences import licence_of, permissive

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "train_embedding"
LIST = Path(__file__).with_name("packages.tsv")
SUFFIXES = {
    "Python": (".py",),
    "Rust": (".rs",),
    "Go": (".go",),
    "TypeScript": (".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".jsx"),
    "Java": (".java",),
    "C": (".c", ".h", ".cc", ".cpp", ".hpp", ".cxx", ".hh"),
}
"""The files that count, by the language that a package is listed under."""
_OF_BENCHMARKS = re.compile(
    r"textual|pydantic[-_]?(?:ai|graph|evals)|tokio|cargo|clap|structopt|matrix-|rxjs|xterm|reactivex"
    r"|monaco|golang-x-net|grpc|etcd|react-native|rich$|semble|cocoindex",
    re.IGNORECASE,
)
"""Packages of the benchmarks, and those that share code with them."""


class LicenceError(Exception):
    """The licence of a package differs from the listed one, or is not permissive."""


@dataclass(frozen=True, slots=True)
class Source:
    """A package of the list."""

    language: str
    client: str
    name: str
    version: str
    licence: str


def sources(languages: Iterable[str] | None = None) -> list[Source]:
    """The packages of the list, sorted; of all languages or of those named."""
    lines = LIST.read_text().splitlines()
    listed = [Source(*line.split("\t")) for line in lines if line and not line.startswith("#")]
    wanted = set(SUFFIXES if languages is None else languages)
    return sorted(
        (source for source in listed if source.language in wanted),
        key=lambda source: (source.language, source.name),
    )


def of_benchmarks(name: str) -> bool:
    """Whether a package is one that the benchmarks search, or shares code with one."""
    return bool(_OF_BENCHMARKS.search(name))


def fetched(source: Source) -> Path:
    """The folder of a package, downloaded if needed: only its code and its metadata.

    Raises `LicenceError` if the licence is not the listed one or is not permissive, and
    `UnreachableError` if the package is not available.
    """
    folder = download(source)
    found = licence_of(folder, source.client)
    if found != source.licence or not permissive(found):
        raise LicenceError(f"{source.name} {source.version}: {found!r}, not {source.licence!r}")
    return folder


def download(source: Source) -> Path:
    """The folder of a package, whatever its licence is."""
    folder = unpacked(Package(source.client, source.name, source.version), CACHE)
    marker = folder / ".only-code"
    if not marker.exists():
        _keep_code(folder, SUFFIXES[source.language])
        marker.touch()
    return folder


_METADATA = re.compile(
    r"\.dist-info/METADATA$|^package/package\.json$|(?:^|/)copyright$|^[^/]+/LICEN[SC]E"
)


def _keep_code(folder: Path, suffixes: tuple[str, ...]) -> None:
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder).as_posix()
        if path.is_symlink() or (
            path.is_file() and path.suffix not in suffixes and not _METADATA.search(below)
        ):
            path.unlink()


def forget(source: Source) -> None:
    """Remove the downloads of a package."""
    folder = CACHE / "packages" / f"{source.name}-{source.version}".replace("/", "+")
    shutil.rmtree(folder, ignore_errors=True)
