"""Reads one layer of configuration: a TOML file, the environment, or command-line flags."""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic.fields import FieldInfo

from treadle import toml
from treadle.config import schema
from treadle.config.variables import NOT_SETTINGS, PREFIX
from treadle.errors import ConfigError
from treadle.inside import read_regular
from treadle.owner_only import is_foreign

_HEADER = re.compile(r"\s*\[\[?(?P<name>[^\[\]]+)\]\]?\s*(#.*)?$")
_KEY = re.compile(r"\s*(?P<name>(?:[\w.\s-]|\"[^\"]*\"|'[^']*')+?)\s*=")
_PART = re.compile(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)")


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """Return the number of the line, from 1, that sets `path` in a TOML text.

    If no line sets `path`, the result is the line of the innermost table around it. The result is
    None if the text names neither the setting nor such a table. The result is only for messages,
    since text inside a multi-line string may look like a key.
    """
    table: tuple[str, ...] = ()
    best: tuple[int, int] | None = None  # the number of matching names, and the line
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            here = table = _names(header["name"])
        elif key := _KEY.match(line):
            here = (*table, *_names(key["name"]))
        else:
            continue
        if here == path[: len(here)] and (best is None or len(here) > best[0]):
            best = (len(here), number)
    return best[1] if best else None


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(next(filter(None, match), "") for match in _PART.findall(dotted))


MAX_FILE_BYTES = 1_000_000
"""The maximum size of a configuration file in bytes.

The limit is needed because a repository may contain any file at this path.
"""


class LayerKind(StrEnum):
    """The kinds of layers, lowest precedence first."""

    DEFAULT = "default"
    USER = "user file"
    REPOSITORY = "repository file"
    ENVIRONMENT = "environment"
    FLAG = "flag"
    PROJECT = "project file"


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a value.

    `source` is the path of the file or the name of the variable, and empty for a default. `line` is
    the line in the file, from 1.
    """

    layer: LayerKind
    source: str = ""
    line: int | None = None

    def __str__(self) -> str:
        if not self.source:
            return str(self.layer)
        return f"{self.source}:{self.line}" if self.line else self.source


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of a setting in one layer."""

    value: object
    origin: Origin


Layer = dict[schema.Path, Setting]


def read_file(path: Path, kind: LayerKind) -> Layer:
    """Read the settings in a TOML file. A missing file has no settings. Raises ConfigError."""
    text = _text(path)
    if text is None:
        return {}
    try:
        values = toml.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(path, text, error) from error
    except (ValueError, RecursionError) as error:  # an enormous number, or a deeply nested list
        raise ConfigError(
            f"{path} contains a number or a list that is not a valid setting.", hint="Remove it."
        ) from error

    def origin(setting: schema.Path) -> Origin:
        return Origin(kind, str(path), line_of(text, setting))

    try:
        return {at: Setting(value, origin(at)) for at, value in schema.leaves(values)}
    except schema.UnknownKeyError as error:
        raise _unknown(error, str(origin(error.path))) from error
    except schema.NotATableError as error:
        raise ConfigError(
            f"{error} ({origin(error.path)}) should be a table.",
            hint=f"Write [{error}] and its settings below.",
        ) from error


def read_environment(env: Mapping[str, str]) -> Layer:
    """Read the settings in the environment variables whose names begin with `TREADLE_`.

    In a name, `__` separates a table from its setting. An empty value counts as unset. A value that
    is not text is written as in TOML (`TREADLE_TRUSTED_ROOTS='["/a", "/b"]'`). A variable that
    names no setting may belong to another program. This function ignores such a variable, and
    `unknown_variables` reports it. Raises ConfigError.
    """
    layer: Layer = {}
    for name in _setting_variables(env):
        path = _path(name)
        try:
            node = schema.find(path)
        except schema.UnknownKeyError:
            continue
        if not isinstance(node, FieldInfo):
            continue
        text = _unicode(env[name], f"The environment variable {name}")
        value = text if schema.is_text(node) else _toml_value(text)
        layer[path] = Setting(value, Origin(LayerKind.ENVIRONMENT, name))
    return layer


def unknown_variables(env: Mapping[str, str]) -> list[str]:
    """Return a sentence for each `TREADLE_…` variable that is not a setting, without its value."""
    sentences = []
    for name in _setting_variables(env):
        hint = ""
        try:
            if isinstance(schema.find(_path(name)), FieldInfo):
                continue
            hint = f" It names a table: add the name of a setting, as in {name}__…."
        except schema.UnknownKeyError as error:
            near = PREFIX + "__".join(error.near).upper() if error.near else None
            if near is not None or error.path[-1] in _KEY_NAMES:
                hint = f" {_hint(error, near)}"
        sentences.append(f"The environment variable {name} is not a setting and is ignored.{hint}")
    return sentences


def _setting_variables(env: Mapping[str, str]) -> list[str]:
    """Return the sorted names of variables that may be settings. An empty value counts as unset."""
    return sorted(
        name for name in env if name.startswith(PREFIX) and name not in NOT_SETTINGS and env[name]
    )


def _path(variable: str) -> schema.Path:
    return tuple(variable.removeprefix(PREFIX).lower().split("__"))


def read_flags(overrides: Mapping[str, object]) -> Layer:
    """Read the settings of command-line flags.

    `overrides` has the values by dotted key. None means that the flag was not given. Raises
    ConfigError for an unknown key.
    """
    layer: Layer = {}
    for key, value in overrides.items():
        if value is None:
            continue
        path = tuple(key.split("."))
        try:
            schema.find(path)
        except schema.UnknownKeyError as error:
            raise _unknown(error, "flag") from error
        if isinstance(value, str):
            _unicode(value, f"The value given for {key}")
        layer[path] = Setting(value, Origin(LayerKind.FLAG, "flag"))
    return layer


def why_untrusted(path: Path) -> str | None:
    """Return the reason why another user may have written a file, or None if there is no reason."""
    try:
        status = path.stat()
    except OSError:
        return None
    if is_foreign(status):
        return f"it belongs to another user (uid {status.st_uid})"
    if os.name == "posix" and status.st_mode & stat.S_IWOTH:
        return "every user of this machine may change it"
    return None


def _text(path: Path) -> str | None:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{path} is not a file.", hint="Put the settings into a file there.")
        if status.st_size > MAX_FILE_BYTES:
            raise ConfigError(
                f"{path} has {status.st_size:,} bytes, which is too large for a configuration.",
                hint=f"Keep it under {MAX_FILE_BYTES:,} bytes.",
            )
        return read_regular(str(path), MAX_FILE_BYTES + 1).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8 text (byte {error.start:,}).", hint="Save it as UTF-8."
        ) from error


def _not_toml(path: Path, text: str, error: tomllib.TOMLDecodeError) -> ConfigError:
    what, _, _ = str(error).partition(" (at ")
    location = re.search(r"at line (\d+), column (\d+)", str(error))
    if location:
        line, column = int(location[1]), int(location[2])
    else:  # the message ends with "(at end of document)"
        line = text.count("\n") + 1
        column = len(text) - text.rfind("\n")
    return ConfigError(
        f"{path}:{line}:{column}: not valid TOML: {what}.",
        hint='Fix that line; text needs quotes, as in model = "provider/model".',
    )


def _toml_value(text: str) -> object:
    try:
        return toml.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text  # validation reports the expected type


def _unicode(text: str, description: str) -> str:
    """Return `text`. Raises ConfigError if `text` contains bytes that are not UTF-8."""
    if not text.isprintable() and any("\ud800" <= char <= "\udfff" for char in text):
        raise ConfigError(f"{description} is not UTF-8 text.", hint="Set it again in UTF-8.")
    return text


def _unknown(error: schema.UnknownKeyError, origin: str) -> ConfigError:
    near = schema.dotted(error.near) if error.near else None
    return ConfigError(f"{error} ({origin}) is not a setting.", hint=_hint(error, near))


def _hint(error: schema.UnknownKeyError, similar: str | None) -> str:
    if error.path[-1] in _KEY_NAMES:
        return _NO_KEYS
    if error.path in _REMOVED:
        return _REMOVED[error.path]
    return f"Did you mean {similar}?" if similar else _ALL_SETTINGS


_KEY_NAMES = frozenset({"api_key", "apikey", "key", "token", "secret", "password"})
_NO_KEYS = (
    "Settings do not contain keys: set api_key_env to the name of the environment variable "
    "that holds the key, or api_key_keyring to the keyring entry."
)
_REMOVED: dict[schema.Path, str] = {
    ("context", "embedding_model"): "Remove the line: search uses only the embedding that ships "
    "with Treadle.",
}
_ALL_SETTINGS = (
    "docs/configuration.md lists all settings; `treadle config show` shows their values."
)
