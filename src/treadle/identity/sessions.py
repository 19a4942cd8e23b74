"""The browser sessions of signed-in users."""

from treadle.database import Database
from treadle.identity.identity import DEFAULT_PROJECT, Identity, Proof, Role
from treadle.identity.secret_values import new_secret, stored_hash

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

    def resolve(self, hashed: str, project: str | None, now_us: int) -> Identity | None:
        """Return the identity of the session with this hash, or None.

        `project` is the project that the request names. Without one, the project is `default` if
        the user has a role there, and otherwise the first project of the user. The result is None
        if the session has ended or the user has no role in the project.
        """
        with self._database.use() as connection:
            rows = connection.execute(
                "SELECT users.id, users.email, memberships.project, memberships.role,"
                " sessions.used_us"
                " FROM sessions JOIN users ON users.id = sessions.user_id"
                " JOIN memberships ON memberships.user_id = users.id"
                " WHERE sessions.hash = ? AND sessions.expires_us > ? AND sessions.used_us > ?"
                " ORDER BY memberships.project",
                (hashed, now_us, now_us - IDLE_SECONDS * 1_000_000),
            ).fetchall()
            if rows and rows[0][4] <= now_us - USE_SECONDS * 1_000_000:
                connection.execute(
                    "UPDATE sessions SET used_us = ? WHERE hash = ?", (now_us, hashed)
                )
        by_project = {row[2]: row for row in rows}
        if project is None:
            row = by_project.get(DEFAULT_PROJECT) or next(iter(rows), None)
        else:
            row = by_project.get(project)
        if row is None:
            return None
        user_id, email, found, role, _ = row
        role = Role(role)
        return Identity(found, Proof.SESSION, role.scopes, id=user_id, name=email, role=role)

    def end(self, secret: str) -> None:
        """End a session. Has no effect if it has ended."""
        with self._database.use() as connection:
            connection.execute("DELETE FROM sessions WHERE hash = ?", (stored_hash(secret),))
