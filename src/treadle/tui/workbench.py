"""The interface between the terminal and a repository.

Screens and widgets access the repository only through a `Workbench`. A `local_workbench` serves the
repository in this process. A `remote_workbench` uses a server that already runs. Both return the
same values.
"""

from __future__ import annotations  # the first screen starts before the types are loaded

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Mapping, Sequence
    from uuid import UUID

    from treadle.agents.page_context import PageContext
    from treadle.app.choices import Choices
    from treadle.app.code_exploration import Excerpt, Neighbours, Relation
    from treadle.app.completion import Completion
    from treadle.app.context_choices import ChoicesChange
    from treadle.app.context_plan import ContextPlan
    from treadle.app.conversation_answers import Final, Session
    from treadle.app.model_catalog import ModelList
    from treadle.app.permissions import Choice, Permission
    from treadle.app.proposal_answers import ListedProposal, ShownProposal
    from treadle.app.rewind_plan import RewindOutcome, RewindPlan, UndoRewindPlan
    from treadle.app.turn_records import TurnRecord
    from treadle.checks.model import Check, CheckRun
    from treadle.checks.runner import TakeLine
    from treadle.code import SearchResults
    from treadle.config.model import TerminalSettings
    from treadle.config.user_file import SavedSetting
    from treadle.display.trace_tree import TraceView
    from treadle.events import Event
    from treadle.events.types import ApprovalRequested, ApprovalScope, SourceRange
    from treadle.llm import ModelTest
    from treadle.llm.vendors import Vendor
    from treadle.session import ConversationSummary
    from treadle.session.attachments import Attachment
    from treadle.session.rewinds import RewindScope
    from treadle.spans.span import Span, Trace
    from treadle.tools.approvals.question import Program


@dataclass(frozen=True, slots=True)
class Missed:
    """Events were lost, for example after a lost connection. A screen reads its data again."""


@dataclass(frozen=True, slots=True)
class ConnectionChanged:
    """The connection to the server at `address` is lost, or was made again.

    `retry_in` are the seconds until the next attempt, None if the connection was made again.
    """

    address: str
    retry_in: float | None


@dataclass(frozen=True, slots=True)
class StartedTurn:
    """A message that is served or waits. Its events have the id `request_id`."""

    request_id: UUID
    conversation_id: UUID


class Workbench(ABC):
    """What the terminal does with one repository.

    `root` is the path of the repository, on the machine that serves it. `address` is the address of
    the server, or None in this process. `warnings` are sentences about settings, and about data
    that cannot be saved. `terminal` has the person's settings of the terminal. Methods raise
    TreadleError with a text for the person.
    """

    root: str
    address: str | None
    warnings: Sequence[str]
    terminal: TerminalSettings

    @abstractmethod
    def events(self) -> AsyncIterator[Event | Missed | ConnectionChanged]:
        """Yield the events from now on, without end.

        While the iteration runs, questions for approval reach this terminal.
        """

    @abstractmethod
    async def branch(self) -> str | None:
        """The git branch, or the short hash of a detached commit. None without git."""

    @abstractmethod
    async def send(
        self,
        text: str,
        *,
        conversation: UUID | None,
        choices: Choices,
        attachments: Sequence[Attachment] = (),
    ) -> StartedTurn:
        """Send a message in a conversation, or in a new one. It waits for the running turn."""

    @abstractmethod
    async def steer(self, request_id: UUID, text: str) -> bool:
        """Add a message to the next model request of a turn. Returns False if it is too late."""

    @abstractmethod
    async def cancel(self, request_id: UUID) -> bool:
        """End a turn. Returns False if it has already ended."""

    @abstractmethod
    async def running_turns(self) -> Collection[UUID]:
        """The turns of the repository that are served or wait."""

    @abstractmethod
    async def pending_approvals(self) -> Sequence[ApprovalRequested]:
        """The questions that wait for an answer, oldest first."""

    @abstractmethod
    async def answer(
        self, approval_id: UUID, scope: ApprovalScope, words: str | None = None
    ) -> bool:
        """Answer a question. Returns False if it no longer waits."""

    @abstractmethod
    async def conversations(self, *, limit: int = 200) -> Sequence[ConversationSummary]:
        """The saved conversations about the repository, most recently changed first."""

    @abstractmethod
    async def conversation(self, reference: str) -> Session:
        """Load a conversation by its id, an id prefix or "last"."""

    @abstractmethod
    async def conversation_costs(self, conversations: Collection[UUID]) -> Mapping[UUID, float]:
        """Return the recorded costs in US dollars.

        A conversation of unknown cost is not in the result.
        """

    @abstractmethod
    async def rename_conversation(self, conversation_id: UUID, title: str) -> None:
        """Change the title of a conversation."""

    @abstractmethod
    async def branch_conversation(self, conversation_id: UUID, at: int) -> Session:
        """Continue a conversation from message `at`, and return it.

        The later messages stay as another branch.
        """

    @abstractmethod
    async def delete_conversation(self, conversation_id: UUID) -> None:
        """Delete a conversation with all its branches."""

    @abstractmethod
    async def plan_rewind(
        self, conversation_id: UUID, prompt: int, scope: RewindScope
    ) -> RewindPlan:
        """State the effects of a rewind to the user message `prompt`. This changes nothing."""

    @abstractmethod
    async def rewind(
        self, conversation_id: UUID, prompt: int, scope: RewindScope, *, keep_changed: bool
    ) -> RewindOutcome:
        """Go back to the state before the user message `prompt`.

        With `keep_changed`, files in conflict stay as they are. Otherwise a conflict is an error,
        and nothing changes.
        """

    @abstractmethod
    async def plan_undo_rewind(self, conversation_id: UUID) -> UndoRewindPlan:
        """State the effects of undoing the newest rewind. This changes nothing."""

    @abstractmethod
    async def undo_rewind(self, conversation_id: UUID, *, keep_changed: bool) -> RewindOutcome:
        """Undo the newest rewind. `keep_changed` is as in `rewind`."""

    @abstractmethod
    async def plan_context(
        self,
        conversation: UUID | None,
        text: str,
        *,
        choices: Choices,
        attachments: Sequence[Attachment] = (),
    ) -> ContextPlan:
        """The plan of the next prompt, if the next message is `text`. No model is asked."""

    @abstractmethod
    async def change_context(self, conversation_id: UUID, change: ChoicesChange) -> None:
        """Change what is pinned and left out, from the next message on."""

    @abstractmethod
    async def recorded_context(self, trace_id: str, span_id: str) -> ContextPlan:
        """The plan of a recorded request. `span_id` is the id of the span of its model call."""

    @abstractmethod
    async def models(self) -> ModelList:
        """Ask all available providers for their models."""

    @abstractmethod
    async def test_model(self, provider: str, model: str | None) -> ModelTest:
        """Ask a model one small question with a tool. The result reports a failure."""

    @abstractmethod
    async def model_vendors(self, provider: str, model: str) -> Sequence[Vendor]:
        """The vendors that a router offers for a model. Other providers list none."""

    @abstractmethod
    async def save_model(self, name: str) -> SavedSetting:
        """Save the name of a model in the configuration of the person."""

    @abstractmethod
    async def first_start_advice(self) -> str | None:
        """Lines about models for a person who has no provider yet, otherwise None."""

    @abstractmethod
    async def proposals(self, *, limit: int = 100) -> Sequence[ListedProposal]:
        """The proposals for the repository, newest first."""

    @abstractmethod
    async def proposal(self, proposal_id: UUID) -> ShownProposal:
        """A proposal with its diffs."""

    @abstractmethod
    async def apply(
        self,
        proposal_id: UUID,
        *,
        hunks: Collection[int] | None = None,
        words: str | None = None,
    ) -> ListedProposal:
        """Write the hunks with these numbers, or all hunks. The other hunks are then denied.

        Hunks are numbered from 1 over all files.
        """

    @abstractmethod
    async def deny(
        self,
        proposal_id: UUID,
        *,
        hunks: Collection[int] | None = None,
        words: str | None = None,
    ) -> ListedProposal:
        """Deny the hunks with these numbers, or the whole proposal."""

    @abstractmethod
    async def undo(self, proposal_id: UUID, *, keep_changed: bool = False) -> ListedProposal:
        """Undo an applied proposal. With `keep_changed`, files with conflicts stay as they are."""

    @abstractmethod
    async def redo(self, proposal_id: UUID) -> ListedProposal:
        """Apply an undone proposal again."""

    @abstractmethod
    async def restage(self, proposal_id: UUID) -> ListedProposal:
        """Fit a proposal to files that have changed since."""

    @abstractmethod
    async def proposed_content(self, proposal_id: UUID, path: str) -> bytes:
        """The content of a file after a proposal. For a renamed file, `path` is the old path."""

    @abstractmethod
    async def amend(self, proposal_id: UUID, path: str, content: bytes) -> ListedProposal:
        """Change the content that a proposal gives to a file.

        `path` is as in `proposed_content`.
        """

    @abstractmethod
    async def choices(self, approval_id: UUID) -> Sequence[Choice]:
        """The answers to a waiting question, and what each of them allows."""

    @abstractmethod
    async def permissions(self, conversation: UUID | None) -> Sequence[Permission]:
        """All permissions.

        The sentences in the result refer to `conversation` as "this conversation".
        """

    @abstractmethod
    async def revoke(self, permission_id: str) -> None:
        """Revoke a permission."""

    @abstractmethod
    async def checks(self) -> Sequence[Check]:
        """The checks that the files of the repository define."""

    @abstractmethod
    async def program_to_allow(self, check: Check) -> Program | None:
        """The program inside the repository that the person has to allow before a check runs."""

    @abstractmethod
    async def run_check(
        self,
        check: Check,
        take_line: TakeLine,
        *,
        allowed: Program | None = None,
        always: bool = False,
    ) -> CheckRun:
        """Run a check. `take_line` receives each line of its output.

        `allowed` is the program that the person allowed. `always` means that the permission applies
        to later runs too.
        """

    @abstractmethod
    async def search(self, query: str, *, top_k: int = 20) -> SearchResults:
        """Find code by name or meaning, in the index as it is now."""

    @abstractmethod
    async def complete(self, typed: str) -> Sequence[Completion]:
        """Complete the name of a file, a folder or an item, in the index as it is now."""

    @abstractmethod
    async def excerpt(self, source: SourceRange) -> Excerpt:
        """Read the lines of a source as they are on disk now."""

    @abstractmethod
    async def neighbours(self, name: str, file: str, relation: Relation) -> Neighbours:
        """The callers, callees or implementations of an item with this canonical path."""

    @abstractmethod
    async def trace(self, request_id: UUID) -> Trace:
        """The recorded trace of a turn."""

    @abstractmethod
    async def trace_view(self, trace_id: str) -> TraceView:
        """The rows of a recorded trace, without the content of its spans."""

    @abstractmethod
    async def span(self, trace_id: str, span_id: str) -> Span:
        """A recorded span with its content."""

    @abstractmethod
    async def final(self, request_id: UUID) -> Final | None:
        """Wait for the end of a turn. Returns None if the turn did not complete."""

    @abstractmethod
    async def turn_records(self, conversation_id: UUID) -> Mapping[UUID, TurnRecord]:
        """The usage, cost and sources of the recorded turns of a conversation."""

    @abstractmethod
    async def ask_analyst(
        self, question: str, page: PageContext, *, conversation: UUID | None, model: str | None
    ) -> StartedTurn:
        """Ask the analyst, which is an agent, about the recorded calls that `page` shows.

        None as `conversation` begins a new conversation. The events of the turn have its
        `request_id`. Without a model, the answer is a report.
        """

    @abstractmethod
    async def page_address(self) -> str | None:
        """The address of a server whose page shows this repository. None if no server runs."""
