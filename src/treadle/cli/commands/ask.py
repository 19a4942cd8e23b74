"""The command `treadle ask`: answers a question about a repository."""

import argparse
import os
import re
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from treadle.app.application import Toolset, open_app
from treadle.app.assistant import Assistant
from treadle.app.attachments import read_image
from treadle.app.choices import Choices
from treadle.cli.command import Command, repository
from treadle.cli.modes import add_mode_option, chosen_mode
from treadle.cli.output import report_line
from treadle.cli.turn_output import TurnOutput, exit_status, output_for, show_turn
from treadle.config.loader import load
from treadle.errors import UsageError
from treadle.events import EventBus
from treadle.ids import new_id
from treadle.session import SessionOutcome
from treadle.session.attachments import Attachment, CodeAttachment
from treadle.session.cassette import Cassette
from treadle.session.recorder import SessionRecording
from treadle.session.replay import replaying, still_clock


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the question and its options to the parser."""
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
    parser.add_argument(
        "--attach",
        metavar="PATH[:LINES]",
        action="append",
        default=[],
        help="send a file, or lines such as src/parser.py:10-40; may be repeated",
    )
    parser.add_argument(
        "--image",
        metavar="PATH",
        action="append",
        default=[],
        help="send an image to a model that takes images; may be repeated",
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
    """Add the options of all commands that call a model."""
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="the model to ask")
    parser.add_argument("--no-tools", action="store_true", help="do not offer tools to the model")
    add_mode_option(parser)
    parser.add_argument(
        "--no-stream", action="store_true", help="print each reply when it is complete"
    )


def run(options: argparse.Namespace) -> int:
    """Ask the question, show the turn, and return the exit status."""
    if options.at is not None and options.session is None:
        raise UsageError("--at requires --session.", hint="Pass the conversation with --session.")
    if options.replay is None:
        if options.image and options.record is not None:
            raise UsageError("--record takes no --image: a recording contains no images.")
        source = _Continuation(options.session, options.at, options.record, _attachments(options))
        return serve(options, options.question or "", source)
    if (
        options.question is not None
        or options.session is not None
        or options.attach
        or options.image
    ):
        raise UsageError(
            "--replay takes neither a question, --session nor attachments: it repeats a recording.",
            hint="Remove the question, --session, --attach and --image.",
        )
    return exit_status(output_for(options), lambda output: _replay(options.replay, output))


@dataclass(frozen=True, slots=True)
class _Continuation:
    """The conversation and message to continue from, the recording, and the attachments."""

    session: str | None = None
    at: int | None = None
    record: Path | None = None
    attached: tuple[Attachment, ...] = ()


def serve(options: argparse.Namespace, question: str, source: _Continuation | str | None) -> int:
    """Ask a question, show the turn, and return the exit status.

    The question `-` is read from standard input. `source` names the saved conversation, and
    optionally the message, to continue from. None starts a new conversation.
    """
    text = sys.stdin.read() if question == "-" else question
    if not text.strip():
        raise UsageError("The question is empty.", hint='Pass a question: `treadle ask "…"`.')
    source = source if isinstance(source, _Continuation) else _Continuation(source)
    return exit_status(output_for(options), lambda output: _ask(options, text, source, output))


async def _ask(
    options: argparse.Namespace, question: str, source: _Continuation, output: TurnOutput
) -> SessionOutcome:
    bus, request_id = EventBus(), new_id()
    run = _run(options, question, source, output=output, bus=bus, request_id=request_id)
    return await show_turn(run, output, bus, request_id)


async def _replay(path: Path, output: TurnOutput) -> SessionOutcome:
    """Replay a recorded session. It is not saved as a conversation, and no trace is recorded."""
    cassette = Cassette.load(path)
    bus = EventBus(still_clock(cassette))

    async def run() -> tuple[SessionOutcome, list[str]]:
        async with replaying(cassette, bus) as session:
            return await session.run(cassette.question, cassette.attachments), []

    return await show_turn(run(), output, bus, UUID(cassette.head["request_id"]))


async def _run(
    options: argparse.Namespace,
    question: str,
    source: _Continuation,
    *,
    output: TurnOutput,
    bus: EventBus,
    request_id: UUID,
) -> tuple[SessionOutcome, list[str]]:
    """Ask the question. Return the outcome, and warnings about data that was not stored."""
    root = repository(options)
    loaded = load(root, os.environ, {"model": options.model})
    for warning in loaded.warnings:
        report_line(f"! {warning}")
    choices = Choices(options.model, tools=not options.no_tools, stream=not options.no_stream)
    mode = chosen_mode(options)
    toolset = Toolset.CODE if choices.tools else Toolset.NONE
    async with AsyncExitStack() as stack:
        recording = None
        if source.record is not None:
            recording = await stack.enter_async_context(
                SessionRecording(source.record, bus, request_id)
            )
        opening = open_app(root, settings=loaded.settings, bus=bus, toolset=toolset)
        app = await stack.enter_async_context(opening)
        app.mcp.start()
        assistant = await stack.enter_async_context(
            Assistant.open(app, request_id=request_id, choices=choices)
        )
        existing = None
        if source.session is not None:
            existing = await assistant.conversation(source.session, source.at, mode)
        attached = await assistant.attach(source.attached, existing)
        conversation = existing or await assistant.conversation(mode=mode)
        await app.mcp.wait(loaded.settings.mcp.ask_wait)
        session = await assistant.session(conversation, request_id, recording)
        if recording is not None:
            recording.attachments(attached)
        with output.answering(app):
            outcome = await session.run(question, attached)
    return outcome, assistant.warnings


def _attachments(options: argparse.Namespace) -> tuple[Attachment, ...]:
    return (*map(_attachment, options.attach), *map(read_image, options.image))


_LINES = re.compile(r"(.+):(\d{1,9})(?:-(\d{0,9}))?")


def _attachment(text: str) -> CodeAttachment:
    """Read PATH, PATH:LINE, PATH:FIRST-LAST or PATH:FIRST-."""
    found = _LINES.fullmatch(text)
    if found is None:
        return CodeAttachment(text)
    path, first, last = found.groups()
    if last is None:
        last = first
    return CodeAttachment(path, int(first), int(last) if last else None)


COMMAND = Command("Answer a question about a repository, using its code.", configure, run)
