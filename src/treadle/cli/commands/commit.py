"""The command `treadle commit`: proposes a commit message, and commits after a yes."""

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from treadle.app.application import App, Toolset, open_app
from treadle.app.commit_messages import ProposedMessage, edits_of_conversation, propose_message
from treadle.cli.approval_prompts import LineReader, prompt
from treadle.cli.command import Command, repository
from treadle.cli.output import print_json, print_text, report, report_line
from treadle.commits.create import create_commit, require_no_operation
from treadle.commits.draft import draft_message
from treadle.commits.message import describe_file
from treadle.commits.session_index import SessionIndex, locked_index, session_index
from treadle.commits.staged import StagedChanges, head_or_empty_tree, read_staged
from treadle.commits.style import read_style
from treadle.config.loader import load
from treadle.errors import ExitStatus
from treadle.ids import new_id
from treadle.llm import connect_with_fallbacks, is_embedded
from treadle.llm.chat_model import ChatModel

_NO_MODEL = (
    "Only the embedded model is available, so this draft names only the files. To use another,"
    " set `model` in the configuration, or OPENAI_API_KEY or OPENROUTER_API_KEY in the environment."
)
_CHOICES = "Commit? y: yes · e: edit the message first · r: propose another message · n: no"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options to the parser."""
    parser.add_argument(
        "--session",
        metavar="ID",
        help="commit the applied edits of a conversation (an id, a prefix of an id, or `last`)"
        " instead of the staged changes",
    )
    parser.add_argument(
        "--print",
        action="store_true",
        dest="only_print",
        help="print the message and commit nothing",
    )
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="the model that writes it")


def run(options: argparse.Namespace) -> int:
    """Propose a message, ask, and commit. Return the exit status."""
    return asyncio.run(_run(options, repository(options)))


@dataclass(frozen=True, slots=True)
class _Planned:
    """The changes to commit on the parent `head`. `edits` is set for a conversation's edits."""

    changes: StagedChanges
    head: str
    edits: SessionIndex | None = None


async def _run(options: argparse.Namespace, root: Path) -> int:
    await asyncio.to_thread(require_no_operation, root)
    loaded = load(root, os.environ, {"model": options.model})
    for warning in loaded.warnings:
        report_line(f"! {warning}")
    async with AsyncExitStack() as stack:
        opening = open_app(root, settings=loaded.settings, toolset=Toolset.NONE)
        app = await stack.enter_async_context(opening)
        planned = await stack.enter_async_context(_planned(app, options.session))
        model = await _model(app, options.model)
        if model is not None:
            stack.push_async_callback(model.close)
        style = await asyncio.to_thread(read_style, root)
        lines = LineReader()
        while True:
            if model is None:
                proposed = ProposedMessage(draft_message(planned.changes, style), (_NO_MODEL,))
            else:
                proposed = await propose_message(app, model, planned.changes, style, new_id())
            _show(proposed, planned, as_json=options.json)
            if options.json or options.only_print:
                return ExitStatus.DONE
            answer = await _answer(lines)
            if answer != "r":
                break
        if answer == "n":
            report_line("Nothing was committed.")
            return ExitStatus.REFUSED
        await asyncio.to_thread(_commit, root, proposed, planned, edit=answer == "e")
    return ExitStatus.DONE


async def _model(app: App, requested: str | None) -> ChatModel | None:
    """Connect to the model that writes the message.

    The result is None if only the embedded model is available, unless the user requested it. Its
    messages are usually wrong.
    """
    if requested is None and await is_embedded(app.settings, app.env):
        return None
    return await connect_with_fallbacks(app.settings, app.env, model=requested)


@asynccontextmanager
async def _planned(app: App, session: str | None) -> AsyncIterator[_Planned]:
    """Yields the changes to commit: the edits of a conversation, or the staged changes."""
    head = await asyncio.to_thread(head_or_empty_tree, app.root)
    if session is None:
        yield _Planned(await asyncio.to_thread(read_staged, app.root), head)
        return
    conversation = await app.conversations.load(session)
    files = await asyncio.to_thread(edits_of_conversation, app, conversation.id)
    with session_index(app.root, files) as built:
        for left_out in built.left_out:
            report_line(f"! {left_out.path} is not committed: {left_out.reason}.")
        changes = await asyncio.to_thread(read_staged, app.root, built.to_commit)
        yield _Planned(changes, head, built)


def _show(proposed: ProposedMessage, planned: _Planned, *, as_json: bool) -> None:
    message = proposed.message
    if as_json:
        left_out = planned.edits.left_out if planned.edits else ()
        print_json(
            {
                "subject": message.subject,
                "body": message.body,
                "problems": list(proposed.problems),
                "files": [
                    {"path": file.path, "status": file.status} for file in planned.changes.files
                ],
                "left_out": [{"path": each.path, "reason": each.reason} for each in left_out],
                "cost": proposed.cost,
                "trace_id": proposed.trace_id,
            }
        )
        return
    for file in planned.changes.files:
        report_line(f"  {describe_file(file)}")
    report("")
    print_text(message.text)
    sys.stdout.flush()
    for problem in proposed.problems:
        report_line(f"! {problem}")


async def _answer(lines: LineReader) -> str:
    """Return y, e, r or n. Without a terminal the answer is n."""
    if not sys.stdin.isatty():
        report_line("Nobody can say yes here: standard input is not a terminal.")
        return "n"
    while True:
        prompt(_CHOICES)
        try:
            answer = (await lines.next()).strip().lower()
        except EOFError:
            return "n"
        if answer in {"y", "yes", "e", "edit", "r", "n", "no"}:
            return answer[0]


def _commit(root: Path, proposed: ProposedMessage, planned: _Planned, *, edit: bool) -> None:
    tree, head, edits = planned.changes.tree, planned.head, planned.edits
    if edits is None:
        commit = create_commit(root, proposed.message, tree=tree, head=head, edit=edit)
    else:
        with locked_index(root, edits):
            commit = create_commit(
                root, proposed.message, tree=tree, head=head, index=edits.to_commit, edit=edit
            )
    report_line(f"Committed {commit[:12]}.")


COMMAND = Command(
    "Propose a commit message in the style of the repository, and commit after a yes.",
    configure,
    run,
)
