"""The browser sessions of signed-in users."""

from treadle.database import Database
from treadle.identity.records import User
from treadle.identity.secret_values import new_secret, stored_hash
from treadle.identity.users import user_by_id

SESSION_SECONDS = 7 * 86_400
"""The seconds after which a session ends, even if it is in use."""
IDLE_SECONDS = 86_400
"""The seconds without a request after which a session ends."""
USE_SECONDS = 60
"""The minimum number of seconds between two updates of the time of the last use."""


class Sessions:
    """The sessions in the identity store. All methods block, and raise StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, user_id: str, now_us: int) -> str:
        """Create a session, and return its secret for the cookie. The secret is not stored."""
        secret = new_secret()
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM sessions WHERE expires_us <= ?", (now_us,))
            connection.execute(
                "INSERT INTO sessions (hash, user_id, created_us, expires_us, used_us)"
                " VALUES (?, ?, ?, ?, ?)",
                (stored_hash(secret), user_id, now_us, now_us + SESSION_SECONDS * 1_000_000,
                 now_us),
            )  # fmt: skip
        return secret

    def valid(self, hashed: str, now_us: int) -> User | None:
        """Return the user of the session with this hash, and note the use of the session.

        Returns None if the session has ended or its user was removed.
        """
        with self._database.use() as connection:
            row = connection.execute(
                "SELECT user_id, used_us FROM sessions"
                " WHERE hash = ? AND expires_us > ? AND used_us > ?",
                (hashed, now_us, now_us - IDLE_SECONDS * 1_000_000),
            ).fetchone()
            if row is None:
                return None
            user_id, used_us = row
            if used_us <= now_us - USE_SECONDS * 1_000_000:
                connection.execute(
                    "UPDATE sessions SET used_us = ? WHERE hash = ?", (now_us, hashed)
                )
            return user_by_id(connection, user_id)

    def end(self, secret: str) -> None:
        """End a session. Has no effect if it has ended."""
        with self._database.use() as connection:
            connection.execute("DELETE FROM sessions WHERE hash = ?", (stored_hash(secret),))
