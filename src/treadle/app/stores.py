"""Where the records of a user live, and how they are opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.paths import data_path, user_data_dir

if TYPE_CHECKING:
    from treadle.edits.service import Edits
    from treadle.traces import SqliteTraceStore


def traces_path() -> Path:
    """The file that holds the recorded spans of every repository."""
    return data_path("traces.db")


def conversations_path() -> Path:
    """The file that holds the conversations of every repository."""
    return data_path("conversations.db")


def approvals_path() -> Path:
    """The file that holds what is always allowed in each repository."""
    return user_data_dir() / "approvals.db"  # made with the first of them


def proposals_path() -> Path:
    """The file that holds the proposals for every repository."""
    return user_data_dir() / "proposals.db"  # made with the first of them


def breakpoints_path() -> Path:
    """The file that holds the breakpoints of the gateway, and what was held at them."""
    return user_data_dir() / "breakpoints.db"  # made when the gateway opens


def ui_path() -> Path:
    """The file that holds what pages show."""
    return user_data_dir() / "ui.db"  # made with the first page or tool that is about it


def experiments_path() -> Path:
    """The file that holds the experiments."""
    return user_data_dir() / "experiments.db"  # made with the first of them


def log_path() -> Path:
    """The log file; older log files are in the same folder."""
    return user_data_dir() / "treadle.log"  # made with its first line


def open_trace_store() -> "SqliteTraceStore":
    """The recorded spans. Raises StoreError when the file cannot be opened."""
    from treadle.traces import SqliteTraceStore

    return SqliteTraceStore.open(traces_path())


@contextmanager
def open_edits(root: Path) -> "Iterator[Edits]":
    """The proposals of the repository at `root`, after the recovery from a killed process.

    Raises StoreError when the data folder cannot be written.
    """
    from treadle.code.soundness import broken
    from treadle.edits.proposal_store import ProposalStore
    from treadle.edits.service import Edits

    store = ProposalStore.open(proposals_path())
    try:
        edits = Edits(root, store).examining(broken)
        edits.recover()
        yield edits
    finally:
        store.close()
