"""A question whether a call may run, with its subjects, and the decision about it."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from uuid import UUID

from treadle.events.types import ApprovalScope, ErrorKind, Mode, ToolFailure


class Policy(StrEnum):
    """A decision about a call: allow the call, ask a person, or refuse the call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Program:
    """The program that a command starts.

    `inside` states whether the program is inside the repository. If it is, `path` is relative to
    the root, and `digest` is a hash of the program's content. `environment` is a hash of the
    variables that determine which code the program loads.
    """

    path: str
    inside: bool
    digest: str = ""
    environment: str = ""

    def __str__(self) -> str:
        return f"{self.path}, which is inside this repository" if self.inside else self.path


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """The words of one simple command of a shell.

    A rule `command=GLOB` covers it if the words of the rule match its first words. `spellings` are
    other forms of the words. Only rules that refuse or ask match them. An `allow` rule has to name
    at least `least` words. `leading` has the words that a stored answer covers. If it is empty, no
    answer is stored.
    """

    words: tuple[str, ...]
    spellings: tuple[tuple[str, ...], ...] = ()
    least: int = 1
    leading: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """One subject of a call, to which approval rules apply: a path, a command, or neither.

    `program` is the program that the command starts. `protected` is a further reason to ask a
    person every time. It is None if the path alone determines whether to ask. `shell` describes a
    simple command of a shell, whose words rules match.
    """

    path: str | None = None
    command: str | None = None
    program: Program | None = None
    protected: str | None = None
    shell: "ShellCommand | None" = None

    def __str__(self) -> str:
        return self.path or self.command or ""


@dataclass(frozen=True, slots=True)
class Question:
    """A request for approval: a call before it runs, or a change that a running call proposes.

    `policy` is the decision if no rule covers the subjects. `summary` describes the call or the
    change in a few words. `effect` is a sentence about what it would do, for a question that no
    rule requires. `preview` is the unified diff of a proposal, or the arguments as JSON.
    """

    subjects: tuple[Subject, ...]
    policy: Policy
    summary: str
    proposal_id: UUID | None = None
    preview: str | None = None
    effect: str = ""
    asked_later: bool = False
    """Whether the call itself asks a second question, with a preview, before it changes anything.

    In this case, the first question is asked only for files that usually contain secrets. The rules
    that require approval apply to the second question.
    """


READ_ONLY_REASON = (
    f"The conversation is in the mode {Mode.READ_ONLY}, in which no tool writes or runs anything. "
    "Only the person can leave the mode, with `/normal` or `treadle ask --no-read-only`."
)
READ_ONLY_HINT = (
    "Call no tool that writes or runs something. Read, and answer with what you would change."
)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a question.

    `scope` is the answer of a person, or None if no person was asked. `reason` explains a refusal,
    and `words` are the person's own words. `private` contains those files of the question that need
    consent, if the person gave it.
    """

    allowed: bool
    reason: str = ""
    scope: ApprovalScope | None = None
    words: str | None = None
    private: frozenset[Path] = frozenset()
    unanswered: bool = False
    """Whether the question needs the answer of a person, but nobody answered it."""
    read_only: bool = False
    """Whether the mode of the conversation refuses the call."""

    def failure(self, summary: str) -> ToolFailure:
        """Return the failure of a refused call, for the model."""
        if self.read_only:
            return ToolFailure(
                ErrorKind.DENIED,
                f"Not allowed: {summary}. {READ_ONLY_REASON}",
                hint=READ_ONLY_HINT,
            )
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
