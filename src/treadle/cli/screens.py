"""What a request is shown on while it runs: a terminal for people, JSON lines for programs."""

import argparse
import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any, Protocol
from uuid import UUID

from treadle.app.application import App
from treadle.cli.json_lines import JsonLines
from treadle.cli.output import tell_line
from treadle.cli.terminal import Terminal
from treadle.clock import SystemClock
from treadle.errors import ExitStatus, TreadleError
from treadle.events import EventBus, Subscription
from treadle.events.types import StopReason
from treadle.session import SessionOutcome

_UNANSWERED = {
    StopReason.UNKNOWN_TOOLS,
    StopReason.INVALID_CALLS,
    StopReason.REPEATED_CALLS,
    StopReason.TOKEN_LIMIT,
    StopReason.COST_LIMIT,
    StopReason.TIME_LIMIT,
}
"""Ends without an answer: the exit status says so."""


class Screen(Protocol):
    """Shows one request while it runs, and its outcome."""

    def answering(self, app: App) -> AbstractContextManager[None]: ...

    async def follow(self, events: Subscription) -> None: ...

    def finish(self, outcome: SessionOutcome, trace_id: str) -> None: ...

    def fail(self, error: TreadleError) -> None: ...


def screen_for(options: argparse.Namespace, *, answer_at_once: bool = True) -> Screen:
    """The screen that the options ask for.

    Without `answer_at_once` a terminal shows the answer when it is whole, not as a model writes.
    """
    if options.json:
        return JsonLines()
    return Terminal(SystemClock(), answer_at_once=answer_at_once)


def exit_status(
    screen: Screen, ask: Callable[[Screen], Coroutine[Any, Any, SessionOutcome]]
) -> int:
    """Run `ask` and return the exit status of its outcome."""
    try:
        outcome = asyncio.run(ask(screen))
    except TreadleError as error:
        screen.fail(error)
        raise
    return ExitStatus.FAILED if outcome.stop_reason in _UNANSWERED else ExitStatus.DONE


async def shown(
    run: Coroutine[Any, Any, tuple[SessionOutcome, list[str]]],
    screen: Screen,
    bus: EventBus,
    request_id: UUID,
    *,
    others: bool = False,
) -> SessionOutcome:
    """The result of `run`, with its events on the screen; with `others` all that are on the bus.

    `run` gives the outcome, and what could not be saved or recorded of it.
    """
    events = bus.subscribe() if others else bus.subscribe(request_id=request_id)
    running = asyncio.create_task(run)
    following = asyncio.create_task(screen.follow(events))
    # When the reader of standard output goes away, nobody is left to work for.
    following.add_done_callback(lambda _: running.cancel())
    try:
        outcome, missing = await running
    finally:
        events.close()
        await following
    for text in missing:
        tell_line(f"! {text}")
    screen.finish(outcome, request_id.hex)
    return outcome
