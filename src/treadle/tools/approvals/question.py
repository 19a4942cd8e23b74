"""A question for approval, and its outcome."""

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from treadle.events.types import ApprovalScope, ErrorKind, ToolFailure
from treadle.tools.contract import Policy, Subject


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be allowed: a call before it runs, or something that a running call proposes.

    `policy` holds where no rule says anything about the subjects. `summary` says in a few words
    what would happen. `preview` is what would change: of a proposal as a unified diff, else the
    arguments as JSON.
    """

    subjects: tuple[Subject, ...]
    policy: Policy
    summary: str
    proposal_id: UUID | None = None
    preview: str | None = None
    asked_later: bool = False
    """The call itself asks, with a preview, before it changes anything: until then rules that
    ask count for files that usually hold secrets only."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it is allowed.

    `scope` tells how a person answered, None when nobody was asked. `reason` says why it is not
    allowed, `words` are the person's own. `private` are the files of the question that are read
    with consent only, which this decision gives.
    """

    allowed: bool
    reason: str = ""
    scope: ApprovalScope | None = None
    words: str | None = None
    private: frozenset[Path] = frozenset()
    unanswered: bool = False
    """It needs a person, and none was there to answer."""

    def failure(self, summary: str) -> ToolFailure:
        """The error of a refusal, as the model receives it."""
        if self.scope is ApprovalScope.DENIED:
            said = f", and said: {self.words}" if self.words else "."
            return ToolFailure(
                ErrorKind.DENIED,
                f"The person denied it: {summary}{said}",
                hint="Do not try it another way; continue without it, or ask what they want.",
            )
        return ToolFailure(
            ErrorKind.DENIED,
            f"Not allowed: {summary}. {self.reason}",
            hint="Continue without it, and inform the person if it is needed.",
        )
