"""Merges the layers of configuration: files, environment and flags."""

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
    why_untrusted,
)
from treadle.config.model import Settings
from treadle.errors import ConfigError
from treadle.paths import user_config_dir

FILE_NAME = "config.toml"
REPOSITORY_FOLDER = ".treadle"
_ACCOUNT = frozenset({"base_url", "api_key_env", "api_key_keyring"})
"""The settings of a provider that decide which account at the provider pays for a call."""


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The settings in force, the origin of each value, and warnings for a person.

    `origins` has the dotted key of every setting in a layer. All other settings have their default
    values. `warnings` are sentences about settings that the repository's file was not allowed to
    set.
    """

    settings: Settings
    origins: Mapping[str, Origin]
    warnings: tuple[str, ...] = ()
    is_listed: bool = False
    """Whether `trusted_roots` contains the repository."""

    def origin_of(self, key: str) -> Origin:
        """Return the origin of the value at a dotted key.

        A key inside the value of a setting has the origin of that setting.
        """
        names = key.split(".")
        for end in range(len(names), 0, -1):
            if origin := self.origins.get(".".join(names[:end])):
                return origin
        return Origin(LayerKind.DEFAULT)


def config_paths(root: Path) -> tuple[Path, Path]:
    """Return the paths of the user's and the repository's configuration file.

    The files may be missing.
    """
    return user_config_dir() / FILE_NAME, root / REPOSITORY_FOLDER / FILE_NAME


def load(
    root: Path,
    env: Mapping[str, str],
    overrides: Mapping[str, object],
    *,
    project_folder: Path | None = None,
) -> LoadedConfig:
    """Load the configuration for the repository at `root`.

    `env` is the environment. `overrides` contains the flags by dotted key, and None for a flag that
    was not given. A later layer overrides single settings of the earlier layers. A list or a table
    of preferences is replaced as a whole. Lists that only restrict are an exception: the lists of
    all layers are joined. If a server has several projects, `project_folder` is the folder of the
    project. The settings file in this folder overrides the settings of the server. Raises
    ConfigError with the key, the file and the line, but never with an API key.
    """
    user_path, repository_path = config_paths(root)
    user = _read_own_file(user_path, LayerKind.USER)
    environment = read_environment(env)
    flags = read_flags(overrides)
    project = _read_project_file(project_folder)
    listed = _is_listed(root, _merge([user, environment, flags, project]).trusted_roots)
    repository: Layer = {}
    warnings: tuple[str, ...] = ()
    if not listed and (reason := why_untrusted(repository_path)) is not None:
        quoted_root = json.dumps(str(root.resolve()))
        ignored = f"Ignored {repository_path}: {reason}. To use it anyway, add "
        warnings = (f"{ignored}{quoted_root} to trusted_roots in {user_path}.",)
    else:
        repository = read_file(repository_path, LayerKind.REPOSITORY)
        repository, warnings = _permitted_settings(repository, root, user_path, listed=listed)
    layers = (user, repository, environment, flags, project)
    origins = {
        ".".join(path): setting.origin for layer in layers for path, setting in layer.items()
    }
    own = frozenset(path[1] for path in project if path[0] == "providers" and path[2] in _ACCOUNT)
    settings = _merge(layers).of_project(project_folder, own)
    return LoadedConfig(settings, origins, warnings, listed)


def _read_own_file(path: Path, kind: LayerKind) -> Layer:
    """Read a settings file that only its owner may write. Raises ConfigError."""
    if (reason := why_untrusted(path)) is not None:
        raise ConfigError(
            f"{path} is not read: {reason}.",
            hint=f"Check its contents; then `chown $USER {path} && chmod 600 {path}`.",
        )
    return read_file(path, kind)


def _read_project_file(folder: Path | None) -> Layer:
    """Read the settings of a project.

    Raises ConfigError if the file contains a setting that applies to the whole server.
    """
    if folder is None:
        return {}
    layer = _read_own_file(folder / FILE_NAME, LayerKind.PROJECT)
    for path, setting in layer.items():
        if schema.is_server_wide(path):
            raise ConfigError(
                f"{schema.dotted(path)} ({setting.origin}) applies to all projects of the server.",
                hint=f"Set it in {user_config_dir() / FILE_NAME} instead.",
            )
    return layer


def is_trusted(root: Path, listed: Iterable[str]) -> bool:
    """Whether the user trusts the repository at `root`.

    `listed` is the setting `trusted_roots`, which must contain the real path of `root`. The
    repository must also be the one that was at this path when the user trusted it.
    """
    if not _is_listed(root, listed):
        return False
    trusted_state = trust.trusted(root)
    return trusted_state is None or trusted_state.accepts(trust.Trust.of(root, {}, create=False))


def accept(root: Path) -> tuple[str, ...]:
    """Trust the repository at `root` in its present state.

    Returns the dotted keys of the repository's settings that need this trust. Raises ConfigError if
    the settings cannot be read, and OSError if the state cannot be stored.
    """
    layer = read_file(config_paths(root)[1], LayerKind.REPOSITORY)
    values = _settings_needing_consent(layer)
    trust.note(root, trust.Trust.of(root, values, create=True))
    return tuple(values)


def _is_listed(root: Path, listed: Iterable[str]) -> bool:
    return root.resolve() in {Path(name).expanduser().resolve() for name in listed}


def _settings_needing_consent(layer: Layer) -> dict[str, object]:
    """Return the values that a repository may set only with the user's consent, by dotted key."""
    return {
        schema.dotted(path): setting.value
        for path, setting in layer.items()
        if schema.needs_consent(path) and not schema.only_user_may_set(path)
    }


def _refused_keys(layer: Layer, root: Path) -> tuple[frozenset[str], str]:
    """Return the dotted keys that a trusted repository may not set now, and the reason.

    If no trusted state of the repository is stored yet, this function stores the present state.
    """
    values = _settings_needing_consent(layer)
    trusted_state = trust.trusted(root)
    if trusted_state is None:
        with suppress(OSError):  # the next load tries again
            trust.note(root, trust.Trust.of(root, values, create=True))
        return frozenset(), ""
    now = trust.Trust.of(root, values, create=False)
    if not trusted_state.accepts(now):
        return frozenset(values), "the repository at this path is not the one that you trusted"
    return trusted_state.changed(now), "it was set or changed since you trusted this repository"


def _permitted_settings(
    layer: Layer, root: Path, user_path: Path, *, listed: bool
) -> tuple[Layer, tuple[str, ...]]:
    """Return the settings of `layer` that the repository may set, and warnings about the others."""
    only_user = [path for path in layer if schema.only_user_may_set(path)]
    refused, reason = frozenset(_settings_needing_consent(layer)), ""
    if listed:
        refused, reason = _refused_keys(layer, root)
    untrusted = [path for path in layer if schema.dotted(path) in refused and path not in only_user]
    allowed = {path: layer[path] for path in layer if path not in {*only_user, *untrusted}}
    warnings = []
    if untrusted and listed:
        warnings.append(
            f"Ignored {_names_with_origin(layer, untrusted)}: {reason}. Review it, then accept it "
            "with `treadle config trust`."
        )
    elif untrusted:
        warnings.append(
            f"Ignored {_names_with_origin(layer, untrusted)}: only a trusted repository may set "
            "addresses, sources of keys and routing. To trust it, add "
            f"{json.dumps(str(root.resolve()))} to trusted_roots in {user_path}."
        )
    if only_user:
        warnings.append(
            f"Ignored {_names_with_origin(layer, only_user)}: a repository cannot set its own "
            f"permissions. To allow it, set it in {user_path}."
        )
    return allowed, tuple(warnings)


def _names_with_origin(layer: Layer, paths: Iterable[schema.Path]) -> str:
    return ", ".join(f"{schema.dotted(path)} ({layer[path].origin})" for path in paths)


def _merge(layers: Iterable[Layer]) -> Settings:
    merged: Layer = {}
    for layer in layers:
        for path, setting in layer.items():
            lower = merged.get(path)
            merged[path] = (
                _join_lists(lower, setting) if lower and schema.is_joined(path) else setting
            )
    values = schema.nest({path: setting.value for path, setting in merged.items()})
    try:
        # JSON mode is strict about types (no "30" for 30), but accepts a list for a tuple.
        return Settings.model_validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        raise _bad_value(error, merged) from error


def _join_lists(lower: Setting, upper: Setting) -> Setting:
    """Join two lists. If one value is not a list, return that value, which validation rejects."""
    if isinstance(lower.value, list) and isinstance(upper.value, list):
        return Setting([*lower.value, *upper.value], upper.origin)
    return upper if isinstance(lower.value, list) else lower


def _bad_value(error: ValidationError, merged: Layer) -> ConfigError:
    problem = error.errors(include_url=False, include_context=False)[0]
    names = tuple(str(part) for part in problem["loc"])
    if problem["type"] == "missing":
        return ConfigError(
            f"{schema.dotted(names)} is missing from the configuration.",
            hint="docs/configuration.md describes each setting.",
        )
    path = next((names[:end] for end in range(len(names), 0, -1) if names[:end] in merged), None)
    if path is None:  # no single setting is wrong: lists are nested too deep for JSON
        return ConfigError(f"The configuration cannot be used: {problem['msg']}.")
    expected = problem["msg"].removeprefix("Value error, ").replace("Input should", "should")
    value = merged[path].value
    # A string may be an API key that was pasted into the wrong place: do not show it.
    got = f", not {json.dumps(value)}" if isinstance(value, bool | int | float) else ""
    return ConfigError(
        f"{schema.dotted(path)} ({merged[path].origin}) {expected}{got}.",
        hint="Change it there; docs/configuration.md describes each setting.",
    )
