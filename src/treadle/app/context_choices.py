"""Changes the choices of a conversation: the pinned code, and what its prompts leave out."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from treadle.app.application import App
from treadle.app.attachments import AttachmentReader
from treadle.errors import NotFoundError, UsageError
from treadle.session import Conversation
from treadle.session.attachments import PinnedCode
from treadle.session.history import begins_turn

MAX_PINS = 50
"""The maximum number of pins of a conversation."""


@dataclass(frozen=True, slots=True)
class ChoicesChange:
    """New values for the choices of a conversation. None keeps the old value."""

    pinned: tuple[PinnedCode, ...] | None = None
    automatic_context: bool | None = None
    left_out: frozenset[int] | None = None
    tools_left_out: frozenset[str] | None = None


async def change_choices(app: App, reference: str, change: ChoicesChange) -> Conversation:
    """Change the choices of a saved conversation. They apply from its next message on.

    `reference` is an id, a prefix of an id, or "last". Returns the conversation with the new
    choices. Raises the errors of `AttachmentReader.resolve` for new pins, and NotFoundError for an
    unknown message or tool.
    """
    conversation = await app.conversations.load(reference)
    choices = conversation.choices
    if change.pinned is not None:
        await _check_pins(app, conversation, change.pinned)
        choices = replace(choices, pinned=tuple(dict.fromkeys(change.pinned)))
    if change.automatic_context is not None:
        choices = replace(choices, automatic_context=change.automatic_context)
    if change.left_out is not None:
        _check_messages(conversation, change.left_out - choices.left_out)
        choices = replace(choices, left_out=change.left_out)
    if change.tools_left_out is not None:
        _check_tools(app, change.tools_left_out - choices.tools_left_out)
        choices = replace(choices, tools_left_out=change.tools_left_out)
    await app.conversations.choose(conversation, choices)
    return conversation


async def _check_pins(app: App, conversation: Conversation, pinned: tuple[PinnedCode, ...]) -> None:
    """Check that new pins can be read. An earlier pin may stay even if it can no longer be read."""
    if len(pinned) > MAX_PINS:
        raise UsageError(
            f"There are {len(pinned)} pins; the limit is {MAX_PINS}.", hint="Remove some of them."
        )
    new = [each for each in pinned if each not in conversation.choices.pinned]
    await AttachmentReader(app.root, app.index, app.approvals).resolve(new, conversation.id)


def _check_messages(conversation: Conversation, numbers: Iterable[int]) -> None:
    known = {entry.number for entry in conversation.entries if begins_turn(entry.message)}
    for number in numbers:
        if number not in known:
            raise NotFoundError(
                f"Message {number} is not a message of yours on the current branch.",
                hint=f"`treadle sessions show {conversation.id}` shows the numbers of messages.",
            )


def _check_tools(app: App, names: Iterable[str]) -> None:
    known = {*app.code_tools.names(), *(tool.name for tool in app.bridge.tools())}
    for name in names:
        if name not in known:
            raise NotFoundError(f"There is no tool {name!r}.", hint="See `treadle tools list`.")
