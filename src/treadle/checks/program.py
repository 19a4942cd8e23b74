"""Which program a check starts: what consent to it is bound to."""

import os
from collections.abc import Mapping
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path

from treadle.checks.running import find_program
from treadle.tools.approvals.question import Program

_LOADING = (
    "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "NODE_PATH", "NODE_OPTIONS",
    "PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT", "JAVA_TOOL_OPTIONS", "CLASSPATH", "GOFLAGS",
    "RUSTFLAGS", "RUSTC_WRAPPER", "BASH_ENV", "ENV", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT",
    "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH",
)  # fmt: skip
"""Variables that decide what code a program loads."""


def program_of(name: str, root: Path, variables: Mapping[str, str]) -> Program | None:
    """The program that `name` starts in the repository at `root`; None where there is none.

    Blocks. One that is, or that leads, inside of the repository has the hash of its content.
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
    """A hash of the content, of which only a part is in memory: a repository chooses its size."""
    with path.open("rb") as file:
        return file_digest(file, partial(blake2b, digest_size=32)).hexdigest()


def _environment(root: Path, variables: Mapping[str, str]) -> str:
    """A hash of what decides which code is loaded: some variables, and folders of the project."""
    folders = variables.get("PATH", "").split(os.pathsep)
    parts = [f"{name}={variables[name]}" for name in _LOADING if variables.get(name)]
    parts += [folder for folder in folders if Path(folder).is_relative_to(root)]
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
