"""What the person entered: a message, a command of the terminal or a shell command."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches

from treadle.tui.actions import Action, slash_commands
from treadle.tui.prompt.draft import Chip, CommandOutput, Draft, Part, PastedText

_SLASH = re.compile(r"/(?P<name>[A-Za-z_-]+)(?:[ \t]+(?P<argument>[^\n]*))?\Z")
_BEGINS = re.compile(r"/[A-Za-z_-]+\s|/[A-Za-z_-]+\Z|//|!")


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command of the terminal with the text that follows it.

    `chips` are the chips of the same draft. They are not a part of the command, and stay in the
    prompt.
    """

    action: Action
    argument: str
    chips: tuple[Chip, ...] = ()


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


def entry_of(draft: Draft, commands: Iterable[Action] | None = None) -> Entry:  # noqa: PLR0911  (one return for each kind)
    """What a draft means.

    A draft of one line that begins with a slash and a word is a command. If the command is known,
    chips may be in front of it. A draft that begins with an exclamation mark is a shell command. A
    draft that begins with two slashes or a space is a message.
    """
    known = {str(action.slash): action for action in commands or slash_commands()}
    chips, rest = _without_chips(draft)
    found = _SLASH.match(rest.message.strip()) if chips else None
    if found is not None and found["name"] in known:
        return SlashCommand(known[found["name"]], found["argument"] or "", chips)
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
    name = found["name"]
    if name in known:
        return SlashCommand(known[name], found["argument"] or "")
    return UnknownCommand(name, tuple(get_close_matches(name, known, n=2, cutoff=0.4)))


def _without_chips(draft: Draft) -> tuple[tuple[Chip, ...], Draft]:
    """Split a draft into its chips and the rest.

    The chips are those before the first typed word, and all outputs of commands. A pasted text
    belongs to the rest. If the rest begins with a pasted text, the draft is not split.
    """
    chips: list[Chip] = []
    rest: list[Part] = []
    for part in draft.parts:
        leads = not any(isinstance(each, str) and each.strip() for each in rest)
        if isinstance(part, CommandOutput) or (leads and not isinstance(part, str | PastedText)):
            chips.append(part)
        else:
            rest.append(part)
    starts_with_text = not rest or isinstance(rest[0], str)
    return (tuple(chips), Draft(tuple(rest))) if starts_with_text else ((), draft)
