"""Opens the identity store for the commands that manage projects, users and keys."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from treadle.app.local_audit import Actor
from treadle.app.stores import Stores
from treadle.identity.records import Action
from treadle.identity.store import IdentityStore

WHO = Actor.COMMAND_LINE.value
"""The name in the audit log of the person who runs commands on the server's machine."""


@contextmanager
def opened_identities() -> Iterator[IdentityStore]:
    """Open the identity store until the context ends. The first use creates the store."""
    with IdentityStore(Stores.of_user().identity) as store:
        yield store


def now_us() -> int:
    """Return microseconds since the Unix epoch."""
    return time.time_ns() // 1_000


def audit(store: IdentityStore, action: Action, subject: str, project: str = "") -> None:
    """Add an entry about a change from the command line to the audit log."""
    store.audit.add(action, who=WHO, subject=subject, project=project, now_us=now_us())
