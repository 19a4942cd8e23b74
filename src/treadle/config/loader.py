"""Joins the layers of configuration: user file, repository file, environment, flags."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from treadle.config import schema
from treadle.config.layers import (
    Layer,
    LayerKind,
    Origin,
    read_environment,
    read_file,
    read_flags,
)
from treadle.config.model import Settings
from treadle.errors import ConfigError
from treadle.paths import user_config_dir

FILE_NAME = "config.toml"
REPOSITORY_FOLDER = ".treadle"


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The settings in force, where each set value is from, and what a person should know.

    `origins` holds a dotted key for every setting that a layer set; the others are defaults.
    `warnings` says what the repository's file was not allowed to set, in sentences.
    """

    settings: Settings
    origins: Mapping[str, Origin]
    warnings: tuple[str, ...] = ()

    def origin_of(self, key: str) -> Origin:
        """Where the value of a dotted key is from; a key inside a setting is from its setting."""
        names = key.split(".")
        for end in range(len(names), 0, -1):
            if origin := self.origins.get(".".join(names[:end])):
                return origin
        return Origin(LayerKind.DEFAULT)


def config_paths(root: Path) -> tuple[Path, Path]:
    """The files that are read, whether they exist or not: the user's, the repository's."""
    return user_config_dir() / FILE_NAME, root / REPOSITORY_FOLDER / FILE_NAME


def load(root: Path, env: Mapping[str, str], overrides: Mapping[str, object]) -> LoadedConfig:
    """The configuration for the repository at `root`.

    `env` is the environment, `overrides` the flags by dotted key (None: not given). A later
    layer wins setting by setting; a list or a table of preferences is replaced as a whole.
    Raises ConfigError, which names the key, the file and the line, and never shows a key.
    """
    user_path, repository_path = config_paths(root)
    user = read_file(user_path, LayerKind.USER)
    environment = read_environment(env)
    flags = read_flags(overrides)
    repository = read_file(repository_path, LayerKind.REPOSITORY)
    warnings: tuple[str, ...] = ()
    if not _is_trusted(root, _merge([user, environment, flags]).trusted_roots):
        repository, warnings = _without_consent(repository, root, user_path)
    layers = (user, repository, environment, flags)
    origins = {
        ".".join(path): setting.origin for layer in layers for path, setting in layer.items()
    }
    return LoadedConfig(_merge(layers), origins, warnings)


def _is_trusted(root: Path, trusted: Iterable[str]) -> bool:
    return root.resolve() in {Path(name).expanduser().resolve() for name in trusted}


def _without_consent(layer: Layer, root: Path, user_path: Path) -> tuple[Layer, tuple[str, ...]]:
    """The layer of a repository that is not trusted, and a warning for what it may not set."""
    allowed = {path: value for path, value in layer.items() if not schema.needs_consent(path)}
    refused = [
        f"{schema.dotted(path)} ({layer[path].origin})" for path in layer if path not in allowed
    ]
    if not refused:
        return allowed, ()
    warning = (
        f"Ignored {', '.join(refused)}: a repository may set addresses, sources of keys and "
        f"routing only when you trust it. To trust it, add {json.dumps(str(root.resolve()))} to "
        f"trusted_roots in {user_path}."
    )
    return allowed, (warning,)


def _merge(layers: Iterable[Layer]) -> Settings:
    merged: Layer = {}
    for layer in layers:
        merged.update(layer)
    values = schema.nest({path: setting.value for path, setting in merged.items()})
    try:
        # JSON mode is strict about types (no "30" for 30) and yet takes a list for a tuple.
        return Settings.model_validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        raise _bad_value(error, merged) from error


def _bad_value(error: ValidationError, merged: Layer) -> ConfigError:
    problem = error.errors(include_url=False, include_context=False)[0]
    names = tuple(str(part) for part in problem["loc"])
    path = next((names[:end] for end in range(len(names), 0, -1) if names[:end] in merged), None)
    if path is None:  # no single setting is to blame: lists in lists beyond what JSON may nest
        return ConfigError(f"The configuration cannot be used: {problem['msg']}.")
    expected = problem["msg"].removeprefix("Value error, ").replace("Input should", "should")
    value = merged[path].value
    # Only what cannot be a key pasted into the wrong place is shown.
    got = f", not {json.dumps(value)}" if isinstance(value, bool | int | float) else ""
    return ConfigError(
        f"{schema.dotted(path)} ({merged[path].origin}) {expected}{got}.",
        hint="Change it there; docs/configuration.md says what each setting takes.",
    )
