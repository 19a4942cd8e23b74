"""The questions for approval that wait for an answer."""

from collections.abc import Iterable
from uuid import UUID

from treadle.events import Event
from treadle.events.types import ApprovalRequested, ApprovalResolved


class Questions:
    """The waiting questions of a repository, oldest first."""

    def __init__(self) -> None:
        self._waiting: dict[UUID, ApprovalRequested] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def first(self) -> ApprovalRequested | None:
        """The oldest waiting question, or None."""
        return next(iter(self._waiting.values()), None)

    def about(self, proposal_id: UUID) -> ApprovalRequested | None:
        """Return the waiting question about a proposal, or None."""
        found = (each for each in self._waiting.values() if each.proposal_id == proposal_id)
        return next(found, None)

    def apply(self, event: Event) -> bool:
        """Apply an event. Returns False if it does not change the questions."""
        match event:
            case ApprovalRequested():
                self._waiting[event.approval_id] = event
                return True
            case ApprovalResolved():
                return self._waiting.pop(event.approval_id, None) is not None
        return False

    def replace(self, questions: Iterable[ApprovalRequested]) -> None:
        """Replace all waiting questions by `questions`."""
        self._waiting = {each.approval_id: each for each in questions}

    def remove(self, approval_id: UUID) -> None:
        """Remove a question that no longer waits."""
        self._waiting.pop(approval_id, None)
