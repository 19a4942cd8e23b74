"""The identity store of an installation: one database for all projects."""

from typing import Self

from treadle.database import StoreAddress, open_database
from treadle.identity.audit_log import AuditLog
from treadle.identity.key_use import KeyUse
from treadle.identity.keys import ApiKeys
from treadle.identity.projects import Projects
from treadle.identity.schema import SCHEMA
from treadle.identity.sessions import Sessions
from treadle.identity.tickets import Tickets
from treadle.identity.users import Users


class IdentityStore:
    """The projects, users, keys, sessions and the audit log. All methods block.

    The first use creates the store. The methods are thread-safe. They raise StoreError when the
    store fails.
    """

    def __init__(self, address: StoreAddress) -> None:
        self._database = open_database(address, SCHEMA)
        self._exists = False
        self.projects = Projects(self._database)
        self.users = Users(self._database)
        self.sessions = Sessions(self._database)
        self.keys = ApiKeys(self._database)
        self.key_use = KeyUse(self._database)
        self.tickets = Tickets(self._database)
        self.audit = AuditLog(self._database)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store, if it was opened."""
        self._database.close()

    @property
    def exists(self) -> bool:
        """Whether the store has been created. Reading a store that does not exist creates it."""
        if not self._exists:
            self._exists = self._database.exists
        return self._exists

    def has_identities(self, now_us: int) -> bool:
        """Whether anyone but the server's own user can use the installation, or is invited to.

        This is the case if there is a user, a valid key or an open invitation.
        """
        return self.exists and bool(
            self.users.all()
            or self.users.invitations(now_us)
            or any(key.expires_us is None or key.expires_us > now_us for key in self.keys.all())
        )
