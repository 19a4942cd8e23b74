"""A message that a person writes: typed text, and parts that the prompt shows as chips."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treadle.session.attachments import Attachment, CodeAttachment, ItemAttachment, TextAttachment
from treadle.visible import in_line

if TYPE_CHECKING:  # not imported at run time, so that the first screen starts sooner
    from treadle.llm.messages import AttachedText

_LABEL_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class PastedText:
    """A long text from the clipboard. It is sent as text. `number` is shown to the person."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The output of a shell command that the person ran. It is attached to the message."""

    command: str
    text: str


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image on the machine of the terminal. It is read when the message is sent."""

    path: str


Chip = PastedText | CommandOutput | ImageFile | CodeAttachment | ItemAttachment
Part = str | Chip


def label(chip: Chip) -> str:
    """The text that stands for a chip in the prompt, in one line of at least two characters."""
    match chip:
        case PastedText(number=number, text=text):
            return f"[paste {number}: {_size(text)}]"
        case CommandOutput(command=command, text=text):
            return f"[output of {_shortened(command)}: {_size(text)}]"
        case ImageFile(path=path):
            return f"[image {_shortened(path.rpartition('/')[2])}]"
        case ItemAttachment(name=name):
            return f"@{in_line(name)}"
        case CodeAttachment():
            return f"@{chip}"


def _size(text: str) -> str:
    lines = text.count("\n") + (not text.endswith("\n"))
    return f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"


def _shortened(text: str) -> str:
    line = in_line(text)
    return line if len(line) <= _LABEL_CHARACTERS else f"{line[: _LABEL_CHARACTERS - 1]}…"


@dataclass(frozen=True, slots=True)
class Draft:
    """The parts of a message in their order."""

    parts: tuple[Part, ...] = ()

    @property
    def message(self) -> str:
        """The text that is sent. It has pasted texts in full, and other chips as their labels."""
        return "".join(map(_sent, self.parts))

    def with_message(self, message: str) -> "Draft":
        """The draft with the text `message`. Chips whose text is still in `message` remain."""
        parts: list[Part] = []
        for chip in (part for part in self.parts if not isinstance(part, str)):
            at = message.find(_sent(chip))
            if at >= 0:
                parts += [message[:at], chip]
                message = message[at + len(_sent(chip)) :]
        return Draft(tuple(part for part in (*parts, message) if part != ""))

    @property
    def shown(self) -> str:
        """The text with the label of each chip."""
        return "".join(part if isinstance(part, str) else label(part) for part in self.parts)

    @property
    def attachments(self) -> Sequence[Attachment]:
        """The attachments of the message except images, each once."""
        found = (_attachment(part) for part in self.parts if not isinstance(part, str))
        return list(dict.fromkeys(each for each in found if each is not None))

    @property
    def images(self) -> Sequence[str]:
        """The paths of the attached images, each once."""
        return list(dict.fromkeys(each.path for each in self.parts if isinstance(each, ImageFile)))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to send."""
        return not self.message.strip()


@dataclass(frozen=True, slots=True)
class Unsent:
    """The draft in the prompt, and the queued messages."""

    prompt: Draft = field(default_factory=Draft)
    queue: tuple[Draft, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.prompt.parts or self.queue)


def _sent(part: Part) -> str:
    if isinstance(part, str):
        return part
    return part.text if isinstance(part, PastedText) else label(part)


def _attachment(chip: Chip) -> Attachment | None:
    match chip:
        case CommandOutput(command=command, text=text):
            return TextAttachment(f"{_OUTPUT}{in_line(command)}", text)
        case CodeAttachment() | ItemAttachment():
            return chip
    return None


_LINES = re.compile(r"(.+):(\d+)-(\d+)")
_OUTPUT = "output of "
"""An attached text is the output of a command if its name begins with this text."""


def restored(message: str, attached: "Iterable[AttachedText]") -> Draft:
    """The draft of a message that was sent.

    Attached code becomes a chip if its label is in the text. The same is true for the attached
    output of a command.
    """
    chips = [_chip(each) for each in attached if not each.pinned]
    return Draft(tuple(chips)).with_message(message)


def _chip(attached: "AttachedText") -> Chip:
    if attached.name.startswith(_OUTPUT):
        return CommandOutput(attached.name.removeprefix(_OUTPUT), attached.text)
    found = _LINES.fullmatch(attached.name)
    return (
        CodeAttachment(found[1], int(found[2]), int(found[3]))
        if found
        else CodeAttachment(attached.name)
    )
