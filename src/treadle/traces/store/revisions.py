"""Assigns revisions, by which live views and examiners find changed spans."""

from treadle.database import Connection


def newest_revision(connection: Connection) -> int:
    """Return the highest revision that was ever assigned."""
    found = connection.execute("SELECT number FROM given WHERE what = 'revision'").fetchone()
    return int(found[0])


def new_revisions(connection: Connection, count: int) -> range:
    """Return `count` revisions that are higher than all earlier ones.

    Call the function in the transaction that stores the revisions.
    """
    first = newest_revision(connection) + 1
    connection.execute("UPDATE given SET number = ? WHERE what = 'revision'", (first + count - 1,))
    return range(first, first + count)
