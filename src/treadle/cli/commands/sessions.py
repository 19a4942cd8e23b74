"""`treadle sessions`: list, show and resume saved conversations."""

import argparse
import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treadle.app.stores import conversations_path
from treadle.cli.command import Command, positive, repository
from treadle.cli.commands.ask import add_serving_options, serve
from treadle.cli.output import print_json, say, short_id, table, tell, when
from treadle.llm.messages import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from treadle.session import Conversation, ConversationStore, ConversationSummary

_RESULT_SHOWN = 200


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the three sub-commands."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    rows = actions.add_parser("list", help="the conversations about this repository")
    rows.add_argument("--limit", type=positive, default=20, metavar="N", help="how many")
    rows.add_argument("--all", action="store_true", help="those of every repository")
    show = actions.add_parser("show", help="one conversation as text")
    show.add_argument("session", help="an id, the beginning of one, or `last`")
    resume = actions.add_parser("resume", help="go on with one")
    resume.add_argument("session", help="an id, the beginning of one, or `last`")
    resume.add_argument("question", nargs="?", help="the next question (default: ask for it)")
    add_serving_options(resume)


def run(options: argparse.Namespace) -> int:
    """Do what the sub-command says."""
    if options.action == "resume":
        return _resume(options)
    root = repository(options)
    if options.action == "show":
        conversation = asyncio.run(_load(root, options.session))
        if options.json:
            print_json(_as_json(conversation))
        else:
            for line in _lines(conversation):
                say(line)
        return 0
    found = asyncio.run(_list(None if options.all else root, options.limit))
    if options.json:
        print_json({"sessions": [_summary(row) for row in found]})
        return 0
    if not found:
        tell('No conversation yet. Begin one with `treadle ask "…"`.')
        return 0
    rows = [
        (short_id(str(row.id)), when(row.updated_us), str(row.turns), row.title) for row in found
    ]
    say(table(rows, ("SESSION", "CHANGED", "TURNS", "TITLE")))
    return 0


def _resume(options: argparse.Namespace) -> int:
    if options.question is not None:
        return serve(options, options.question, options.session)
    if not sys.stdin.isatty():
        return serve(options, "-", options.session)
    conversation = asyncio.run(_load(repository(options), options.session))
    tell(f"{conversation.title}\nYour next question; an empty line ends.")
    status = 0
    while question := _prompt():
        status = serve(options, question, str(conversation.id))
    return status


def _prompt() -> str:
    try:
        return input("> ").strip()
    except EOFError:
        return ""


async def _list(root: Path | None, limit: int) -> tuple[ConversationSummary, ...]:
    async with await ConversationStore.open(conversations_path()) as store:
        return await store.list(root=root, limit=limit)


async def _load(root: Path, reference: str) -> Conversation:
    async with await ConversationStore.open(conversations_path()) as store:
        return await store.load(reference, root=root)


def _lines(conversation: Conversation) -> Iterator[str]:
    yield f"{conversation.title}\n{conversation.id}  {when(conversation.created_us)}"
    for entry in conversation.entries:
        yield from _message(entry.message)
        if entry.stop_reason is not None and entry.stop_reason != "completed":
            yield f"  (this turn ended: {entry.stop_reason})"


def _message(message: Message) -> Iterator[str]:
    match message:
        case UserMessage(text=text):
            yield f"\nYou: {text}"
        case AssistantMessage(text=text, calls=calls):
            for call in calls:
                yield f"  ● {call.name} {call.arguments}"
            if text:
                yield f"\nTreadle: {text}"
        case ToolMessage(content=content, ok=ok):
            mark = "✓" if ok else "✗"
            yield f"  {mark} {content[:_RESULT_SHOWN]}{'…' * (len(content) > _RESULT_SHOWN)}"
        case NoteMessage(text=text):
            yield f"  ({text})"
        case _:
            pass


def _summary(row: ConversationSummary) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "root": row.root,
        "model": row.model,
        "title": row.title,
        "created_us": row.created_us,
        "updated_us": row.updated_us,
        "turns": row.turns,
        "stop_reason": row.stop_reason,
    }


def _as_json(conversation: Conversation) -> dict[str, Any]:
    return {
        "id": str(conversation.id),
        "root": conversation.root,
        "model": conversation.model,
        "title": conversation.title,
        "created_us": conversation.created_us,
        "updated_us": conversation.updated_us,
        "messages": [
            {"at_us": entry.at_us, "stop_reason": entry.stop_reason, **_message_json(entry.message)}
            for entry in conversation.entries
        ],
    }


def _message_json(message: Message) -> dict[str, Any]:
    match message:
        case UserMessage(text=text, context=context):
            return {"role": "user", "text": text, "context": context}
        case AssistantMessage(text=text, calls=calls):
            made = [
                {"turn": c.key.turn, "slot": c.key.slot, "name": c.name, "arguments": c.arguments}
                for c in calls
            ]
            return {"role": "assistant", "text": text, "calls": made}
        case ToolMessage(key=key, content=content, ok=ok):
            return {
                "role": "tool",
                "turn": key.turn,
                "slot": key.slot,
                "ok": ok,
                "content": content,
            }
        case _:
            return {"role": "note", "text": message.text}


COMMAND = Command("List, show and resume saved conversations.", configure, run)
