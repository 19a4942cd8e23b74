"""The parts of the status line, which describe the repository and the conversation.

A narrow terminal shows only the most important parts. `Part` orders the parts by importance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from uuid import UUID

from treadle.events import Event
from treadle.events import types as ev
from treadle.traces.amounts import cost as cost_text

_FULL, _NEARLY_FULL = 0.9, 0.75
"""A prompt that takes at least this share of the context window has the colour of errors, or of
warnings.
"""


class Part(IntEnum):
    """The parts of the status line, from the most to the least important one."""

    CONNECTION = 0
    MODE = 1
    CONTEXT = 2
    MODEL = 3
    FOLDER = 4
    COST = 5
    INDEX = 6
    APPROVALS = 7
    TOOLS = 8


_POSITIONS = (
    Part.FOLDER, Part.MODE, Part.MODEL, Part.CONTEXT, Part.COST, Part.TOOLS, Part.APPROVALS,
    Part.INDEX, Part.CONNECTION,
)  # fmt: skip
"""The parts from left to right."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of a part. The text may contain control characters or markup.

    `style` is a style of the theme.
    """

    part: Part
    text: str
    style: str = "$text-muted"


class Status:
    """The values of the status line. `apply` updates them from the events of the conversation."""

    def __init__(self) -> None:
        self.folder = ""
        """The name of the repository's folder. It is empty until the repository is open."""
        self.branch: str | None = None
        self.mode = ev.Mode.NORMAL
        """The mode of the conversation. A new conversation gets it with its first message."""
        self.model: str | None = None
        self.cost: float | None = None
        self.allowed: int | None = None
        """The number of permissions that the person gave. Without any, each change asks first."""
        self.tools = 0
        """The number of running tool calls."""
        self.address: str | None = None
        """The address of the server that the terminal uses, or None if it uses no server."""
        self.connected = True
        self.indexing: tuple[int, int] | None = None
        self.tokens: int | None = None
        self.window: int | None = None
        self._conversation: UUID | None = None

    def follow(self, conversation_id: UUID | None) -> None:
        """Follow another conversation. The size of the earlier conversation's prompt is removed."""
        if self._conversation not in {None, conversation_id}:
            self.tokens = self.window = None
        self._conversation = conversation_id

    def apply(self, event: Event) -> None:
        """Apply an event of the conversation."""
        match event:
            case ev.SessionStarted(model=model) | ev.ModelRequestStarted(model=model):
                self.model = model
            case ev.PromptConstructed():
                self.tokens, self.window = event.estimated_tokens, event.context_window
            case ev.ModelRequestFinished(usage=usage) if usage.input is not None:
                self.tokens = usage.input

    def apply_progress(self, event: ev.IndexProgress) -> None:
        """Show the progress of the index. This event belongs to no conversation."""
        self.indexing = (event.done, event.total) if event.done < event.total else None

    def parts(self) -> Sequence[Shown]:
        """The parts that have a value, from left to right."""
        texts = {
            Part.FOLDER: self._folder(),
            Part.MODE: self._mode(),
            Part.MODEL: Shown(Part.MODEL, self.model or ""),
            Part.CONTEXT: self._context(),
            Part.COST: Shown(Part.COST, "" if self.cost is None else cost_text(self.cost)),
            Part.TOOLS: Shown(Part.TOOLS, _count(self.tools, "tool") if self.tools else ""),
            Part.APPROVALS: Shown(Part.APPROVALS, self._approvals()),
            Part.INDEX: self._index(),
            Part.CONNECTION: self._connection(),
        }
        return [texts[part] for part in _POSITIONS if texts[part].text]

    def _folder(self) -> Shown:
        if not self.folder:
            return Shown(Part.FOLDER, "opening the repository")
        branch = f" ({self.branch})" if self.branch else ""
        return Shown(Part.FOLDER, f"{self.folder}{branch}", "$foreground")

    def _mode(self) -> Shown:
        read_only = self.mode is ev.Mode.READ_ONLY
        return Shown(Part.MODE, "read-only" if read_only else "", "$text-warning")

    def _context(self) -> Shown:
        if self.tokens is None or not self.window:
            return Shown(Part.CONTEXT, "")
        used = self.tokens / self.window
        style = (
            "$text-error" if used >= _FULL
            else "$text-warning" if used >= _NEARLY_FULL
            else "$text-muted"
        )  # fmt: skip
        return Shown(Part.CONTEXT, f"context {used:.0%} of {_thousands(self.window)}", style)

    def _approvals(self) -> str:
        return (
            ""
            if self.allowed is None
            else f"{self.allowed} allowed"
            if self.allowed
            else "asks first"
        )

    def _index(self) -> Shown:
        if self.indexing is None:
            return Shown(Part.INDEX, "")
        done, total = self.indexing
        return Shown(Part.INDEX, f"indexing {done:,} of {total:,} files")

    def _connection(self) -> Shown:
        if self.address is None:
            return Shown(Part.CONNECTION, "")
        host = self.address.partition("://")[2].rstrip("/") or self.address
        if self.connected:
            return Shown(Part.CONNECTION, f"attached to {host}")
        return Shown(Part.CONNECTION, f"connection to {host} lost", "$text-error")


def _thousands(tokens: int) -> str:
    return f"{round(tokens / 1_000)}k" if tokens >= 1_000 else str(tokens)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
