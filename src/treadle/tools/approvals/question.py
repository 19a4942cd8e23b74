"""A question for approval: what it concerns, and its outcome."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from treadle.events.types import ApprovalScope, ErrorKind, ToolFailure


class Policy(StrEnum):
    """How a call of a tool is handled that no rule covers."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Program:
    """What a command starts. `path` is relative to the root where it is `inside` of it.

    `digest` is a hash of the content of one that is inside, `environment` one of the variables
    that decide what it loads.
    """

    path: str
    inside: bool
    digest: str = ""
    environment: str = ""

    def __str__(self) -> str:
        return f"{self.path}, which is inside this repository" if self.inside else self.path


@dataclass(frozen=True, slots=True)
class Subject:
    """What a call is about, as the rules of approval see it: a path, a command, or neither.

    `program` is what the command starts. `protected` says why it asks every time, where its path
    does not say so.
    """

    path: str | None = None
    command: str | None = None
    program: Program | None = None
    protected: str | None = None

    def __str__(self) -> str:
        return self.path or self.command or ""


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
