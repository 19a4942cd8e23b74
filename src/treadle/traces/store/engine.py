"""The parts of the trace store that each database engine does in its own way.

All other code of the store runs the same SQL text on every engine.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from treadle.database import Connection, Database
from treadle.traces.store.columns import SpanRow
from treadle.traces.store.statements import Text

T = TypeVar("T")
Job = Callable[[Connection], T]

SearchTexts = tuple[str, str, str]
"""The texts of a span that text search reads: the name, the input and the output."""


class Engine(ABC):
    """Tables, writes and maintenance that differ between database engines."""

    text_tables: tuple[str, ...]
    """The statements that create the table `texts`, which text search reads."""
    adaptations: tuple[str, ...]
    """The statements that adapt new tables of `store.schema` to the engine."""
    triggers: tuple[str, ...]
    """The statements that create the triggers which fill `changed_spans` (`store.segments`)."""

    outage_seconds: float
    """The seconds for which the writer repeats a commit after it lost its connection."""

    @abstractmethod
    def transaction_id(self, connection: Connection) -> str | None:
        """Return the id of the open transaction. None if a connection cannot be lost."""

    @abstractmethod
    def is_committed(self, connection: Connection, transaction_id: str) -> bool:
        """Whether an earlier transaction has been committed.

        Call the method in a transaction that holds the write lock, so the earlier one has ended.
        """

    @abstractmethod
    def prepare_writer(self, connection: Connection) -> None:
        """Set up the connection of the writer."""

    @abstractmethod
    def maintain(self, connection: Connection) -> None:
        """Do small maintenance after a commit of the writer."""

    @abstractmethod
    def index_text(self, text: Text) -> Text:
        """Return the form of a text that an index of this engine can have."""

    @abstractmethod
    def index_row(self, row: SpanRow) -> SpanRow:
        """Return a row whose texts have the form of `index_text`."""

    @abstractmethod
    def text_row(self, texts: SearchTexts) -> tuple[Any, ...]:
        """Return the columns of `texts` for a span, except the key, which is assigned later."""

    @abstractmethod
    def insert_texts(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows to `texts`. Each row is the key of a span, then the values of `text_row`."""

    @abstractmethod
    def delete_texts(self, connection: Connection, keys: Sequence[int]) -> None:
        """Remove the search texts of the spans with these keys."""

    @abstractmethod
    def columns_of(self, connection: Connection, table: str) -> set[str]:
        """Return the names of the columns of a table."""

    @abstractmethod
    def used_bytes(self, connection: Connection, spans: int) -> int:
        """Return the approximate bytes on disk that the data of the store takes.

        The room of deleted rows does not count. `spans` is the number of stored spans.
        """

    @abstractmethod
    def clean(self, database: Database, do: Callable[[Job[Any]], Any]) -> None:
        """Remove the remains of deleted spans from the disk, and return free space to the system.

        `do` runs a job of the writer and returns its result. The writer writes no spans during a
        job, so each job must be short.
        """
