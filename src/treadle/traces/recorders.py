"""The recorders of a trace store: the programs that write spans to it.

Each engine has its own way to find recorders that ended early: `recorder_files` for SQLite, and
`recorder_rows` for PostgreSQL.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager


class Recorders(ABC):
    """One recorder of this program, and the other recorders of the same store.

    Methods raise StoreError or OSError on failure, unless their docstring states otherwise.
    """

    beat_seconds: float | None = None
    """The seconds between two calls of `beat`. None if the engine needs no heartbeat."""

    @abstractmethod
    def begin(self, recorder: str) -> bool:
        """Register the recorder of this program.

        Returns False if the registration fails. The other recorders then cannot be examined.
        """

    @abstractmethod
    def beat(self) -> None:
        """Show that the recorder of this program still runs."""

    @abstractmethod
    def end(self) -> None:
        """Remove the recorder of this program, because it ends normally."""

    @abstractmethod
    def others(self) -> Sequence[str]:
        """Return the ids of recorders that may have ended early."""

    @abstractmethod
    def claim(self, recorder: str) -> AbstractContextManager[int | None]:
        """Claim a recorder that ended early, and remove it when the block succeeds.

        The value of the context is the start of the recorder in Unix microseconds. It is None if
        the recorder still runs, or if another program has claimed or removed it.
        """
