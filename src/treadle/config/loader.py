"""Merges the layers of configuration: user file, repository file, environment, flags."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from treadle.config import schema, trust
from treadle.config.layers import (
    Layer,
    LayerKind,
    Origin,
    Setting,
    read_environment,
    read_file,
    read_flags,
    why_not_obeyed,
)
from treadle.config.model import Settings
from treadle.errors import ConfigError
from treadle.paths import user_config_dir

FILE_NAME = "config.toml"
REPOSITORY_FOLDER = ".treadle"


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The settings in force, the origin of each set value, and warnings for a person.

    `origins` has a dotted key for every setting that a layer set; the others are defaults.
    `warnings` are sentences about what the repository's file was not allowed to set.
    """

    settings: Settings
    origins: Mapping[str, Origin]
    warnings: tuple[str, ...] = ()
    is_listed: bool = False
    """Whether `trusted_roots` names the repository."""

    def origin_of(self, key: str) -> Origin:
        """The origin of the value of a dotted key; keys inside a setting share its origin."""
        names = key.split(".")
        for end in range(len(names), 0, -1):
            if origin := self.origins.get(".".join(names[:end])):
                return origin
        return Origin(LayerKind.DEFAULT)


def config_paths(root: Path) -> tuple[Path, Path]:
    """The user's and the repository's configuration file, whether they exist or not."""
    return user_config_dir() / FILE_NAME, root / REPOSITORY_FOLDER / FILE_NAME


def load(root: Path, env: Mapping[str, str], overrides: Mapping[str, object]) -> LoadedConfig:
    """The configuration for the repository at `root`.

    `env` is the environment, `overrides` the flags by dotted key (None: not given). A later layer
    overrides single settings. It replaces a list or a table of preferences as a whole, except lists
    that only narrow what is allowed: each layer adds to those. Raises ConfigError with the key, the
    file and the line, never with an API key.
    """
    user_path, repository_path = config_paths(root)
    if (reason := why_not_obeyed(user_path)) is not None:
        raise ConfigError(
            f"{user_path} is not read: {reason}.",
            hint=f"Check its contents; then `chown $USER {user_path} && chmod 600 {user_path}`.",
        )
    user = read_file(user_path, LayerKind.USER)
    environment = read_environment(env)
    flags = read_flags(overrides)
    listed = _is_listed(root, _merge([user, environment, flags]).trusted_roots)
    repository: Layer = {}
    warnings: tuple[str, ...] = ()
    if not listed and (reason := why_not_obeyed(repository_path)) is not None:
        own_name = json.dumps(str(root.resolve()))
        ignored = f"Ignored {repository_path}: {reason}. To use it anyway, add "
        warnings = (f"{ignored}{own_name} to trusted_roots in {user_path}.",)
    else:
        repository = read_file(repository_path, LayerKind.REPOSITORY)
        repository, warnings = _permitted(repository, root, user_path, listed=listed)
    layers = (user, repository, environment, flags)
    origins = {
        ".".join(path): setting.origin for layer in layers for path, setting in layer.items()
    }
    return LoadedConfig(_merge(layers), origins, warnings, listed)


def is_trusted(root: Path, listed: Iterable[str]) -> bool:
    """Whether the repository at `root` is in `listed` by its real path, and unchanged."""
    if not _is_listed(root, listed):
        return False
    noted = trust.trusted(root)
    return noted is None or noted.accepts(trust.Trust.of(root, {}, make=False))


def accept(root: Path) -> tuple[str, ...]:
    """Trust the repository at `root` as it is now; returns the dotted keys that it may set.

    Raises ConfigError and OSError.
    """
    layer = read_file(config_paths(root)[1], LayerKind.REPOSITORY)
    asking = _asking(layer)
    trust.note(root, trust.Trust.of(root, asking, make=True))
    return tuple(asking)


def _is_listed(root: Path, listed: Iterable[str]) -> bool:
    return root.resolve() in {Path(name).expanduser().resolve() for name in listed}


def _asking(layer: Layer) -> dict[str, object]:
    """The values of a repository that need consent and may get it, by dotted key."""
    return {
        schema.dotted(path): setting.value
        for path, setting in layer.items()
        if schema.needs_consent(path) and not schema.is_users_alone(path)
    }


def _distrusted(layer: Layer, root: Path) -> tuple[frozenset[str], str]:
    """Dotted keys that a listed repository may not set, and why; stores the first trusted state."""
    asking = _asking(layer)
    noted = trust.trusted(root)
    if noted is None:
        with suppress(OSError):  # a later load stores it
            trust.note(root, trust.Trust.of(root, asking, make=True))
        return frozenset(), ""
    now = trust.Trust.of(root, asking, make=False)
    if not noted.accepts(now):
        return frozenset(asking), "another repository is at this path than the one you trusted"
    return noted.changed(now), "it was set or changed since you trusted this repository"


def _permitted(
    layer: Layer, root: Path, user_path: Path, *, listed: bool
) -> tuple[Layer, tuple[str, ...]]:
    """The part of its layer that a repository may set, and warnings for the rest."""
    never = [path for path in layer if schema.is_users_alone(path)]
    refused, why = _distrusted(layer, root) if listed else (frozenset(_asking(layer)), "")
    untrusted = [path for path in layer if schema.dotted(path) in refused and path not in never]
    allowed = {path: layer[path] for path in layer if path not in {*never, *untrusted}}
    warnings = []
    if untrusted and listed:
        warnings.append(
            f"Ignored {_named(layer, untrusted)}: {why}. Review it, then accept it with "
            "`treadle config trust`."
        )
    elif untrusted:
        warnings.append(
            f"Ignored {_named(layer, untrusted)}: only a trusted repository may set addresses, "
            f"sources of keys and routing. To trust it, add {json.dumps(str(root.resolve()))} "
            f"to trusted_roots in {user_path}."
        )
    if never:
        warnings.append(
            f"Ignored {_named(layer, never)}: a repository cannot set its own permissions. To "
            f"allow it, set it in {user_path}."
        )
    return allowed, tuple(warnings)


def _named(layer: Layer, paths: Iterable[schema.Path]) -> str:
    return ", ".join(f"{schema.dotted(path)} ({layer[path].origin})" for path in paths)


def _merge(layers: Iterable[Layer]) -> Settings:
    merged: Layer = {}
    for layer in layers:
        for path, setting in layer.items():
            below = merged.get(path)
            merged[path] = _joined(below, setting) if below and schema.is_joined(path) else setting
    values = schema.nest({path: setting.value for path, setting in merged.items()})
    try:
        # JSON mode is strict about types (no "30" for 30), but accepts a list for a tuple.
        return Settings.model_validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        raise _bad_value(error, merged) from error


def _joined(below: Setting, above: Setting) -> Setting:
    """Two lists joined; validation handles other values."""
    if isinstance(below.value, list) and isinstance(above.value, list):
        return Setting([*below.value, *above.value], above.origin)
    return above if isinstance(below.value, list) else below


def _bad_value(error: ValidationError, merged: Layer) -> ConfigError:
    problem = error.errors(include_url=False, include_context=False)[0]
    names = tuple(str(part) for part in problem["loc"])
    if problem["type"] == "missing":
        return ConfigError(
            f"{schema.dotted(names)} is missing from the configuration.",
            hint="docs/configuration.md describes each setting.",
        )
    path = next((names[:end] for end in range(len(names), 0, -1) if names[:end] in merged), None)
    if path is None:  # no single setting causes it: lists nested deeper than JSON allows
        return ConfigError(f"The configuration cannot be used: {problem['msg']}.")
    expected = problem["msg"].removeprefix("Value error, ").replace("Input should", "should")
    value = merged[path].value
    # Shown only if it cannot be a key that was pasted into the wrong place.
    got = f", not {json.dumps(value)}" if isinstance(value, bool | int | float) else ""
    return ConfigError(
        f"{schema.dotted(path)} ({merged[path].origin}) {expected}{got}.",
        hint="Change it there; docs/configuration.md describes each setting.",
    )
