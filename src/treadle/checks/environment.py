"""Builds the environment of a check without secrets, and finds the program of the check."""

import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path

from treadle.inside import read_regular
from treadle.processes.running import find_program
from treadle.tools.approvals.question import Program


def in_copy(variables: Mapping[str, str], root: Path, tree: Path) -> dict[str, str]:
    """The variables for a check that runs in `tree`, a copy of the project at `root`.

    PYTHONPATH and editable installations may name folders of the project. The result sets
    PYTHONPATH to the same folders of the copy, so that Python imports the code in the copy.
    """
    given = [Path(each) for each in variables.get("PYTHONPATH", "").split(os.pathsep) if each]
    named = [*given, *_editable(variables, root), root / "src"]
    moved = [
        tree / folder.relative_to(root) if folder.is_relative_to(root) else folder
        for folder in named
    ]
    folders = dict.fromkeys(str(folder) for folder in moved if folder.is_dir())
    return {**variables, "PYTHONPATH": os.pathsep.join(folders)}


def _editable(variables: Mapping[str, str], root: Path) -> Iterator[Path]:
    """Folders of the project from which the current Python environment imports.

    An editable installation is a `.pth` file that names these folders. Setuptools may instead write
    a module that maps each package to its folder.
    """
    environment = variables.get("VIRTUAL_ENV")
    for site in Path(environment).glob("lib/python*/site-packages") if environment else ():
        for file in sorted(site.glob("*.pth")):
            for line in _text(file).splitlines():
                if (folder := Path(line.strip())).is_relative_to(root):
                    yield folder
        for file in sorted(site.glob("__editable__*_finder.py")):
            for package in _QUOTED_PATH.findall(_text(file)):
                if (folder := Path(package).parent).is_relative_to(root):
                    yield folder


def _text(path: Path) -> str:
    """The text of a file of a Python environment. It is empty if the file cannot be read.

    The repository may contain the file, so only `_MAX_BYTES` of it are read.
    """
    try:
        return read_regular(str(path), _MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


_MAX_BYTES = 1_000_000
_QUOTED_PATH = re.compile(r"'(/[^'\\]+)'")


_LOADING = (
    "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "NODE_PATH", "NODE_OPTIONS",
    "PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT", "JAVA_TOOL_OPTIONS", "CLASSPATH", "GOFLAGS",
    "RUSTFLAGS", "RUSTC_WRAPPER", "BASH_ENV", "ENV", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH",
)  # fmt: skip
"""Variables that determine which code a program loads."""


def program_of(name: str, root: Path, variables: Mapping[str, str]) -> Program | None:
    """The program that `name` starts in the repository at `root`, or None if it is missing.

    If the program is a file of the repository, or a link to one, the result has the hash of the
    file's content. This function blocks.
    """
    found = find_program(name, root, variables)
    if found is None:
        return None
    path = Path(os.path.normpath(root / found))
    real = Path(os.path.realpath(path))
    inside = path.is_relative_to(root) or real.is_relative_to(root)
    digest = _digest(real) if inside else ""
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(real)
    return Program(shown, inside, digest, _environment(root, variables))


def _digest(path: Path) -> str:
    """The hash of a file.

    The file is read in blocks, since a repository may contain a very large file.
    """
    with path.open("rb") as file:
        return file_digest(file, partial(blake2b, digest_size=32)).hexdigest()


def _environment(root: Path, variables: Mapping[str, str]) -> str:
    """A hash of the environment as far as it determines which code is loaded.

    It covers the variables in `_LOADING` and the folders of the project in PATH.
    """
    folders = variables.get("PATH", "").split(os.pathsep)
    parts = [f"{name}={variables[name]}" for name in _LOADING if variables.get(name)]
    parts += [folder for folder in folders if Path(folder).is_relative_to(root)]
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
