"""`treadle ask`: answer a question about a repository."""

import argparse
import asyncio
import os
import sys
from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

from treadle.app.assistant import Assistant, Choices
from treadle.cli.command import Command, repository
from treadle.cli.json_lines import JsonLines
from treadle.cli.output import tell
from treadle.cli.terminal import Terminal
from treadle.clock import SystemClock
from treadle.config.loader import load
from treadle.errors import ExitStatus, TreadleError, UsageError
from treadle.events import EventBus, Subscription
from treadle.events.types import StopReason
from treadle.ids import new_id
from treadle.session import SessionOutcome
from treadle.tools.approvals import Approvals

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
    """Shows one request while it runs, and what came of it."""

    def answering(self, approvals: Approvals) -> AbstractContextManager[None]: ...

    async def follow(self, events: Subscription) -> None: ...

    def finish(self, outcome: SessionOutcome, trace_id: str) -> None: ...

    def fail(self, error: TreadleError) -> None: ...


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the question and how it is to be served."""
    parser.add_argument("question", help="the question; `-` reads it from standard input")
    parser.add_argument(
        "--session", metavar="ID", help="go on with a saved conversation: an id, a prefix or `last`"
    )
    add_serving_options(parser)


def add_serving_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a model is asked."""
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="the model to ask")
    parser.add_argument("--no-tools", action="store_true", help="offer the model no tools")
    parser.add_argument("--no-stream", action="store_true", help="wait for whole replies")


def run(options: argparse.Namespace) -> int:
    """Ask, show what happens, and give the exit status."""
    return serve(options, options.question, options.session)


def serve(options: argparse.Namespace, question: str, session: str | None) -> int:
    """Ask `question` (`-`: what standard input holds) in that conversation, or in a new one."""
    text = sys.stdin.read() if question == "-" else question
    if not text.strip():
        raise UsageError("The question is empty.", hint='Write it behind: `treadle ask "…"`.')
    screen: Screen = JsonLines() if options.json else Terminal(SystemClock())
    try:
        outcome = asyncio.run(_ask(options, text, session, screen))
    except TreadleError as error:
        screen.fail(error)
        raise
    return ExitStatus.FAILED if outcome.stop_reason in _UNANSWERED else ExitStatus.DONE


async def _ask(
    options: argparse.Namespace, question: str, reference: str | None, screen: Screen
) -> SessionOutcome:
    bus, request_id = EventBus(), new_id()
    events = bus.subscribe(request_id=request_id)
    running = asyncio.create_task(
        _run(options, question, reference, screen=screen, bus=bus, request_id=request_id)
    )
    following = asyncio.create_task(screen.follow(events))
    # When the reader of standard output goes away, nobody is left to work for.
    following.add_done_callback(lambda _: running.cancel())
    try:
        outcome, missing = await running
    finally:
        events.close()
        await following
    for text in missing:
        tell(f"! {text}")
    screen.finish(outcome, request_id.hex)
    return outcome


async def _run(
    options: argparse.Namespace,
    question: str,
    reference: str | None,
    *,
    screen: Screen,
    bus: EventBus,
    request_id: UUID,
) -> tuple[SessionOutcome, list[str]]:
    """What came of the question, and what could not be saved or recorded of it."""
    root = repository(options)
    loaded = load(root, os.environ, {"model": options.model})
    for warning in loaded.warnings:
        tell(f"! {warning}")
    opening = Assistant.open(
        root,
        loaded.settings,
        os.environ,
        bus=bus,
        request_id=request_id,
        choices=Choices(options.model, tools=not options.no_tools, stream=not options.no_stream),
    )
    async with opening as assistant:
        session = assistant.session(await assistant.conversation(reference), request_id)
        with screen.answering(assistant.calls.approvals):
            outcome = await session.run(question)
    return outcome, assistant.missing


COMMAND = Command("Answer a question about a repository, with its code at hand.", configure, run)
