"""Adds actions of the server's owner to the audit log, if no server carries them out.

The guard of the server adds the actions of requests. A command and the terminal open the stores
themselves, so they add their own actions with `record`.
"""

import logging
import time
from enum import StrEnum

from treadle.app.stores import Stores
from treadle.database.address import DEFAULT_PROJECT
from treadle.errors import StoreError
from treadle.identity.records import Action

_log = logging.getLogger(__name__)


class Actor(StrEnum):
    """The name of the owner in the audit log, by the program that the owner uses."""

    COMMAND_LINE = "command line"
    TERMINAL = "terminal"


def record(
    action: Action, subject: str, actor: Actor = Actor.COMMAND_LINE, project: str = DEFAULT_PROJECT
) -> None:
    """Add an entry, if the installation has an identity store. The call blocks.

    A failure is only logged, because the action is already done.
    """
    from treadle.identity.store import IdentityStore

    try:
        with IdentityStore(Stores.of_user().identity) as store:
            if store.exists:
                now_us = time.time_ns() // 1_000
                store.audit.add(
                    action, who=actor.value, subject=subject, project=project, now_us=now_us
                )
    except StoreError as error:
        _log.error("The audit log has no entry for %s by the %s: %s", subject, actor, error)
