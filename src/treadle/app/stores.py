"""The paths of the user's databases and log file, and functions that open two of the stores."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.paths import data_path, user_data_dir

if TYPE_CHECKING:
    from treadle.edits.service import Edits
    from treadle.traces import SqliteTraceStore


def traces_path() -> Path:
    """Return the path of the database with the spans of all repositories."""
    return data_path("traces.db")


def conversations_path() -> Path:
    """Return the path of the database with the conversations of all repositories."""
    return data_path("conversations.db")


def approvals_path() -> Path:
    """Return the path of the database with the permanent approvals of all repositories."""
    return user_data_dir() / "approvals.db"  # the file is created with the first approval


def proposals_path() -> Path:
    """Return the path of the database with the proposals of all repositories."""
    return user_data_dir() / "proposals.db"  # the file is created with the first proposal


def breakpoints_path() -> Path:
    """Return the path of the database with the gateway's breakpoints and held calls."""
    return user_data_dir() / "breakpoints.db"  # the file is created when the gateway opens


def ui_path() -> Path:
    """Return the path of the database with the shared state of pages and the requests to pages."""
    return user_data_dir() / "ui.db"  # the file is created by the first page or tool that uses it


def experiments_path() -> Path:
    """Return the path of the database with the experiments."""
    return user_data_dir() / "experiments.db"  # the file is created with the first experiment


def identity_path() -> Path:
    """Return the path of the database with the projects, users, API keys and the audit log."""
    return user_data_dir() / "identity.db"  # created with the first user, key or project


def log_path() -> Path:
    """Return the path of the log file. Older log files are in the same folder."""
    return user_data_dir() / "treadle.log"  # the file is created with the first line


def open_trace_store() -> "SqliteTraceStore":
    """Open the store of recorded spans. Raises StoreError if the file cannot be opened."""
    from treadle.traces import SqliteTraceStore

    return SqliteTraceStore.open(traces_path())


@contextmanager
def open_edits(root: Path) -> "Iterator[Edits]":
    """Open the proposals of the repository at `root`.

    If an earlier process was killed while it applied a proposal, the changes of this proposal are
    reverted first. They stay only if that process had already written all files. Raises StoreError
    if the data folder cannot be written.
    """
    from treadle.code.syntax.check import broken
    from treadle.edits.proposal_store import ProposalStore
    from treadle.edits.service import Edits

    store = ProposalStore.open(proposals_path())
    try:
        edits = Edits(root, store).with_examiner(broken)
        edits.recover()
        yield edits
    finally:
        store.close()
