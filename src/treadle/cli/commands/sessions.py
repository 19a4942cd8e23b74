"""The command `treadle sessions`: manages and exports conversations with the assistant."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

from treadle.app.conversation_answers import Session
from treadle.app.conversation_export import ExportFormat, exported, write_new_file
from treadle.app.local_audit import record
from treadle.app.stores import Stores
from treadle.cli.command import Command, member_of, positive, repository
from treadle.cli.commands.ask import add_serving_options, serve
from treadle.cli.output import print_json, print_line, print_text, report, report_line, table
from treadle.cli.transcripts import as_lines
from treadle.clock import when
from treadle.display.lines import short_id
from treadle.errors import UsageError
from treadle.identity.records import Action
from treadle.json_values import to_json
from treadle.session import Conversation, ConversationStore, Entry

T = TypeVar("T")

_REFERENCE = "an id, a prefix of an id, or `last`"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands to the parser."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    rows = actions.add_parser("list", help="list the conversations about this repository")
    rows.add_argument(
        "--limit", type=positive, default=20, metavar="N", help="the number of conversations"
    )
    rows.add_argument(
        "--all", action="store_true", help="list the conversations about every repository"
    )

    def add_action(name: str, text: str) -> argparse.ArgumentParser:
        action = actions.add_parser(name, help=text)
        action.add_argument("session", help=_REFERENCE)
        return action

    show = add_action("show", "show a conversation as text, each message with its number")
    _add_at(show, "show the branch that ends at this message")
    resume = add_action("resume", "continue a conversation")
    resume.add_argument("question", nargs="?", help="the next question (default: ask for it)")
    add_serving_options(resume)
    branch = add_action(
        "branch", "continue from an earlier message; the later messages are kept as a branch"
    )
    _add_at(branch, "the message to continue from", required=True)
    rename = add_action("rename", "rename a conversation")
    rename.add_argument("title", help="the new title")
    export = add_action("export", "export a conversation as Markdown or JSON")
    export.add_argument(
        "--format",
        type=member_of(ExportFormat),
        choices=tuple(ExportFormat),
        default=ExportFormat.MARKDOWN,
        help="markdown: the current branch; json: every message of every branch",
    )
    export.add_argument(
        "--output", metavar="FILE", type=Path, help="the new file (default: standard output)"
    )
    _add_at(export, "export the branch that ends at this message")
    delete = add_action("delete", "permanently delete a conversation and its branches")
    delete.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _add_at(parser: argparse.ArgumentParser, text: str, *, required: bool = False) -> None:
    parser.add_argument("--at", metavar="MESSAGE", type=int, required=required, help=text)


def run(options: argparse.Namespace) -> int:
    """Run the chosen sub-command, and return the exit status."""
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "list": _list,
        "show": _show,
        "resume": _resume,
        "branch": _branch,
        "rename": _rename,
        "export": _export,
        "delete": _delete,
    }
    return actions[options.action](options)


def with_conversations(work: Callable[[ConversationStore], Awaitable[T]]) -> T:
    """Open the store of conversations, and return the result of `work` with that store."""

    async def open_and_work() -> T:
        async with await ConversationStore.open(Stores.of_user().conversations) as store:
            return await work(store)

    return asyncio.run(open_and_work())


def _list(options: argparse.Namespace) -> int:
    root = None if options.all else repository(options)
    found = with_conversations(lambda store: store.list(root=root, limit=options.limit))
    if options.json:
        print_json({"sessions": to_json(found)})
        return 0
    if not found:
        report('There are no conversations. Start one with `treadle ask "…"`.')
        return 0
    rows = [
        (short_id(str(row.id)), when(row.updated_us), str(row.turns), row.title) for row in found
    ]
    print_text(table(rows, ("SESSION", "CHANGED", "TURNS", "TITLE")))
    return 0


def _show(options: argparse.Namespace) -> int:
    if options.json:
        print_json(to_json(_session(options)))
    else:
        for line in as_lines(*_loaded(options, options.at)):
            print_text(line)
    return 0


def _branch(options: argparse.Namespace) -> int:
    root = repository(options)
    found = with_conversations(lambda store: store.branch(options.session, options.at, root=root))
    if options.json:
        print_json({"ok": True, "id": str(found.id), "at": options.at})
    else:
        command = f'treadle ask --session {short_id(str(found.id))} "…"'
        print_text(f"The conversation continues from message {options.at}: `{command}`.")
    return 0


def _rename(options: argparse.Namespace) -> int:
    title = " ".join(options.title.split())
    if not title:
        raise UsageError("The title is empty.", hint="Pass the title after the conversation.")
    root = repository(options)
    found = with_conversations(lambda store: store.rename(options.session, title, root=root))
    if options.json:
        print_json({"ok": True, "id": str(found.id), "title": title})
    else:
        print_line(f"The conversation “{found.title}” is renamed to “{title}”.")
    return 0


def _export(options: argparse.Namespace) -> int:
    session = _session(options)
    text = exported(session, ExportFormat.JSON if options.json else options.format)
    if options.output is not None:
        write_new_file(options.output, text)
    record(Action.EXPORT, f"sessions export: {session.conversation.id}")
    if options.output is None:
        print_text(text.removesuffix("\n"))
        return 0
    report(f"Written to {options.output}.")
    return 0


def _delete(options: argparse.Namespace) -> int:
    root = repository(options)
    found = with_conversations(lambda store: store.get(options.session, root=root))
    if not options.yes:
        if not sys.stdin.isatty():
            raise UsageError(
                "Deleting a conversation is permanent and needs confirmation.",
                hint="Confirm with --yes, or export the conversation first.",
            )
        report_line(
            f"{found.title} ({found.turns} turns) will be permanently deleted. Delete it? [y/N]"
        )
        if _prompt().lower() not in ("y", "yes"):
            return 1
    with_conversations(lambda store: store.delete(str(found.id), root=root))
    record(Action.DELETION, f"sessions delete: {found.id}")
    if options.json:
        print_json({"ok": True, "id": str(found.id)})
    else:
        print_line(f"Deleted: {found.title}.")
    return 0


def _resume(options: argparse.Namespace) -> int:
    if options.question is not None:
        return serve(options, options.question, options.session)
    if not sys.stdin.isatty():
        return serve(options, "-", options.session)
    conversation, _ = _loaded(options, None)
    report(f"{conversation.title}\nType your next question and end it with an empty line.")
    status = 0
    while question := _prompt():
        status = serve(options, question, str(conversation.id))
    return status


def _prompt() -> str:
    try:
        return input("> ").strip()
    except EOFError:
        return ""


def _loaded(options: argparse.Namespace, at: int | None) -> tuple[Conversation, Sequence[Entry]]:
    """Load a conversation, and return it with the messages of all its branches.

    The returned conversation contains one branch: the current branch, or the one that ends at the
    message `at`.
    """
    root = repository(options)

    async def load(store: ConversationStore) -> tuple[Conversation, Sequence[Entry]]:
        conversation = await store.load(options.session, root=root, at=at)
        return conversation, await store.tree(conversation.id)

    return with_conversations(load)


def _session(options: argparse.Namespace) -> Session:
    """Load a conversation, the messages of all its branches, and its questions to agents."""
    root = repository(options)

    async def load(store: ConversationStore) -> Session:
        conversation = await store.load(options.session, root=root, at=options.at)
        return await Session.read(store, conversation)

    return with_conversations(load)


COMMAND = Command(
    "List, show, resume, branch, rename, export and delete conversations.", configure, run
)
