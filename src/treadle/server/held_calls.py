"""The JSON of held calls, and decisions about them. Clients and other servers use it."""

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from treadle.gateway.breakpoint_store import Held, HeldState
from treadle.gateway.breakpoints import Breakpoints

ShownText = Annotated[str, BeforeValidator(lambda text: text.encode("utf-8", "replace").decode())]
"""Text of a recorded call. Lone surrogates in it are replaced."""


class HeldSummary(BaseModel):
    """A call that waits or has waited at a breakpoint, without its body.

    `at_us`, `expires_us` and `decided_us` are Unix microseconds. `decided_us` is null while the
    call waits.
    """

    model_config = ConfigDict(from_attributes=True)

    id: str
    breakpoint_id: str
    state: HeldState
    operation: str
    model: ShownText
    at_us: int
    expires_us: int
    on_expiry: Literal["continue", "refuse"]
    trace_id: str
    thread_id: ShownText | None
    run_id: ShownText | None
    labels: tuple[ShownText, ...]
    decided_us: int | None
    reason: ShownText | None


class HeldCall(HeldSummary):
    """A held call with its body.

    While the call waits, `body` is the body that would be sent. After the decision, `body` contains
    no secrets.
    """

    body: str


class HeldDecision(BaseModel):
    """What a person decides about a held call: it continues, or it is refused.

    `content` replaces the body of a call that continues, unless it is null. The client of a refused
    call receives the `reason`.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    refuse: bool = False
    content: bytes | None = None
    reason: str | None = None


def held_call(held: Held) -> HeldCall:
    """Return a held call with its body in its JSON form."""
    shown = held.body.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return HeldCall.model_validate(replace(held, body=shown))


async def decide(breakpoints: Breakpoints, held_id: str, decision: HeldDecision) -> HeldSummary:
    """Carry out a decision about a call that waits at this server.

    Raises the errors of `Breakpoints.go_on` and `Breakpoints.refuse`.
    """
    if decision.refuse:
        held = await breakpoints.refuse(held_id, decision.reason)
    else:
        held = await breakpoints.go_on(held_id, decision.content)
    return HeldSummary.model_validate(held)
