"""Notes that state the mode and the plan of a conversation at the end of each prompt.

They are not messages of the conversation. They are built again for each prompt, after the history
was shortened.
"""

from collections.abc import Sequence

from treadle.events.types import Mode
from treadle.llm.messages import NoteMessage
from treadle.session.conversation import Entry
from treadle.session.plan import plan_note, plan_of
from treadle.tools.approvals.question import READ_ONLY_HINT, READ_ONLY_REASON


def state_notes(mode: Mode, entries: Sequence[Entry]) -> tuple[NoteMessage, ...]:
    """Return the notes for the next prompt of a conversation."""
    plan = plan_note(plan_of(entries))
    read_only = NoteMessage(f"{READ_ONLY_REASON} {READ_ONLY_HINT}")
    return (*([plan] if plan else []), *([read_only] if mode is Mode.READ_ONLY else []))
