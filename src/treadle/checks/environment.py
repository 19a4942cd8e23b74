"""What a check gets of the environment: the project's own programs first, and no keys."""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from treadle.inside import read_regular
from treadle.secrets import redact

_KEY_WORDS = re.compile(
    r"(?:^|_)(?:[A-Z0-9]*(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE)S?"
    r"|(?:API|ACCESS|AUTH|PRIVATE|SECRET)?KEYS?|PASS|PWD|PAT|CREDENTIALS?|CREDS|COOKIES?|JWT|BEARER)(?:_|$)"
)
"""A word of a variable's name, in capitals, that says that its value is a key or a password."""

_NO_KEYS = frozenset({"PWD", "OLDPWD"})

_PLAIN = {
    "CI": "true",  # no watch mode, no prompts, no lines cut to the width of a terminal
    "NO_COLOR": "1",
    "TERM": "dumb",
    "CARGO_TERM_COLOR": "never",
    "GIT_TERMINAL_PROMPT": "0",
    "PYTHONUNBUFFERED": "1",
}
"""What lets programs write plain text for nobody at a terminal, and write it at once."""

_COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS")

_PROGRAM_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Where projects keep the programs that they installed for themselves."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables that a check gets, and the names of those that were kept from it."""

    variables: Mapping[str, str]
    withheld: tuple[str, ...] = ()


def check_environment(
    environment: Mapping[str, str],
    root: Path,
    *,
    secret: Collection[str] = (),
    keep: Collection[str] = (),
) -> Environment:
    """`environment` for a check of the project at `root`.

    Variables are left out whose names or values look like keys, and those named in `secret`;
    those named in `keep` stay in any case. Programs of the project's own environments come first
    in PATH, of which only absolute folders are kept.
    """
    withheld = tuple(
        sorted(
            name
            for name, value in environment.items()
            if name not in keep and (name in secret or _is_secret(name, value))
        )
    )
    variables = {
        name: value
        for name, value in environment.items()
        if name not in withheld and name not in _COLOURS
    }
    own = [folder for name in _PROGRAM_FOLDERS if (folder := root / name).is_dir()]
    given = [
        each
        for each in variables.get("PATH", os.defpath).split(os.pathsep)
        if Path(each).is_absolute()
    ]
    variables |= {**_PLAIN, "PATH": os.pathsep.join([*map(str, own), *given])}
    if own and own[0].name == "bin":
        variables["VIRTUAL_ENV"] = str(own[0].parent)
        variables.pop("PYTHONHOME", None)
    return Environment(variables, withheld)


def _is_secret(name: str, value: str) -> bool:
    if name in _NO_KEYS:
        return False
    return _KEY_WORDS.search(name.upper()) is not None or redact(value) != value


def in_copy(variables: Mapping[str, str], root: Path, tree: Path) -> dict[str, str]:
    """`variables` for a check that runs in `tree`, a copy of the project at `root`.

    Python is told to import the copy's own packages where an editable installation, or PYTHONPATH,
    names folders of the project.
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
    """Folders of the project that the Python environment in use imports from.

    An editable installation is a `.pth` file that names them, or, from setuptools, a module that
    maps each package to its folder.
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
    """The text of a file of a Python environment, which may be the repository's own."""
    try:
        return read_regular(str(path), _MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


_MOST_BYTES = 1_000_000
_QUOTED_PATH = re.compile(r"'(/[^'\\]+)'")
