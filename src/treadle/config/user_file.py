"""Changes single settings in the file of the user or of a project. Comments and order stay."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError

from treadle.config.layers import LayerKind
from treadle.config.loader import FILE_NAME, load
from treadle.errors import ConfigError
from treadle.owner_only import private_folder
from treadle.paths import user_config_dir


@dataclass(frozen=True, slots=True)
class SavedSetting:
    """A setting that was saved in the file at `path`.

    If another source overrides the saved value, `overridden_by` is that source. Otherwise it is
    null.
    """

    path: str
    overridden_by: str | None


def save_setting(
    root: Path,
    env: Mapping[str, str],
    key: str,
    value: str,
    *,
    project_folder: Path | None = None,
) -> SavedSetting:
    """Set a top-level key of the user's configuration file, and create the file if necessary.

    With `project_folder`, the file of that project is changed instead. Raises ConfigError if the
    file cannot be read or written. In this case the file does not change.
    """
    path = (project_folder or user_config_dir()) / FILE_NAME
    try:
        target = path.resolve()  # a person may keep the file elsewhere, behind a link
        private_folder(target.parent)
        text = target.read_bytes().decode() if target.exists() else ""
        document = tomlkit.parse(text)
        document[key] = value
        _replace(target, tomlkit.dumps(document))
    except (OSError, ValueError, TOMLKitError) as error:
        raise ConfigError(
            f"{path} cannot be changed: {error}.", hint=f'Add `{key} = "{value}"` to it yourself.'
        ) from error
    origin = load(root, env, {}, project_folder=project_folder).origin_of(key)
    own = LayerKind.USER if project_folder is None else LayerKind.PROJECT
    overridden = None if origin.layer is own else str(origin)
    return SavedSetting(str(path), overridden)


def _replace(path: Path, text: str) -> None:
    """Write a file completely or not at all. Its permissions stay."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
