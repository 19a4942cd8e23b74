"""`treadle ask`: answer a question about a repository."""

import argparse
import os
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from treadle.app.application import Toolset, open_app
from treadle.app.assistant import Assistant, Choices
from treadle.cli.command import Command, repository
from treadle.cli.output import tell_line
from treadle.cli.screens import Screen, exit_status, screen_for, shown
from treadle.config.loader import load
from treadle.errors import UsageError
from treadle.events import EventBus
from treadle.ids import new_id
from treadle.session import SessionOutcome
from treadle.session.cassette import Cassette
from treadle.session.recorder import SessionRecording
from treadle.session.replay import replaying, still_clock


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the question and how it is to be served."""
    parser.add_argument(
        "question", nargs="?", help="the question; `-` reads it from standard input"
    )
    parser.add_argument(
        "--session",
        metavar="ID",
        help="continue a saved conversation: its id, a prefix of its id, or `last`",
    )
    parser.add_argument(
        "--at",
        metavar="MESSAGE",
        type=int,
        help="with --session: continue from this message, by its number in `treadle sessions show`",
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
        help="replay a recorded session without calling a model or running tools",
    )


def add_serving_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how a model is asked."""
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="the model to ask")
    parser.add_argument("--no-tools", action="store_true", help="do not offer tools to the model")
    parser.add_argument(
        "--no-stream", action="store_true", help="print each reply when it is complete"
    )


def run(options: argparse.Namespace) -> int:
    """Ask, show what happens, and give the exit status."""
    if options.at is not None and options.session is None:
        raise UsageError("--at requires --session.", hint="Pass the conversation with --session.")
    if options.replay is None:
        asked = _Asked(options.session, options.at, options.record)
        return serve(options, options.question or "", asked)
    if options.question is not None or options.session is not None:
        raise UsageError(
            "--replay takes neither a question nor --session: it repeats the recorded question.",
            hint="Remove the question and --session.",
        )
    return exit_status(screen_for(options), lambda screen: _replay(options.replay, screen))


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
        raise UsageError("The question is empty.", hint='Pass a question: `treadle ask "…"`.')
    where = asked if isinstance(asked, _Asked) else _Asked(asked)
    return exit_status(screen_for(options), lambda screen: _ask(options, text, where, screen))


async def _ask(
    options: argparse.Namespace, question: str, asked: _Asked, screen: Screen
) -> SessionOutcome:
    bus, request_id = EventBus(), new_id()
    run = _run(options, question, asked, screen=screen, bus=bus, request_id=request_id)
    return await shown(run, screen, bus, request_id)


async def _replay(path: Path, screen: Screen) -> SessionOutcome:
    """The recorded session once more. Nothing of it is saved or recorded as a trace."""
    cassette = Cassette.load(path)
    bus = EventBus(still_clock(cassette))

    async def run() -> tuple[SessionOutcome, list[str]]:
        async with replaying(cassette, bus) as session:
            return await session.run(cassette.question), []

    return await shown(run(), screen, bus, UUID(cassette.head["request_id"]))


async def _run(
    options: argparse.Namespace,
    question: str,
    asked: _Asked,
    *,
    screen: Screen,
    bus: EventBus,
    request_id: UUID,
) -> tuple[SessionOutcome, list[str]]:
    """The outcome of the question, and the data that could not be saved or recorded."""
    root = repository(options)
    loaded = load(root, os.environ, {"model": options.model})
    for warning in loaded.warnings:
        tell_line(f"! {warning}")
    choices = Choices(options.model, tools=not options.no_tools, stream=not options.no_stream)
    toolset = Toolset.CODE if choices.tools else Toolset.NONE
    async with AsyncExitStack() as stack:
        recording = None
        if asked.record is not None:
            recording = await stack.enter_async_context(
                SessionRecording(asked.record, bus, request_id)
            )
        opening = open_app(root, settings=loaded.settings, bus=bus, toolset=toolset)
        app = await stack.enter_async_context(opening)
        assistant = await stack.enter_async_context(
            Assistant.open(app, request_id=request_id, choices=choices)
        )
        conversation = await assistant.conversation(asked.session, asked.at)
        session = await assistant.session(conversation, request_id, recording)
        with screen.answering(app):
            outcome = await session.run(question)
    return outcome, assistant.warnings


COMMAND = Command("Answer a question about a repository, using its code.", configure, run)
