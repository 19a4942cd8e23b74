"""Builds the environment of a program without secrets."""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from treadle.secrets import redact

_KEY_WORDS = re.compile(
    r"(?:^|_)(?:[A-Z0-9]*(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE)S?"
    r"|(?:API|ACCESS|AUTH|PRIVATE|SECRET)?KEYS?|PASS|PWD|PAT|CREDENTIALS?|CREDS|COOKIES?|JWT|BEARER)(?:_|$)"
)
"""A pattern for names of variables that contain a key or a password.

The names must be in capitals.
"""

_NO_KEYS = frozenset({"PWD", "OLDPWD"})

_PLAIN = {
    "CI": "true",  # turns off watch modes, prompts and cutting of lines
    "NO_COLOR": "1",
    "TERM": "dumb",
    "CARGO_TERM_COLOR": "never",
    "GIT_TERMINAL_PROMPT": "0",
    "PYTHONUNBUFFERED": "1",
}
"""Variables that are set for every program. They make programs print plain text without delay."""

_COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS")

_PROGRAM_FOLDERS = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Folders in which projects install their own programs."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables that a program gets. `withheld` has the names of the removed variables."""

    variables: Mapping[str, str]
    withheld: tuple[str, ...] = ()


def program_environment(
    environment: Mapping[str, str],
    root: Path,
    *,
    secret: Collection[str] = (),
    keep: Collection[str] = (),
) -> Environment:
    """Build the environment for a program that runs in the project at `root`.

    The variables in `secret` are removed, and so are variables whose names or values look like
    secrets. Variables in `keep` stay. PATH begins with the folders in which the project installs
    programs. Relative folders are removed from PATH, since they would depend on the current folder.
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
