"""The packages whose sources are the corpora: pinned, downloaded once into `.cache/bench`."""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "bench"
_PATIENCE = 600
"""Seconds that a registry's client may take."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package of a registry.

    `client` is pip (a source archive), wheel (also pip), npm, apt (a binary package) or source
    (also apt). Only files below `inside` count. With `sha256` only the archive with this checksum
    is unpacked.
    """

    client: str
    name: str
    version: str
    inside: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Packages of one language, and the suffixes of the files that count.

    Functions with fewer lines than `least_lines` are never an answer. `beside` is an earlier corpus
    with common functions: queries that one corpus tunes on are in the test of neither.
    """

    name: str
    suffixes: tuple[str, ...]
    packages: tuple[Package, ...]
    least_lines: int = 1
    beside: "Corpus | None" = None


_TEXTUAL = Package("pip", "textual", "8.2.8", inside="src/textual/")
LARGE_PYTHON = Corpus(
    "Python-large",
    (".py",),
    (_TEXTUAL, Package("pip", "pydantic-ai-slim", "2.68.0", inside="pydantic_ai/")),
)
CORPORA = (
    Corpus(
        "Python",
        (".py",),
        (_TEXTUAL, Package("pip", "pydantic-ai-slim", "2.30.0", inside="pydantic_ai/")),
        least_lines=3,
        beside=LARGE_PYTHON,
    ),
    LARGE_PYTHON,
    Corpus(
        "Rust",
        (".rs",),
        (
            Package("apt", "librust-tokio-dev", "1.24.2-1"),
            Package("apt", "librust-cargo-dev", "0.66.0-1"),
            Package("apt", "librust-clap-dev", "4.0.32-1"),
        ),
    ),
    Corpus(
        "TypeScript",
        (".ts",),
        (
            Package("npm", "matrix-js-sdk", "43.0.0"),
            Package("npm", "rxjs", "7.8.2"),
            Package("npm", "@xterm/xterm", "6.0.0"),
        ),
    ),
    Corpus(
        "Go",
        (".go",),
        (
            Package("apt", "golang-golang-x-net-dev", "1:0.7.0+dfsg-1"),
            Package("apt", "golang-google-grpc-dev", "1.33.3-2"),
            Package("apt", "golang-etcd-server-dev", "3.4.23-4"),
        ),
    ),
    Corpus("Java", (".java",), (Package("npm", "react-native", "0.68.7"),)),
)


class UnreachableError(Exception):
    """The client of a registry is missing or does not have the package."""


def unpacked(package: Package, below: Path = CACHE) -> Path:
    """The folder with the files of a package, downloaded if needed."""
    folder = below / "packages" / f"{package.name}-{package.version}".replace("/", "+")
    if folder.is_dir():
        return folder
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        _fetch(package, partial)
    except UnreachableError:
        shutil.rmtree(partial)
        raise
    except (OSError, subprocess.SubprocessError, tarfile.TarError, zipfile.BadZipFile) as error:
        shutil.rmtree(partial)
        raise UnreachableError(f"{package.name} {package.version}: {error}") from error
    partial.rename(folder)
    return folder


def _fetch(package: Package, folder: Path) -> None:
    """Download with the registry's own client, and unpack."""
    version = f"{package.name}={package.version}"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        f"{package.name}=={package.version}",
    ]
    commands = {
        "pip": [*pip, "--no-binary", ":all:"],
        "wheel": [*pip, "--only-binary", ":all:"],
        "npm": ["npm", "pack", "--silent", f"{package.name}@{package.version}"],
        "apt": ["apt-get", "download", "--quiet", version],
        "source": ["apt-get", "source", "--download-only", "--only-source", "--quiet", version],
    }
    settings = _with_sources() if package.client == "source" else []
    command = [*commands[package.client], *settings]
    done = subprocess.run(command, cwd=folder, check=False, stdout=sys.stderr, timeout=_PATIENCE)
    if package.client != "source" or not list(folder.glob("*.orig*.tar.*")):
        done.check_returncode()  # the sources are complete without Debian's own part
    archives = sorted(folder.iterdir())
    wanted = _with_checksum(archives, package) if package.sha256 else archives
    for archive in archives:
        if archive in wanted:
            _unpack(archive)
        archive.unlink()


def _with_checksum(archives: list[Path], package: Package) -> list[Path]:
    found = {hashlib.sha256(archive.read_bytes()).hexdigest(): archive for archive in archives}
    if package.sha256 not in found:
        raise UnreachableError(
            f"{package.name} {package.version}: no archive has the checksum {package.sha256}, "
            f"only {', '.join(sorted(found))}"
        )
    return [found[package.sha256]]


@cache
def _with_sources() -> list[str]:
    """Options of apt-get that enable source packages; those of the machine stay."""
    settings = CACHE / "apt"
    (settings / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    known = Path("/etc/apt/sources.list.d/debian.sources").read_text()
    sources = settings / "debian.sources"
    sources.write_text(known.replace("Types: deb\n", "Types: deb-src\n"))
    options = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": settings / "lists",
    }
    arguments = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
    subprocess.run(
        ["apt-get", "update", "--quiet", *arguments],
        check=True,
        stdout=sys.stderr,
        timeout=_PATIENCE,
    )
    return arguments


def _unpack(archive: Path) -> None:
    if archive.suffix == ".deb":
        contents = archive.with_suffix(".tar")
        with contents.open("wb") as stream:
            subprocess.run(["dpkg-deb", "--fsys-tarfile", archive], check=True, stdout=stream)
        _unpack(contents)
        contents.unlink()
    elif archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(archive.parent)
    elif ".tar" in archive.name or archive.suffix == ".tgz":
        with tarfile.open(archive) as opened:
            opened.extractall(archive.parent, filter=_inside)


def _inside(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    """A member in a form that may be unpacked; None for a link to the outside."""
    try:
        return tarfile.data_filter(member, folder)
    except tarfile.FilterError:
        if member.issym():
            return None
        raise
