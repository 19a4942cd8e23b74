"""The addresses of a project's stores, and functions that open two of the stores."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from treadle.database import PostgresAddress, StoreAddress
from treadle.database.address import DEFAULT_PROJECT
from treadle.errors import UsageError
from treadle.paths import user_config_dir, user_data_dir
from treadle.urls import without_credentials

if TYPE_CHECKING:
    from treadle.edits.service import Edits
    from treadle.traces import TraceStore

_VARIABLE = "TREADLE_STORE__URL"
"""The environment variable of the setting `store.url`."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The addresses of all stores of one project.

    Each store is a SQLite file in `folder`, or a schema of the PostgreSQL database at `url`. A
    store is created at its first use.
    """

    folder: Path
    """The folder for the SQLite files, and for files of this machine that belong to a store."""
    url: str | None = field(default=None, repr=False)
    project: str = DEFAULT_PROJECT

    @classmethod
    def of_user(cls, project: str = DEFAULT_PROJECT) -> Self:
        """Return the stores of a project at the place that the user's settings name."""
        folder = _project_folder(user_data_dir(), project)
        return cls(folder, _store_url(os.environ), project)

    @classmethod
    def at(cls, place: str, project: str = DEFAULT_PROJECT) -> Self:
        """Return the stores of a project at a place: `sqlite:FOLDER`, or a PostgreSQL address."""
        kind, _, rest = place.partition(":")
        if kind == "sqlite" and rest:
            return cls(_project_folder(Path(rest).expanduser(), project), None, project)
        if kind in {"postgresql", "postgres"} and rest.startswith("//"):
            return cls(_project_folder(user_data_dir(), project), place, project)
        raise UsageError(
            "The place of the stores is unknown.",
            hint="Write sqlite:FOLDER, or postgresql://HOST/NAME.",
        )

    @property
    def name(self) -> str:
        """The place of the stores for people, without the user and the password."""
        return f"sqlite:{self.folder}" if self.url is None else without_credentials(self.url)

    @property
    def traces(self) -> StoreAddress:
        """The address of the spans."""
        return self._address("traces")

    @property
    def conversations(self) -> StoreAddress:
        """The address of the conversations."""
        return self._address("conversations")

    @property
    def approvals(self) -> StoreAddress:
        """The address of the permanent approvals."""
        return self._address("approvals")

    @property
    def mcp(self) -> StoreAddress:
        """The address of the definitions of foreign tools that a person knows."""
        return self._address("mcp")

    @property
    def proposals(self) -> StoreAddress:
        """The address of the proposals."""
        return self._address("proposals")

    @property
    def breakpoints(self) -> StoreAddress:
        """The address of the gateway's breakpoints and held calls."""
        return self._address("breakpoints")

    @property
    def ui(self) -> StoreAddress:
        """The address of the shared state of pages, and of the requests to pages."""
        return self._address("ui")

    @property
    def experiments(self) -> StoreAddress:
        """The address of the experiments."""
        return self._address("experiments")

    @property
    def identity(self) -> StoreAddress:
        """The address of the projects, users, API keys and the audit log.

        All projects of an installation share the store of the default project.
        """
        return self._address("identity")

    def _address(self, store: str) -> StoreAddress:
        if self.url is None:
            return self.folder / f"{store}.db"
        return PostgresAddress(self.url, self.project, store, self.folder)

    def open_traces(self) -> "TraceStore":
        """Open the store of recorded spans. Raises StoreError if it cannot be opened."""
        from treadle.traces import TraceStore

        return TraceStore.open(self.traces)

    @contextmanager
    def open_edits(self, root: Path) -> "Iterator[Edits]":
        """Open the proposals of the repository at `root`.

        If an earlier process was killed while it applied a proposal, the changes of this proposal
        are reverted first. They stay only if that process had already written all files. Raises
        StoreError if the store cannot be used.
        """
        from treadle.code.syntax.check import broken
        from treadle.edits.proposal_store import ProposalStore
        from treadle.edits.service import Edits

        store = ProposalStore.open(self.proposals)
        try:
            edits = Edits(root, store).with_examiner(broken)
            edits.recover()
            yield edits
        finally:
            store.close()


def _project_folder(data: Path, project: str) -> Path:
    """Return the folder of a project in a data folder."""
    return data if project == DEFAULT_PROJECT else data / "projects" / project


def log_path() -> Path:
    """Return the path of the log file. Older log files are in the same folder."""
    return user_data_dir() / "treadle.log"  # the file is created with the first line


def _store_url(env: Mapping[str, str]) -> str | None:
    """Return the setting `store.url` without loading the whole configuration.

    Commands that only read a store do not need the other settings. Returns None if the file with
    the settings is missing or damaged: the commands that load the settings report the damage.
    """
    if value := env.get(_VARIABLE, "").strip():
        return value
    try:
        content = (user_config_dir() / "config.toml").read_bytes()
        if b"store" not in content:
            return None
        found = tomllib.loads(content.decode()).get("store", {}).get("url")
    except (OSError, ValueError, AttributeError):
        return None
    return found if isinstance(found, str) else None
