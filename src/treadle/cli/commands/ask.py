"""`treadle ask`: answer a question about a repository."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from treadle.app.assistant import Assistant, Choices
from treadle.app.tool_calls import ToolCalls
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
from treadle.session.cassette import Cassette
from treadle.session.recording import SessionRecording
from treadle.session.replay import replaying, still_clock

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

    def answering(self, calls: ToolCalls) -> AbstractContextManager[None]: ...

    async def follow(self, events: Subscription) -> None: ...

    def finish(self, outcome: SessionOutcome, trace_id: str) -> None: ...

    def fail(self, error: TreadleError) -> None: ...


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the question and how it is to be served."""
    parser.add_argument(
        "question", nargs="?", help="the question; `-` reads it from standard input"
    )
    parser.add_argument(
        "--session", metavar="ID", help="go on with a saved conversation: an id, a prefix or `last`"
    )
    parser.add_argument(
        "--at",
        metavar="MESSAGE",
        type=int,
        help="with --session: go on from that message, by its number in `treadle sessions show`",
    )
    add_serving_options(parser)
    tape = parser.add_mutually_exclusive_group()
    tape.add_argument(
        "--record", metavar="FILE", type=Path, help="record the session to a new file"
    )
    tape.add_argument(
        "--replay",
        metavar="FILE",
        type=Path,
        help="replay a recorded session: no model is asked, no tool runs",
    )


def add_serving_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a model is asked."""
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="the model to ask")
    parser.add_argument("--no-tools", action="store_true", help="offer the model no tools")
    parser.add_argument("--no-stream", action="store_true", help="wait for whole replies")


def run(options: argparse.Namespace) -> int:
    """Ask, show what happens, and give the exit status."""
    if options.at is not None and options.session is None:
        raise UsageError(
            "--at names a message of no conversation.", hint="Name the conversation with --session."
        )
    if options.replay is None:
        asked = _Asked(options.session, options.at, options.record)
        return serve(options, options.question or "", asked)
    if options.question is not None or options.session is not None:
        raise UsageError(
            "A replay asks what was recorded.", hint="Leave out the question and --session."
        )
    return _status(_screen(options), lambda screen: _replay(options.replay, screen))


@dataclass(frozen=True, slots=True)
class _Asked:
    """Where a question goes: into which conversation, behind which message, on which tape."""

    session: str | None = None
    at: int | None = None
    record: Path | None = None


def serve(options: argparse.Namespace, question: str, asked: _Asked | str | None) -> int:
    """Ask `question` (`-`: what standard input holds) in a saved conversation, or in a new one."""
    text = sys.stdin.read() if question == "-" else question
    if not text.strip():
        raise UsageError("The question is empty.", hint='Write it behind: `treadle ask "…"`.')
    where = asked if isinstance(asked, _Asked) else _Asked(asked)
    return _status(_screen(options), lambda screen: _ask(options, text, where, screen))


def _screen(options: argparse.Namespace) -> Screen:
    return JsonLines() if options.json else Terminal(SystemClock())


def _status(screen: Screen, ask: Callable[[Screen], Coroutine[Any, Any, SessionOutcome]]) -> int:
    try:
        outcome = asyncio.run(ask(screen))
    except TreadleError as error:
        screen.fail(error)
        raise
    return ExitStatus.FAILED if outcome.stop_reason in _UNANSWERED else ExitStatus.DONE


async def _ask(
    options: argparse.Namespace, question: str, asked: _Asked, screen: Screen
) -> SessionOutcome:
    bus, request_id = EventBus(), new_id()
    run = _run(options, question, asked, screen=screen, bus=bus, request_id=request_id)
    return await _shown(run, screen, bus, request_id)


async def _replay(path: Path, screen: Screen) -> SessionOutcome:
    """The recorded session once more. Nothing of it is saved or recorded as a trace."""
    cassette = Cassette.load(path)
    bus = EventBus(still_clock(cassette))

    async def run() -> tuple[SessionOutcome, list[str]]:
        async with replaying(cassette, bus) as session:
            return await session.run(cassette.question), []

    return await _shown(run(), screen, bus, UUID(cassette.head["request_id"]))


async def _shown(
    run: Coroutine[Any, Any, tuple[SessionOutcome, list[str]]],
    screen: Screen,
    bus: EventBus,
    request_id: UUID,
) -> SessionOutcome:
    """What comes of `run`, with its events on the screen."""
    events = bus.subscribe(request_id=request_id)
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
        tell(f"! {text}")
    screen.finish(outcome, request_id.hex)
    return outcome


async def _run(
    options: argparse.Namespace,
    question: str,
    asked: _Asked,
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
    async with AsyncExitStack() as stack:
        recording = None
        if asked.record is not None:
            recording = await stack.enter_async_context(
                SessionRecording(asked.record, bus, request_id)
            )
        assistant = await stack.enter_async_context(opening)
        conversation = await assistant.conversation(asked.session, asked.at)
        session = assistant.session(conversation, request_id, recording)
        with screen.answering(assistant.calls):
            outcome = await session.run(question)
    return outcome, assistant.missing


COMMAND = Command("Answer a question about a repository, with its code at hand.", configure, run)
