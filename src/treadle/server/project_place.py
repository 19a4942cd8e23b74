"""Finds the repository, the settings and the stores of a project."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from treadle.app.application import Toolset
from treadle.app.stores import Stores
from treadle.config.loader import LoadedConfig, load
from treadle.errors import ConfigError
from treadle.owner_only import private_folder

_NO_REPOSITORY = "repository"
"""The name of the empty folder that is the root of a project without a repository."""


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """The repository, the settings and the stores of a project.

    `root` is the root of the repository. If the project has no repository, `root` is an empty
    folder, and `toolset` has no tools for code.
    """

    root: Path
    toolset: Toolset
    loaded: LoadedConfig
    stores: Stores


def find_place(name: str, env: Mapping[str, str]) -> ProjectPlace:
    """Return the place of a project that is not the default project. The call blocks.

    The settings of the project are those of the server and, above them, the file `config.toml` in
    the folder of the project. Raises NotFoundError, StoreError and ConfigError.
    """
    from treadle.identity.store import IdentityStore  # imported late: unused by the default project

    with IdentityStore(Stores.of_user().identity) as identities:
        repository = identities.projects.get(name).repository
    stores = Stores.of_user(name)
    folder = private_folder(stores.folder)
    if repository is None:
        root, toolset = private_folder(folder / _NO_REPOSITORY), Toolset.RECORDS
    else:
        root, toolset = Path(repository), Toolset.ALL
        if not root.is_dir():
            raise ConfigError(
                f"The repository {root} of the project is not a folder on this machine.",
                hint="Restore the folder, or add the project again with another repository.",
            )
    return ProjectPlace(root, toolset, load(root, env, {}, project_folder=folder), stores)
