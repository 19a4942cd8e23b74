"""As whom a session speaks, where it is not the assistant for code."""

from dataclasses import dataclass, field
from uuid import UUID

from treadle.events.types import CallKey
from treadle.session.repetition import Patience


@dataclass(frozen=True, slots=True)
class Role:
    """Another name and system prompt, and what is different in its session.

    `system_without_tools` replaces the prompt where the model turns out to have no tools.

    The content of a call of one of `final_tools` that worked is the session's answer and ends it.
    `labels` are those of everything that is recorded of it. A session that a tool call began has
    that call's request as `parent_id` and its key as `parent_key`.
    """

    name: str
    system: str
    final_tools: frozenset[str] = frozenset()
    labels: tuple[str, ...] = ()
    parent_id: UUID | None = None
    parent_key: CallKey | None = None
    patience: Patience = field(default_factory=Patience)
    system_without_tools: str = ""
