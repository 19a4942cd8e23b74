"""Finds the owner of an API key or a browser session, and remembers the owner for a moment."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from treadle.clock import Clock
from treadle.database.address import DEFAULT_PROJECT
from treadle.errors import NotFoundError
from treadle.identity.identity import Identity, Proof
from treadle.identity.records import Action, ApiKey, Invitation, User
from treadle.identity.secret_values import KEY_PREFIX, shown_prefix, stored_hash
from treadle.identity.store import IdentityStore
from treadle.identity.users import invalid_invitation
from treadle.server.failed_attempts import FailedAttempts
from treadle.server.refusals import Refusal, RefusedError

CACHE_SECONDS = 2.0
"""The seconds for which a valid key or session is accepted without reading the store again.

After this time at the latest, each server refuses a revoked key.
"""
INVALID_SECONDS = 60.0
"""The seconds for which an invalid key or session is refused without reading the store again."""
_MOST_CREDENTIALS = 10_000

Owner = ApiKey | User
T = TypeVar("T")


class CredentialKind(StrEnum):
    """A kind of secret in the identity store."""

    KEY = "API key"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Credential:
    """The hash of a secret that a request contains, and the kind of the secret."""

    kind: CredentialKind
    hashed: str
    shown: str = field(compare=False)
    """The beginning of an API key, for the audit log. It is empty for other secrets."""

    @classmethod
    def of(cls, kind: CredentialKind, secret: str) -> "Credential":
        """Return the credential of a secret."""
        shown = f"{shown_prefix(secret)}…" if secret.startswith(KEY_PREFIX) else ""
        return cls(kind, stored_hash(secret), shown)


class Identities:
    """The owners of credentials. All methods must be called in the event loop.

    The methods raise StoreError if the store fails. They read nothing while the installation has no
    identity store.
    """

    def __init__(self, store: IdentityStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._failures = FailedAttempts(clock)
        self._cached: OrderedDict[Credential, tuple[float, Owner]] = OrderedDict()
        self._invalid: OrderedDict[Credential, float] = OrderedDict()
        """The end of the time for which a credential counts as invalid.

        A client that repeats the same wrong key does not guess keys. Therefore only its first
        attempt in this time counts as a failure.
        """
        self._known: OrderedDict[Credential, None] = OrderedDict()
        """Credentials that were valid at some time.

        The limit of failed attempts does not apply to them. A client with wrong keys therefore
        cannot lock out other clients with its address, for example those behind the same proxy.
        """

    async def owner(self, credential: Credential, address: str) -> Owner | None:
        """Return the owner of a credential, or None if it is unknown, expired or revoked.

        Raises RefusedError after too many wrong API keys from `address`.
        """
        now = self._clock.monotonic()
        expires, owner = self._cached.get(credential, (0.0, None))
        if owner is not None and now < expires:
            return owner
        if now < self._invalid.get(credential, 0.0):
            return None
        is_key = credential.kind is CredentialKind.KEY
        if is_key and credential not in self._known:
            self.check_attempts(address)
        owner = await self.current_owner(credential)
        if owner is None:
            _add(self._invalid, credential, now + INVALID_SECONDS)
            if is_key:
                await self.record_failure(f"{credential.kind} {credential.shown}".rstrip(), address)
        return owner

    async def current_owner(self, credential: Credential) -> Owner | None:
        """Read the owner of a credential from the store. Returns None if there is none."""
        owner = await asyncio.to_thread(self._look_up, credential)
        self._cached.pop(credential, None)
        if owner is not None:
            _add(self._cached, credential, (self._clock.monotonic() + CACHE_SECONDS, owner))
            _add(self._known, credential, None)
        return owner

    def check_attempts(self, address: str) -> None:
        """Raise RefusedError after too many failed attempts from an address."""
        seconds = self._failures.seconds_left(address)
        if seconds is not None:
            raise RefusedError(
                Refusal(
                    429,
                    "Too many requests from your address contained invalid keys.",
                    f"Check the key, and try again in {seconds} s.",
                    seconds,
                )
            )

    async def record_failure(self, subject: str, address: str) -> None:
        """Count a failed attempt, and add it to the audit log."""
        self._failures.add(address)
        await self.record(Action.SIGN_IN_FAILED, "unknown", subject, "", address)

    async def has_project(self, name: str) -> bool:
        """Whether a project with this name exists."""
        return name == DEFAULT_PROJECT or await asyncio.to_thread(
            lambda: self._store.exists and self._store.projects.exists(name)
        )

    async def projects_of(self, identity: Identity) -> list[str]:
        """Return the projects that the sender of a request may use, sorted by name."""

        def read() -> list[str]:
            if identity.proof is Proof.KEY or not self._store.exists:
                return [identity.project]
            if identity.proof is Proof.SESSION:
                user = self._store.users.find(identity.name)
                return sorted(user.roles) if user else []
            return [project.name for project in self._store.projects.all()]

        return await asyncio.to_thread(read)

    async def record(
        self, action: Action, who: str, subject: str, project: str, address: str
    ) -> None:
        """Add an entry to the audit log, if the installation has an identity store."""

        def add() -> None:
            if self._store.exists:
                self._store.audit.add(
                    action,
                    who=who,
                    subject=subject,
                    project=project,
                    address=address,
                    now_us=self._clock.now_us(),
                )

        await asyncio.to_thread(add)

    async def accept_invitation(self, secret: str, address: str) -> str:
        """Use up an invitation, sign its user in, and return the secret of the new session.

        Raises NotFoundError if the invitation is not valid, and RefusedError after too many
        failed attempts from `address`.
        """
        self.check_attempts(address)

        def accept() -> tuple[User, Invitation]:
            if not self._store.exists:
                raise invalid_invitation()
            return self._store.users.accept_invitation(secret, self._clock.now_us())

        try:
            user, invitation = await asyncio.to_thread(accept)
        except NotFoundError:
            await self.record_failure("invitation", address)
            raise
        await self._record_joining(user, invitation, address)
        return await self.create_session(user, address, "invitation")

    async def sign_in(self, email: str, address: str) -> str | None:
        """Sign in the person with a verified e-mail address, and use up the person's invitations.

        Returns the secret of the new session, or None if nobody has invited the person.
        """

        def join() -> tuple[User | None, list[Invitation]]:
            if not self._store.exists:
                return None, []
            return self._store.users.join(email, self._clock.now_us())

        user, invitations = await asyncio.to_thread(join)
        if user is None:
            await self.record(Action.SIGN_IN_FAILED, "unknown", f"user {email}", "", address)
            return None
        for each in invitations:
            await self._record_joining(user, each, address)
        return await self.create_session(user, address, "sign-in provider")

    async def _record_joining(self, user: User, invitation: Invitation, address: str) -> None:
        subject = f"{user.email} as {invitation.role}"
        who, project = f"user {user.email}", invitation.project
        await self.record(Action.USER_JOINED, who, subject, project, address)

    async def create_session(self, user: User, address: str, subject: str) -> str:
        """Sign a user in, and return the secret of the new session.

        `subject` states for the audit log how the user proved the identity.
        """

        def create() -> str:
            return self._store.sessions.create(user.id, self._clock.now_us())

        session = await asyncio.to_thread(create)
        await self.record(Action.SIGN_IN, f"user {user.email}", subject, "", address)
        return session

    async def end_session(self, secret: str, identity: Identity, address: str) -> None:
        """Sign a user out."""
        self._cached.pop(Credential.of(CredentialKind.SESSION, secret), None)
        await asyncio.to_thread(self._store.sessions.end, secret)
        await self.record(Action.SIGN_OUT, identity.who, "", "", address)

    def _look_up(self, credential: Credential) -> Owner | None:
        if not self._store.exists:
            return None
        look_up: Callable[[str, int], Owner | None] = {
            CredentialKind.KEY: self._store.keys.valid,
            CredentialKind.SESSION: self._store.sessions.valid,
        }[credential.kind]
        return look_up(credential.hashed, self._clock.now_us())


def _add(entries: "OrderedDict[Credential, T]", credential: Credential, entry: T) -> None:
    """Add or replace an entry, and forget the oldest one if there are too many."""
    entries[credential] = entry
    entries.move_to_end(credential)
    if len(entries) > _MOST_CREDENTIALS:
        entries.popitem(last=False)
