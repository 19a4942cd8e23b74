"""Prints a turn while it runs: as text for people, or as JSON lines for programs."""

import argparse
import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol
from uuid import UUID

from treadle.app.application import App
from treadle.app.conversation_answers import Failure, Final
from treadle.cli.output import print_json, report_line
from treadle.cli.terminal import Terminal
from treadle.clock import SystemClock
from treadle.errors import ExitStatus, TreadleError
from treadle.events import EventBus, Subscription, event_json
from treadle.events.types import SessionCancelled, StopReason
from treadle.json_values import to_json
from treadle.session import SessionOutcome

_UNANSWERED = {
    StopReason.UNKNOWN_TOOLS,
    StopReason.INVALID_CALLS,
    StopReason.REPEATED_CALLS,
    StopReason.TOKEN_LIMIT,
    StopReason.COST_LIMIT,
    StopReason.TIME_LIMIT,
}
"""The stop reasons of turns without an answer. They make the exit status nonzero."""


class TurnOutput(Protocol):
    """An output that shows one turn while it runs, and then its outcome."""

    def answering(self, app: App) -> AbstractContextManager[None]: ...

    async def follow(self, events: Subscription) -> None: ...

    def finish(self, outcome: SessionOutcome, trace_id: str) -> None: ...

    def fail(self, error: TreadleError) -> None: ...


def output_for(options: argparse.Namespace, *, answer_at_once: bool = True) -> TurnOutput:
    """Return the output that the options select.

    Without `answer_at_once`, a terminal shows the answer only when it is complete.
    """
    if options.json:
        return JsonLines()
    return Terminal(SystemClock(), answer_at_once=answer_at_once)


def exit_status(
    output: TurnOutput, ask: Callable[[TurnOutput], Coroutine[Any, Any, SessionOutcome]]
) -> int:
    """Run `ask`, and return the exit status for its outcome."""
    try:
        outcome = asyncio.run(ask(output))
    except TreadleError as error:
        output.fail(error)
        raise
    return ExitStatus.FAILED if outcome.stop_reason in _UNANSWERED else ExitStatus.DONE


async def show_turn(
    run: Coroutine[Any, Any, tuple[SessionOutcome, list[str]]],
    output: TurnOutput,
    bus: EventBus,
    request_id: UUID,
    *,
    all_requests: bool = False,
) -> SessionOutcome:
    """Show the events of a turn while it runs, and then its outcome.

    `run` is the coroutine of the turn. It returns the outcome, and warnings about data that could
    not be saved or recorded. With `all_requests`, the output also shows events of other requests on
    the bus.
    """
    events = bus.subscribe() if all_requests else bus.subscribe(request_id=request_id)
    running = asyncio.create_task(run)
    following = asyncio.create_task(output.follow(events))
    # If standard output is closed, `follow` ends with an error, and the turn is cancelled.
    following.add_done_callback(lambda _: running.cancel())
    try:
        outcome, warnings = await running
    finally:
        events.close()
        await following
    for text in warnings:
        report_line(f"! {text}")
    output.finish(outcome, request_id.hex)
    return outcome


class JsonLines:
    """Prints each event as a line of JSON on standard output, and then a line of type `final`."""

    @contextmanager
    def answering(self, _app: App) -> Iterator[None]:
        """Ask no questions, so calls that need an approval are refused."""
        yield

    async def follow(self, events: Subscription) -> None:
        """Print every event until the subscription is closed."""
        async for envelope in events:
            print_json(event_json(envelope))
            match envelope.event:
                case SessionCancelled(parent_id=None, usage=usage, cost=cost):
                    _print_final(Final(usage=usage, cost=cost, stop_reason=StopReason.CANCELLED))
                case _:
                    pass

    def finish(self, outcome: SessionOutcome, trace_id: str) -> None:
        """Print the last line of a completed request."""
        _print_final(Final.of(outcome, trace_id))

    def fail(self, error: TreadleError) -> None:
        """Print the last line of a request that failed."""
        _print_final(Final(stop_reason=StopReason.FAILED, error=Failure.of(error)))


def _print_final(final: Final) -> None:
    print_json(to_json(final))
