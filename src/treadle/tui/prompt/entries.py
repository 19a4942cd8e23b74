"""What the person entered: a message, a command of the terminal or a shell command."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches

from treadle.tui.actions import Action, slash_commands
from treadle.tui.prompt.draft import Draft

_SLASH = re.compile(r"/(?P<name>[A-Za-z_-]+)(?:[ \t]+(?P<argument>[^\n]*))?\Z")
_BEGINS = re.compile(r"/[A-Za-z_-]+\s|/[A-Za-z_-]+\Z|//|!")


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command of the terminal with the text that follows it."""

    action: Action
    argument: str


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """A word after a slash, if no command has this name. `nearest` has similar names."""

    name: str
    nearest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A command for the shell."""

    command: str


Entry = Draft | SlashCommand | UnknownCommand | ShellCommand


def begins_command(text: str) -> bool:
    """Whether a draft that begins with `text` is a command instead of a message."""
    return _BEGINS.match(text) is not None


def entry_of(draft: Draft, commands: Iterable[Action] | None = None) -> Entry:
    """What a draft means.

    A draft of one line that begins with a slash and a word is a command. A draft that begins with
    an exclamation mark is a shell command. A draft that begins with two slashes or a space is a
    message.
    """
    first = draft.parts[0] if draft.parts else ""
    if not isinstance(first, str):
        return draft
    if first.startswith("//"):
        return replace(draft, parts=(first[1:], *draft.parts[1:]))
    if first.startswith("!") and draft.message[1:].strip():
        return ShellCommand(draft.message[1:].strip())
    found = _SLASH.match(draft.message.rstrip()) if first.startswith("/") else None
    if found is None:
        return draft
    known = {str(action.slash): action for action in commands or slash_commands()}
    name = found["name"]
    if name in known:
        return SlashCommand(known[name], found["argument"] or "")
    return UnknownCommand(name, tuple(get_close_matches(name, known, n=2, cutoff=0.4)))
