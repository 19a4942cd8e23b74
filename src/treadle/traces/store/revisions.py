"""Assigns revisions, by which live views and examiners find changed spans."""

from collections.abc import Callable

from treadle.database import Connection

_NEWEST = "SELECT number FROM given WHERE what = 'revision'"
_ASSIGN = "UPDATE given SET number = number + ? WHERE what = 'revision' RETURNING number"


def newest_revision(connection: Connection) -> int:
    """Return the highest revision that was ever assigned."""
    return request_newest_revision(connection)()


def request_newest_revision(connection: Connection) -> Callable[[], int]:
    """Read the highest revision that was ever assigned. The result is a function that returns it.

    Call it at once or after the end of the transaction. `statements.request` states the reason.
    """
    rows = connection.execute(_NEWEST)
    return lambda: int(rows.fetchone()[0])


def new_revisions(connection: Connection, count: int) -> range:
    """Return `count` revisions that are higher than all earlier ones.

    Call the function in the transaction that stores the revisions.
    """
    return request_revisions(connection, count)()


def request_revisions(connection: Connection, count: int) -> Callable[[], range]:
    """Assign revisions as `new_revisions` does. The result is a function that returns them.

    Call it once, before the end of the transaction. `statements.request` states the reason.
    """
    rows = connection.execute(_ASSIGN, (count,))

    def read() -> range:
        (last,) = rows.fetchone()
        return range(last - count + 1, last + 1)

    return read
