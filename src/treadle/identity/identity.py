"""The sender of a request: the project of the request, and what the sender may do in it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from treadle.database.address import DEFAULT_PROJECT, PROJECT_NAME
from treadle.errors import UsageError

_PROJECT_NAME = re.compile(PROJECT_NAME, re.ASCII)


class Scope(StrEnum):
    """A kind of request that a sender may be allowed to send."""

    INGEST = "ingest"
    """Sending spans and logs of other programs."""
    GATEWAY = "gateway"
    """Model calls through the gateway."""
    READ = "read"
    """Reading traces, conversations, code and other data."""
    WRITE = "write"
    """Changing data, asking models, approving calls, and reading the settings."""
    ADMIN = "admin"
    """Changing settings and the API keys of providers."""
    METRICS = "metrics"
    """Reading the metrics of the server, which count the work of all projects."""


class Role(StrEnum):
    """What a user may do in a project."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"

    @property
    def scopes(self) -> frozenset[Scope]:
        """The scopes of a user with this role."""
        return _SCOPES[self]


_SCOPES = {
    Role.VIEWER: frozenset({Scope.READ}),
    Role.EDITOR: frozenset({Scope.READ, Scope.WRITE, Scope.GATEWAY, Scope.INGEST}),
    Role.ADMIN: frozenset(Scope) - {Scope.METRICS},
}


class Proof(StrEnum):
    """How a request proved who sent it."""

    LOCAL = "local"
    """A process of the server's own user sent it, or the page of that user."""
    TOKEN = "token"  # noqa: S105  (a kind of proof, not a secret)
    """It contained the token of the server."""
    KEY = "key"
    """It contained an API key."""
    SESSION = "session"
    """A signed-in user sent it from a browser."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an API key. None means no limit."""

    requests_per_minute: int | None = None
    spans_per_minute: int | None = None
    dollars_per_day: float | None = None
    dollars_per_month: float | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Identity:
    """The sender of a request. A request reads and changes the data of `project` alone."""

    project: str
    proof: Proof
    scopes: frozenset[Scope]
    id: str = ""
    """The id of the API key or of the user. It is empty for the server's own user."""
    name: str = ""
    """The name of the API key or the e-mail address of the user, for the audit log."""
    role: Role | None = None
    """The role of the user in the project. It is None for an API key."""
    limits: Limits = NO_LIMITS

    def may(self, scope: Scope) -> bool:
        """Whether the sender may send requests of this kind."""
        return scope in self.scopes

    @property
    def who(self) -> str:
        """The sender in a form for the audit log, such as `key ci` or `user ada@example.com`."""
        match self.proof:
            case Proof.LOCAL:
                return "local user"
            case Proof.TOKEN:
                return "server token"
            case Proof.KEY:
                return f"key {self.name}"
            case Proof.SESSION:
                return f"user {self.name}"


def own_identity(proof: Proof = Proof.LOCAL, project: str = DEFAULT_PROJECT) -> Identity:
    """Return the identity of the server's own user, who is an admin of every project."""
    return Identity(project, proof, frozenset(Scope), role=Role.ADMIN)


def require_project_name(name: str) -> str:
    """Return `name` if it is a valid name of a project. Raises UsageError otherwise."""
    if _PROJECT_NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name[:100]!r} is not a valid name of a project.",
            hint="Use up to 30 characters: lower-case letters, digits and underscores, with a "
            "letter first.",
        )
    return name


def require_scopes(names: Iterable[str]) -> frozenset[Scope]:
    """Return the scopes with these names. Raises UsageError if one is unknown or none is given."""
    given = [name.strip() for name in names if name.strip()]
    known = ", ".join(Scope)
    unknown = [name for name in given if name not in set(Scope)]
    if unknown:
        raise UsageError(f"{unknown[0][:100]!r} is not a scope.", hint=f"The scopes are {known}.")
    if not given:
        raise UsageError("A key needs at least one scope.", hint=f"The scopes are {known}.")
    return frozenset(map(Scope, given))
