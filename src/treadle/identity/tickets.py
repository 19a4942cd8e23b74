"""Download tickets in the identity store, so that every server of an installation accepts them."""

from treadle.database import Database
from treadle.identity.identity import Proof
from treadle.identity.records import TicketHolder

_MOST_OF_A_HOLDER = 100
_HELD = "proof = ? AND project = ? AND credential = ?"


class Tickets:
    """The tickets that no request has used. All methods block, and raise StoreError on failure.

    A ticket is identified by a hash of its secret and its target.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, hashed: str, holder: TicketHolder, *, now_us: int, expires_us: int) -> None:
        """Add a ticket. Deletes expired tickets, and the oldest ones of a holder with too many."""
        owner = (holder.proof.value, holder.project, holder.credential_hash)
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM tickets WHERE expires_us <= ?", (now_us,))
            connection.execute(
                f"DELETE FROM tickets WHERE {_HELD} AND hash NOT IN (SELECT hash FROM tickets"  # noqa: S608  (constants)
                f" WHERE {_HELD} ORDER BY expires_us DESC, hash LIMIT ?)",
                (*owner, *owner, _MOST_OF_A_HOLDER - 1),
            )
            connection.execute(
                "INSERT INTO tickets (hash, proof, project, credential, expires_us)"
                " VALUES (?, ?, ?, ?, ?)",
                (hashed, *owner, expires_us),
            )

    def take(self, hashed: str, now_us: int) -> TicketHolder | None:
        """Delete a ticket, and return its holder. Returns None if it is not valid.

        If several servers take a ticket at the same time, only one of them gets the holder.
        """
        with self._database.use() as connection:  # an unknown ticket must not wait for a lock
            known = connection.execute("SELECT 1 FROM tickets WHERE hash = ?", (hashed,)).fetchone()
        if known is None:
            return None
        with self._database.transaction() as connection:
            row = connection.execute(
                "DELETE FROM tickets WHERE hash = ? AND expires_us > ?"
                " RETURNING proof, project, credential",
                (hashed, now_us),
            ).fetchone()
        return None if row is None else TicketHolder(Proof(row[0]), row[1], row[2])
