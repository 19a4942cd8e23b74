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
    from treadle.events.types import ApprovalRequested, ApprovalScope, Mode, SourceRange
    from treadle.llm import ModelTest
    from treadle.llm.vendors import Vendor
    from treadle.session import ConversationSummary
    from treadle.session.attachments import Attachment
    from treadle.session.rewinds import RewindScope
    from treadle.spans.span import Span, Trace
    from treadle.tools.approvals.question import Program


@dataclass(frozen=True, slots=True)
class Missed:
    """Some events were lost, for example after a lost connection.

    A screen that shows data then has to read this data again.
    """


@dataclass(frozen=True, slots=True)
class ConnectionChanged:
    """The connection to the server at `address` was lost or restored.

    `retry_in` is the number of seconds until the next attempt to connect. It is None if the
    connection was restored.
    """

    address: str
    retry_in: float | None


@dataclass(frozen=True, slots=True)
class StartedTurn:
    """The turn of a message that is being served or is queued. Its events have its `request_id`."""

    request_id: UUID
    conversation_id: UUID


class Workbench(ABC):
    """Everything that the terminal can do with one repository.

    `root` is the path of the repository, on the machine that serves it. `address` is the address of
    the server. It is None if the repository is served in this process. `warnings` are sentences
    about settings, and about data that cannot be saved. `terminal` has the person's settings of the
    terminal. Methods raise TreadleError with a text for the person.
    """

    root: str
    address: str | None
    warnings: Sequence[str]
    terminal: TerminalSettings

    @abstractmethod
    def events(self) -> AsyncIterator[Event | Missed | ConnectionChanged]:
        """Yield new events as they happen, without end.

        While the iteration runs, questions for approval reach this terminal.
        """

    @abstractmethod
    async def branch(self) -> str | None:
        """Return the git branch, or the short hash of the commit if no branch is checked out.

        Returns None if the repository does not use git.
        """

    @abstractmethod
    async def send(
        self,
        text: str,
        *,
        conversation: UUID | None,
        choices: Choices,
        attachments: Sequence[Attachment] = (),
        mode: Mode | None = None,
    ) -> StartedTurn:
        """Send a message in a conversation, or in a new one if `conversation` is None.

        The conversation gets the mode `mode`, or keeps its mode if `mode` is None.
        If a turn of the conversation runs, the message is queued until that turn ends.
        """

    @abstractmethod
    async def steer(self, request_id: UUID, text: str) -> bool:
        """Add a message to the next model request of a turn. Returns False if it is too late."""

    @abstractmethod
    async def cancel(self, request_id: UUID) -> bool:
        """End a turn. Returns False if it has already ended."""

    @abstractmethod
    async def running_turns(self) -> Collection[UUID]:
        """Return the ids of the turns of the repository that run or are queued."""

    @abstractmethod
    async def pending_approvals(self) -> Sequence[ApprovalRequested]:
        """Return the questions that wait for an answer, oldest first."""

    @abstractmethod
    async def answer(
        self, approval_id: UUID, scope: ApprovalScope, words: str | None = None
    ) -> bool:
        """Answer a question. Returns False if the question no longer waits for an answer."""

    @abstractmethod
    async def conversations(self, *, limit: int = 200) -> Sequence[ConversationSummary]:
        """The saved conversations about the repository, most recently changed first."""

    @abstractmethod
    async def conversation(self, reference: str) -> Session:
        """Load a conversation by its id, an id prefix or "last"."""

    @abstractmethod
    async def conversation_costs(self, conversations: Collection[UUID]) -> Mapping[UUID, float]:
        """Return the recorded cost of each conversation, in US dollars.

        A conversation of unknown cost is not in the result.
        """

    @abstractmethod
    async def rename_conversation(self, conversation_id: UUID, title: str) -> None:
        """Change the title of a conversation."""

    @abstractmethod
    async def change_mode(self, conversation_id: UUID, mode: Mode) -> None:
        """Change the mode of a conversation.

        The next tool call obeys the new mode, even in a running turn.
        """

    @abstractmethod
    async def branch_conversation(self, conversation_id: UUID, at: int) -> Session:
        """Begin a branch of a conversation after message `at`, and return the conversation.

        The later messages stay in another branch.
        """

    @abstractmethod
    async def delete_conversation(self, conversation_id: UUID) -> None:
        """Delete a conversation with all its branches."""

    @abstractmethod
    async def note_export(self, conversation_id: UUID) -> None:
        """Add the export of a conversation to the audit log, if this process keeps the log.

        A server cannot know whether a client saves the messages that it reads.
        """

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

        A file is in conflict if an edit of it cannot be undone, usually because someone changed the
        same lines later. With `keep_changed`, files in conflict stay as they are. Otherwise a
        conflict is an error, and nothing changes.
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
        """Return what the next prompt would contain if the next message was `text`.

        No request is sent to a model.
        """

    @abstractmethod
    async def change_context(self, conversation_id: UUID, change: ChoicesChange) -> None:
        """Change which parts are pinned and which are left out, from the next message on."""

    @abstractmethod
    async def recorded_context(self, trace_id: str, span_id: str) -> ContextPlan:
        """Return what the prompt of a recorded model call contained.

        `span_id` is the id of the span of this call.
        """

    @abstractmethod
    async def models(self) -> ModelList:
        """Ask all available providers for their models."""

    @abstractmethod
    async def test_model(self, provider: str, model: str | None) -> ModelTest:
        """Ask a model a small question for which it has to call a tool.

        If the model fails, the result states the failure.
        """

    @abstractmethod
    async def model_vendors(self, provider: str, model: str) -> Sequence[Vendor]:
        """Return the vendors that a provider offers for a model.

        The list is empty if the provider is not a router, which forwards requests to vendors.
        """

    @abstractmethod
    async def save_model(self, name: str) -> SavedSetting:
        """Save the name of a model in the configuration of the person."""

    @abstractmethod
    async def first_start_advice(self) -> str | None:
        """Return advice about models, or None if the person already has a provider."""

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
        """Write the hunks with these numbers, or all hunks. Hunks that are not written are denied.

        Hunks are numbered from 1 over all files of the proposal.
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
        """Adapt a proposal to files that have changed since it was made."""

    @abstractmethod
    async def proposed_content(self, proposal_id: UUID, path: str) -> bytes:
        """Return the content that a proposal gives to a file.

        For a renamed file, `path` is the old path.
        """

    @abstractmethod
    async def amend(self, proposal_id: UUID, path: str, content: bytes) -> ListedProposal:
        """Change the content that a proposal gives to a file.

        For a renamed file, `path` is the old path.
        """

    @abstractmethod
    async def choices(self, approval_id: UUID) -> Sequence[Choice]:
        """Return the possible answers to a waiting question, and what each answer allows."""

    @abstractmethod
    async def permissions(self, conversation: UUID | None) -> Sequence[Permission]:
        """Return all permissions that the person gave.

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
        """Return the program that the person has to allow before a check runs.

        Only programs inside the repository need this permission. Returns None if the check can run
        without it.
        """

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
        """Find code by name or meaning. Uses the present index without a refresh."""

    @abstractmethod
    async def complete(self, typed: str) -> Sequence[Completion]:
        """Complete the name of a file, a folder or an item. Uses the present index."""

    @abstractmethod
    async def excerpt(self, source: SourceRange) -> Excerpt:
        """Read the present lines of a source from disk."""

    @abstractmethod
    async def neighbours(self, name: str, file: str, relation: Relation) -> Neighbours:
        """Return the callers, callees or implementations of the item `name` in `file`.

        `name` is the canonical path of the item.
        """

    @abstractmethod
    async def trace(self, request_id: UUID) -> Trace:
        """Return the recorded trace of a turn."""

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
        """Return the usage, cost and sources of the recorded turns of a conversation.

        The result includes the turns of the agents that answered in the conversation.
        """

    @abstractmethod
    async def ask_analyst(
        self,
        question: str,
        page: PageContext,
        *,
        conversation: UUID | None,
        asked_in: UUID | None,
        model: str | None,
    ) -> StartedTurn:
        """Ask the analyst, which is an agent, about the recorded calls that `page` shows.

        If `conversation` is None, the question begins a new conversation with the analyst.
        `asked_in` is the person's conversation with the assistant. It shows the question and its
        answer, even after it is resumed, but its prompts do not contain them. If `model` is None,
        the configured model answers. If only the model that Treadle contains is available, the
        answer is a report.
        """

    @abstractmethod
    async def page_address(self) -> str | None:
        """Return the address of the web page of this repository, or None if no server runs."""
