"""The users of an installation, their roles, and the invitations of new users."""

from collections import defaultdict
from collections.abc import Sequence

from treadle.database import Connection, Database
from treadle.errors import NotFoundError, UsageError
from treadle.identity.identity import Role
from treadle.identity.records import Invitation, User
from treadle.identity.secret_values import new_secret, stored_hash
from treadle.ids import new_id

_MAX_EMAIL = 254


class Users:
    """The users in the identity store. All methods block, and raise StoreError on failure."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[User]:
        """Return all users, sorted by e-mail address."""
        with self._database.use() as connection:
            return _users(connection, "", ())

    def find(self, email: str) -> User | None:
        """Return the user with this e-mail address, or None."""
        with self._database.use() as connection:
            return _find(connection, _normalized(email))

    def require(self, email: str) -> User:
        """Return the user with this e-mail address. Raises NotFoundError if there is none."""
        found = self.find(email)
        if found is None:
            raise NotFoundError(
                f"There is no user {email[:100]!r}.",
                hint="`treadle users list` shows the users, `treadle users invite` invites one.",
            )
        return found

    def invite(
        self, email: str, project: str, role: Role, *, now_us: int, microseconds: int
    ) -> tuple[Invitation, str]:
        """Create an invitation. Returns the invitation and its secret. The secret is not stored.

        Earlier invitations of this user to this project become invalid. Raises UsageError if the
        e-mail address is invalid.
        """
        secret = new_secret()
        invitation = Invitation(
            str(new_id()),
            _require_email(email),
            project,
            role,
            now_us,
            now_us + microseconds,
        )
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM invitations WHERE expires_us <= ? OR (email = ? AND project = ?)",
                (now_us, invitation.email, project),
            )
            connection.execute(
                "INSERT INTO invitations"
                " (id, hash, email, project, role, created_us, expires_us)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (invitation.id, stored_hash(secret), invitation.email, project, role.value,
                 invitation.created_us, invitation.expires_us),
            )  # fmt: skip
        return invitation, secret

    def invitations(self, now_us: int) -> list[Invitation]:
        """Return the invitations that are still valid, oldest first."""
        with self._database.use() as connection:
            rows = connection.execute(
                "SELECT id, email, project, role, created_us, expires_us FROM invitations"
                " WHERE expires_us > ? ORDER BY id",
                (now_us,),
            )
            return [_invitation(row) for row in rows]

    def join(self, email: str, now_us: int) -> tuple[User | None, list[Invitation]]:
        """Use up all invitations of a person with a verified e-mail address.

        Returns the user with this address, or None if no user has it. Also returns the invitations
        that were used up.
        """
        with self._database.transaction() as connection:
            rows = connection.execute(
                "DELETE FROM invitations WHERE email = ? AND expires_us > ?"
                " RETURNING id, email, project, role, created_us, expires_us",
                (_normalized(email), now_us),
            ).fetchall()
            invitations = [_invitation(row) for row in rows]
            for each in invitations:
                _set_role(connection, each.email, each.project, each.role, now_us)
            return _find(connection, _normalized(email)), invitations

    def accept_invitation(self, secret: str, now_us: int) -> tuple[User, Invitation]:
        """Use up an invitation, and return its user with the role of the invitation.

        Creates the user if no user has the e-mail address. Raises NotFoundError if the invitation
        does not exist, has expired or has been used.
        """
        with self._database.transaction() as connection:
            row = connection.execute(
                "DELETE FROM invitations WHERE hash = ? AND expires_us > ?"
                " RETURNING id, email, project, role, created_us, expires_us",
                (stored_hash(secret), now_us),
            ).fetchone()
            if row is None:
                raise invalid_invitation()
            invitation = _invitation(row)
            _set_role(connection, invitation.email, invitation.project, invitation.role, now_us)
            user = _find(connection, invitation.email)
            assert user is not None
            return user, invitation

    def set_role(self, email: str, project: str, role: Role) -> User:
        """Give a user a role in a project. Raises NotFoundError if the user does not exist."""
        user = self.require(email)
        with self._database.transaction() as connection:
            _set_role(connection, user.email, project, role, user.created_us)
        return self.require(email)

    def remove(self, email: str, project: str | None = None) -> User:
        """Remove a user, or only the role of a user in a project. Returns the former user.

        The sessions of a removed user end. Raises NotFoundError if the user or the role does not
        exist.
        """
        user = self.require(email)
        if project is not None and project not in user.roles:
            raise NotFoundError(
                f"The user {user.email} has no role in the project {project[:100]!r}.",
                hint="`treadle users list` shows the roles.",
            )
        with self._database.transaction() as connection:
            if project is None:
                connection.execute("DELETE FROM users WHERE id = ?", (user.id,))
                connection.execute("DELETE FROM invitations WHERE email = ?", (user.email,))
            else:
                connection.execute(
                    "DELETE FROM memberships WHERE user_id = ? AND project = ?",
                    (user.id, project),
                )
                connection.execute(
                    "DELETE FROM invitations WHERE email = ? AND project = ?",
                    (user.email, project),
                )
        return user


def invalid_invitation() -> NotFoundError:
    """Return the error for an invitation that nobody can accept."""
    return NotFoundError(
        "This invitation is not valid: it was used, replaced or has expired.",
        hint="Ask for a new link: `treadle users invite` prints one.",
    )


def _require_email(email: str) -> str:
    text = _normalized(email)
    name, at, domain = text.partition("@")
    valid = name and at and domain and "@" not in domain and len(text) <= _MAX_EMAIL
    if not valid or not text.isprintable() or " " in text:
        raise UsageError(f"{email[:100]!r} is not an e-mail address.", hint="Use name@example.com.")
    return text


def _normalized(email: str) -> str:
    return email.strip().lower()


def _set_role(connection: Connection, email: str, project: str, role: Role, now_us: int) -> None:
    connection.execute(
        "INSERT INTO users (id, email, created_us) VALUES (?, ?, ?) ON CONFLICT (email) DO NOTHING",
        (str(new_id()), email, now_us),
    )
    connection.execute(
        "INSERT INTO memberships (user_id, project, role)"
        " SELECT users.id, ?, ? FROM users WHERE users.email = ?"
        " ON CONFLICT (user_id, project) DO UPDATE SET role = excluded.role",
        (project, role.value, email),
    )


def user_by_id(connection: Connection, user_id: str) -> User | None:
    """Return the user with an id, or None."""
    return next(iter(_users(connection, "WHERE users.id = ?", (user_id,))), None)


def _find(connection: Connection, email: str) -> User | None:
    return next(iter(_users(connection, "WHERE users.email = ?", (email,))), None)


def _users(connection: Connection, condition: str, values: Sequence[object]) -> list[User]:
    rows = connection.execute(
        "SELECT users.id, users.email, users.created_us, memberships.project, memberships.role"  # noqa: S608  (constants)
        " FROM users LEFT JOIN memberships ON memberships.user_id = users.id"
        f" {condition} ORDER BY users.email, memberships.project",
        values,
    )
    users: dict[str, tuple[str, int]] = {}
    roles: dict[str, dict[str, Role]] = defaultdict(dict)
    for user_id, email, created_us, project, role in rows:
        users[user_id] = email, created_us
        if project is not None:
            roles[user_id][project] = Role(role)
    return [User(user_id, *rest, roles[user_id]) for user_id, rest in users.items()]


def _invitation(row: tuple[str, str, str, str, int, int]) -> Invitation:
    invitation_id, email, project, role, created_us, expires_us = row
    return Invitation(invitation_id, email, project, Role(role), created_us, expires_us)
