"""Finds calls that come back to the gateway that sent them: a provider may lead to itself.

Every request to a provider carries a random name of this gateway, behind those of the gateways that
it came through. Nothing else can be read from it.
"""

import secrets
from collections.abc import Iterable
from contextvars import ContextVar

from treadle.gateway.refusals import RefusalError

HEADER = "x-treadle-hop"
_MOST = 8
"""Gateways on the way of a call: more of them are a loop that is not seen as one."""

_before: ContextVar[str] = ContextVar("before", default="")
"""The names that came with the call that this task answers."""


class Hops:
    """The way of calls through this gateway."""

    def __init__(self) -> None:
        self.own = secrets.token_hex(8)

    def onward(self) -> tuple[str, str]:
        """The header for the requests that the call being answered here leads to."""
        before = _before.get()
        return HEADER, f"{before}, {self.own}" if before else self.own

    def check(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Raise RefusalError for a call that was here before."""
        values = b",".join(value for name, value in headers if name == HEADER.encode())
        _before.set(values.decode("latin-1"))
        if not values:
            return
        passed = [name.strip() for name in values.decode("latin-1").split(",")]
        if self.own in passed or len(passed) > _MOST:
            raise RefusalError(
                "The call returned to this gateway: a provider's address points to it.",
                hint=(
                    "Correct the base_url of that provider; `treadle config show` lists the "
                    "providers."
                ),
                status=508,
                code="loop_detected",
                headers={"x-should-retry": "false"},
            )
