"""The records of the identity store: projects, users, API keys, invitations and the audit log."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from treadle.database.address import DEFAULT_PROJECT
from treadle.identity.identity import Identity, Limits, Proof, Role, Scope


@dataclass(frozen=True, slots=True)
class Project:
    """A project. Every span, conversation, experiment, key and setting belongs to one project.

    `repository` is the absolute path of the repository that the code tools read. It is None for a
    project without code, and for the default project, which has the repository of the server.
    """

    name: str
    created_us: int
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class User:
    """A person who signs in with a browser. `roles` has the role in each of the user's projects."""

    id: str
    email: str
    created_us: int
    roles: Mapping[str, Role]

    def identity(self, project: str | None) -> Identity | None:
        """Return the identity of a request of the user in a project.

        If `project` is None, the project is `default` if the user has a role there, and otherwise
        the first project of the user. Returns None if the user has no role in the project.
        """
        if project is None:
            project = (
                DEFAULT_PROJECT if DEFAULT_PROJECT in self.roles else min(self.roles, default="")
            )
        role = self.roles.get(project)
        if role is None:
            return None
        return Identity(project, Proof.SESSION, role.scopes, id=self.id, name=self.email, role=role)


@dataclass(frozen=True, slots=True)
class Invitation:
    """An open invitation. The link with its secret is valid once, until `expires_us`."""

    id: str
    email: str
    project: str
    role: Role
    created_us: int
    expires_us: int


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret. The store has only a hash of the secret.

    `prefix` is the beginning of the key, with which a person recognises it.
    """

    id: str
    project: str
    name: str
    prefix: str
    scopes: frozenset[Scope]
    limits: Limits
    created_us: int
    created_by: str
    expires_us: int | None
    last_used_us: int | None
    revoked_us: int | None

    def identity(self) -> Identity:
        """Return the identity of a request with this key."""
        return Identity(
            self.project,
            Proof.KEY,
            self.scopes,
            id=self.id,
            name=self.name,
            limits=self.limits,
        )


@dataclass(frozen=True, slots=True)
class TicketHolder:
    """The sender who requested a download ticket.

    `credential_hash` is the hash of the sender's API key or session. It is empty for the server's
    own user.
    """

    proof: Proof
    project: str
    credential_hash: str = ""


class Action(StrEnum):
    """An action that the audit log records."""

    SIGN_IN = "sign-in"
    SIGN_IN_FAILED = "sign-in failed"
    SIGN_OUT = "sign-out"
    KEY_CREATED = "key created"
    KEY_REVOKED = "key revoked"
    USER_INVITED = "user invited"
    USER_JOINED = "user joined"
    USER_REMOVED = "user removed"
    ROLE_CHANGED = "role changed"
    PROJECT_ADDED = "project added"
    PROJECT_REMOVED = "project removed"
    DELETION = "deletion"
    EXPORT = "export"
    APPROVAL = "approval"
    SETTING_CHANGED = "setting changed"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry of the audit log. It never contains a secret.

    `who` is the name of a user or of a key, and `subject` is what the action changed or read.
    `address` is the network address of the client. It is empty for the command line.
    """

    id: str
    at_us: int
    action: Action
    who: str
    subject: str
    project: str
    address: str
