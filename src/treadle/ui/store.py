"""The file that stores the shared state of the web pages.

It also stores the list of open pages, and the requests to them. Every Treadle process can send a
request to a page through this file. The server of the page reads the file at intervals.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from treadle.database import FAST, Connection, Schema, StoreAddress, open_database
from treadle.errors import UsageError
from treadle.secrets import redact
from treadle.ui.state import MAX_COLLAPSED, Change, OpenPage, SavedView, UiState, View

CONNECTED_US = 15_000_000
"""Microseconds for which a page counts as open after its server has renewed it."""
_KEPT_US = 60_000_000
"""Microseconds after which the next `ask` deletes a request."""

MIGRATIONS = (
    """
    CREATE TABLE state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        revision INTEGER NOT NULL,
        changed_by TEXT,
        location TEXT NOT NULL,
        experiment_id TEXT,
        label_filters TEXT NOT NULL
    ) STRICT;
    INSERT INTO state VALUES (1, 0, NULL, '/', NULL, '{}');
    CREATE TABLE collapsed (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        span_id TEXT NOT NULL UNIQUE
    ) STRICT;
    CREATE TABLE pages (
        id TEXT PRIMARY KEY,
        location TEXT NOT NULL,
        used_us INTEGER NOT NULL,
        seen_us INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE requests (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        request_id TEXT NOT NULL,
        page TEXT NOT NULL,
        body TEXT NOT NULL,
        asked_us INTEGER NOT NULL,
        answer TEXT
    ) STRICT;
    """,
    """
    CREATE TABLE views (
        id TEXT PRIMARY KEY,
        screen TEXT NOT NULL,
        name TEXT NOT NULL,
        query TEXT NOT NULL,
        search TEXT NOT NULL,
        columns TEXT NOT NULL,
        updated_us INTEGER NOT NULL,
        UNIQUE (screen, name)
    ) STRICT, WITHOUT ROWID;
    """,
)
"""Migration n upgrades a file from version n to n + 1. A released migration is never changed."""

SCHEMA = Schema.of_migrations("page state", MIGRATIONS, pragmas=FAST, busy_seconds=5.0)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A saved request to a page.

    Each request has a larger `number` than all earlier requests. `request` is the JSON form of a
    message class in `ui.messages`.
    """

    number: int
    id: UUID
    request_id: UUID
    page: str
    request: Mapping[str, object]


class UiStore:
    """The state in a SQLite file, which several processes may use. All methods block.

    The first use creates the file. The methods are thread-safe. A method raises StoreError when it
    cannot use the file.
    """

    def __init__(self, address: StoreAddress) -> None:
        self._database = open_database(address, SCHEMA)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each change that this object makes, in the thread of the change."""
        self._database.on_commit(listener)

    def close(self) -> None:
        """Close the file, if it was opened."""
        self._database.close()

    def state(self) -> UiState:
        """Return the current state."""
        with self._database.use() as connection:
            return _state(connection)

    def revision(self) -> tuple[int, str | None]:
        """Return the number of changes, and the page that made the last change.

        The page is None if a tool or a program made the change.
        """
        with self._database.use() as connection:
            found: tuple[int, str | None] = connection.execute(
                "SELECT revision, changed_by FROM state"
            ).fetchone()
            return found

    def change(self, change: Change, *, by: str | None = None, now_us: int) -> UiState:
        """Change the state, and return the new state.

        `by` is the page that requests the change, or None for a tool or a program. The revision
        stays the same if the change has no effect.
        """
        with self._database.transaction() as connection:
            before = _state(connection)
            if by is not None:
                connection.execute(
                    "UPDATE pages SET used_us = ?, location = coalesce(?, location) WHERE id = ?",
                    (now_us, change.location and redact(change.location), by),
                )
            _write(connection, before, change)
            after = _state(connection)
            if after == before:
                return before
            connection.execute("UPDATE state SET revision = revision + 1, changed_by = ?", (by,))
            return _state(connection)

    def renew_pages(self, pages: tuple[str, ...], now_us: int) -> None:
        """Register or renew open pages, and remove expired pages. A new page counts as used now."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM pages WHERE seen_us < ?", (now_us - CONNECTED_US,))
            connection.executemany(
                "INSERT INTO pages VALUES (?1, '/', ?2, ?2)"
                " ON CONFLICT (id) DO UPDATE SET seen_us = ?2",
                [(page, now_us) for page in pages],
            )

    def remove_page(self, page: str) -> None:
        """Remove a page from the open pages."""
        with self._database.use() as connection:
            connection.execute("DELETE FROM pages WHERE id = ?", (page,))

    def pages(self, now_us: int) -> tuple[OpenPage, ...]:
        """Return the open pages, most recently used first."""
        with self._database.use() as connection:
            found = connection.execute(
                "SELECT id, location, used_us FROM pages WHERE seen_us >= ?"
                " ORDER BY used_us DESC, id",
                (now_us - CONNECTED_US,),
            )
            return tuple(OpenPage(*row) for row in found)

    def ask(
        self,
        ui_id: UUID,
        page: str,
        request: Mapping[str, object],
        *,
        request_id: UUID,
        now_us: int,
    ) -> None:
        """Save a request for a page, and delete all requests that are older than a minute."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM requests WHERE asked_us < ?", (now_us - _KEPT_US,))
            connection.execute(
                "INSERT INTO requests (id, request_id, page, body, asked_us)"
                " VALUES (?, ?, ?, ?, ?)",
                (str(ui_id), str(request_id), page, redact(json.dumps(request)), now_us),
            )

    def requests_after(self, number: int) -> list[PageRequest]:
        """Return the unanswered requests with numbers above `number`, lowest number first."""
        with self._database.use() as connection:
            found = connection.execute(
                "SELECT number, id, request_id, page, body FROM requests"
                " WHERE number > ? AND answer IS NULL ORDER BY number",
                (number,),
            )
            return [_page_request(row) for row in found]

    def last_number(self) -> int:
        """Return the number of the newest request, or 0 if there is none."""
        with self._database.use() as connection:
            (number,) = connection.execute("SELECT max(number) FROM requests").fetchone()
            return number or 0

    def request(self, ui_id: UUID) -> PageRequest | None:
        """Return the request with this id, or None if it is not saved."""
        with self._database.use() as connection:
            row = connection.execute(
                "SELECT number, id, request_id, page, body FROM requests WHERE id = ?",
                (str(ui_id),),
            ).fetchone()
            return _page_request(row) if row else None

    def answer(self, ui_id: UUID, answer: Mapping[str, object]) -> bool:
        """Save the answer to a request.

        Returns False if the request is unknown or already has an answer.
        """
        with self._database.use() as connection:
            changed = connection.execute(
                "UPDATE requests SET answer = ? WHERE id = ? AND answer IS NULL",
                (redact(json.dumps(answer)), str(ui_id)),
            )
            return changed.rowcount == 1

    def answer_to(self, ui_id: UUID) -> Mapping[str, object] | None:
        """Return the answer to a request, or None if the request has no answer."""
        with self._database.use() as connection:
            row = connection.execute(
                "SELECT answer FROM requests WHERE id = ?", (str(ui_id),)
            ).fetchone()
            answer: Mapping[str, object] | None = json.loads(row[0]) if row and row[0] else None
            return answer

    def views(self, screen: str | None = None) -> list[SavedView]:
        """Return the saved views of one screen, or of all screens if `screen` is None.

        The views are sorted by screen and name.
        """
        with self._database.use() as connection:
            found = connection.execute(
                "SELECT id, screen, name, query, search, columns, updated_us FROM views"
                " WHERE ?1 IS NULL OR screen = ?1 ORDER BY screen, name",
                (screen,),
            )
            return [_view(row) for row in found]

    def save_view(self, view: SavedView) -> None:
        """Save a view, or replace the view with the same id.

        Raises UsageError if the name is in use.
        """
        with self._database.transaction() as connection:
            name_in_use = connection.execute(
                "SELECT 1 FROM views WHERE screen = ? AND name = ? AND id <> ?",
                (view.screen, view.name, view.id),
            ).fetchone()
            if name_in_use:
                raise UsageError(
                    f"The screen {view.screen} already has a view {view.name!r}.",
                    hint="Choose another name, or change that view.",
                )
            connection.execute(
                "INSERT INTO views VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " screen = excluded.screen, name = excluded.name, query = excluded.query,"
                " search = excluded.search, columns = excluded.columns,"
                " updated_us = excluded.updated_us",
                (view.id, view.screen, redact(view.name), redact(view.query), redact(view.search),
                 json.dumps(view.columns), view.updated_us),
            )  # fmt: skip
            _announce_views(connection)

    def delete_view(self, view_id: str) -> bool:
        """Delete a view. Returns False if it does not exist."""
        with self._database.transaction() as connection:
            deleted = connection.execute("DELETE FROM views WHERE id = ?", (view_id,)).rowcount == 1
            if deleted:
                _announce_views(connection)
            return deleted


def _state(connection: Connection) -> UiState:
    revision, changed_by, location, experiment_id, filters = connection.execute(
        "SELECT revision, changed_by, location, experiment_id, label_filters FROM state"
    ).fetchone()
    collapsed = connection.execute("SELECT span_id FROM collapsed ORDER BY number")
    return UiState(
        revision=revision,
        changed_by=changed_by,
        location=location,
        experiment_id=experiment_id,
        label_filters={View(view): tuple(labels) for view, labels in json.loads(filters).items()},
        collapsed_span_ids=tuple(span_id for (span_id,) in collapsed),
    )


def _write(connection: Connection, before: UiState, change: Change) -> None:
    filters = {**before.label_filters, **change.label_filters}
    experiment = before.experiment_id if change.experiment_id is None else change.experiment_id
    connection.execute(
        "UPDATE state SET location = ?, experiment_id = ?, label_filters = ?",
        (
            before.location if change.location is None else redact(change.location),
            experiment or None,
            redact(json.dumps({view: filters[view] for view in View if filters.get(view)})),
        ),
    )
    connection.executemany(
        "DELETE FROM collapsed WHERE span_id = ?", [(span_id,) for span_id in change.expand]
    )
    connection.executemany(
        "INSERT OR IGNORE INTO collapsed (span_id) VALUES (?)",
        [(span_id,) for span_id in change.collapse],
    )
    connection.execute(
        "DELETE FROM collapsed WHERE number <="
        " (SELECT number FROM collapsed ORDER BY number DESC LIMIT 1 OFFSET ?)",
        (MAX_COLLAPSED,),
    )


def _announce_views(connection: Connection) -> None:
    """Increase the revision, so that pages read the saved views again."""
    connection.execute("UPDATE state SET revision = revision + 1, changed_by = NULL")


def _view(row: tuple[str, str, str, str, str, str, int]) -> SavedView:
    view_id, screen, name, query, search, columns, updated_us = row
    return SavedView(view_id, screen, name, query, search, json.loads(columns), updated_us)


def _page_request(row: tuple[int, str, str, str, str]) -> PageRequest:
    number, ui_id, request_id, page, body = row
    return PageRequest(number, UUID(ui_id), UUID(request_id), page, json.loads(body))
