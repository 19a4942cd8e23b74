"""Serves a repository to the terminal in this process."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self
from uuid import UUID

from treadle.agents.page_context import PageContext
from treadle.app.agents import ORCHESTRATOR, AgentService
from treadle.app.application import App, open_app
from treadle.app.check_runs import CheckRuns
from treadle.app.choices import Choices
from treadle.app.code_exploration import (
    Excerpt,
    Neighbours,
    Relation,
    neighbours,
    read_excerpt,
)
from treadle.app.completion import Completion, complete
from treadle.app.context_choices import ChoicesChange, change_choices
from treadle.app.context_plan import ContextPlan
from treadle.app.conversation_answers import Final, Session
from treadle.app.conversation_costs import recorded_costs
from treadle.app.index_refresh import refresh_in_background
from treadle.app.local_audit import Actor, record
from treadle.app.model_catalog import ModelList, model_catalog
from treadle.app.model_checks import first_start_advice, try_model
from treadle.app.modes import change_saved_mode
from treadle.app.permissions import Choice, Permission, Permissions
from treadle.app.proposal_answers import ListedProposal, ShownProposal
from treadle.app.proposals import ProposalService
from treadle.app.recorded_context import recorded_plan
from treadle.app.rewind import Rewinds
from treadle.app.rewind_plan import RewindOutcome, RewindPlan, UndoRewindPlan
from treadle.app.running_server import find_server
from treadle.app.turn_records import TurnRecord, turn_records
from treadle.app.turns import Turns
from treadle.checks.model import Check, CheckRun
from treadle.checks.runner import TakeLine
from treadle.code import SearchResults
from treadle.code.files.checkout import Checkout
from treadle.config.model import Settings
from treadle.config.user_file import SavedSetting, save_setting
from treadle.display.trace_tree import TraceView, view_trace
from treadle.errors import NotFoundError
from treadle.events import Event
from treadle.events.types import ApprovalRequested, ApprovalScope, Mode, SourceRange
from treadle.identity.records import Action
from treadle.llm import ModelTest
from treadle.llm.vendors import Vendor, model_vendors
from treadle.session import ConversationSummary
from treadle.session.attachments import Attachment
from treadle.session.rewinds import RewindScope
from treadle.spans.span import Span, Trace
from treadle.tools.approvals.question import Program
from treadle.tui.workbench import Missed, StartedTurn, Workbench


class LocalWorkbench(Workbench):
    """The repository of `app`. Open it with `open`."""

    def __init__(self, app: App, turns: Turns) -> None:
        self._app = app
        self._turns = turns
        self.root = str(app.root)
        self.address = None
        self.warnings = tuple(app.warnings)
        self.terminal = app.settings.terminal
        self._permissions = Permissions(app)
        self._check_runs = CheckRuns(app.root, app.settings, app.env, app.clock, app.stores)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, root: Path, settings: Settings, *, warnings: Sequence[str] = ()
    ) -> AsyncIterator[Self]:
        """Open the repository at `root`. The index is refreshed in the background.

        `warnings` are the warnings of the settings. Raises StoreError and ConfigError.
        """
        async with (
            open_app(root, settings=settings) as app,
            AgentService.open(app) as agents,
            Turns(app, agents) as turns,
            refresh_in_background(app.index, app.bus),
        ):
            workbench = cls(app, turns)
            workbench.warnings = (*warnings, *workbench.warnings)
            yield workbench

    async def events(self) -> AsyncIterator[Event | Missed]:
        """See `Workbench.events`."""
        with self._app.approvals.allow_questions(), self._app.bus.subscribe() as subscription:
            async for envelope in subscription:
                yield envelope.event

    async def branch(self) -> str | None:
        """See `Workbench.branch`."""
        checkout = await asyncio.to_thread(Checkout.of, self._app.root)
        return None if checkout is None else checkout.branch or (checkout.commit or "")[:8] or None

    async def send(
        self,
        text: str,
        *,
        conversation: UUID | None,
        choices: Choices,
        attachments: Sequence[Attachment] = (),
        mode: Mode | None = None,
    ) -> StartedTurn:
        """See `Workbench.send`."""
        session = None if conversation is None else str(conversation)
        turn = await self._turns.start(
            text, session=session, attachments=attachments, choices=choices, mode=mode
        )
        return StartedTurn(turn.request_id, turn.conversation_id)

    async def steer(self, request_id: UUID, text: str) -> bool:
        """See `Workbench.steer`."""
        return await self._turns.steer(request_id, text)

    async def cancel(self, request_id: UUID) -> bool:
        """See `Workbench.cancel`."""
        return self._turns.cancel(request_id)

    async def running_turns(self) -> Collection[UUID]:
        """See `Workbench.running_turns`."""
        return [turn.request_id for turn in self._turns.running()]

    async def pending_approvals(self) -> Sequence[ApprovalRequested]:
        """See `Workbench.pending_approvals`."""
        return self._app.approvals.pending()

    async def answer(
        self, approval_id: UUID, scope: ApprovalScope, words: str | None = None
    ) -> bool:
        """See `Workbench.answer`."""
        pending = {each.approval_id: each.summary for each in self._app.approvals.pending()}
        taken = self._app.approvals.answer(approval_id, scope, words)
        if taken:
            await _record(Action.APPROVAL, f"{scope.value}: {pending.get(approval_id, '')}")
        return taken

    async def conversations(self, *, limit: int = 200) -> Sequence[ConversationSummary]:
        """See `Workbench.conversations`."""
        store = await self._app.conversations.open_store()
        return await store.list(root=self._app.root, limit=limit)

    async def conversation(self, reference: str) -> Session:
        """See `Workbench.conversation`."""
        return await self._app.conversations.show(reference)

    async def conversation_costs(self, conversations: Collection[UUID]) -> Mapping[UUID, float]:
        """See `Workbench.conversation_costs`."""
        return await asyncio.to_thread(recorded_costs, self._app.traces, conversations)

    async def rename_conversation(self, conversation_id: UUID, title: str) -> None:
        """See `Workbench.rename_conversation`."""
        await self._app.conversations.rename(str(conversation_id), title)

    async def change_mode(self, conversation_id: UUID, mode: Mode) -> None:
        """See `Workbench.change_mode`."""
        await change_saved_mode(self._app, str(conversation_id), mode)

    async def branch_conversation(self, conversation_id: UUID, at: int) -> Session:
        """See `Workbench.branch_conversation`."""
        await self._app.conversations.branch(str(conversation_id), at)
        return await self._app.conversations.show(str(conversation_id))

    async def delete_conversation(self, conversation_id: UUID) -> None:
        """See `Workbench.delete_conversation`."""
        await self._app.conversations.delete(str(conversation_id))
        await _record(Action.DELETION, f"conversation {conversation_id}")

    async def note_export(self, conversation_id: UUID) -> None:
        """See `Workbench.note_export`."""
        await _record(Action.EXPORT, f"conversation {conversation_id}")

    async def plan_rewind(
        self, conversation_id: UUID, prompt: int, scope: RewindScope
    ) -> RewindPlan:
        """See `Workbench.plan_rewind`."""
        return await Rewinds(self._app).plan_rewind(str(conversation_id), prompt, scope)

    async def rewind(
        self, conversation_id: UUID, prompt: int, scope: RewindScope, *, keep_changed: bool
    ) -> RewindOutcome:
        """See `Workbench.rewind`."""
        return await Rewinds(self._app).rewind(
            str(conversation_id), prompt, scope, keep_changed=keep_changed
        )

    async def plan_undo_rewind(self, conversation_id: UUID) -> UndoRewindPlan:
        """See `Workbench.plan_undo_rewind`."""
        return await Rewinds(self._app).plan_undo(str(conversation_id))

    async def undo_rewind(self, conversation_id: UUID, *, keep_changed: bool) -> RewindOutcome:
        """See `Workbench.undo_rewind`."""
        return await Rewinds(self._app).undo_rewind(str(conversation_id), keep_changed=keep_changed)

    async def plan_context(
        self,
        conversation: UUID | None,
        text: str,
        *,
        choices: Choices,
        attachments: Sequence[Attachment] = (),
    ) -> ContextPlan:
        """See `Workbench.plan_context`."""
        session = None if conversation is None else str(conversation)
        return await self._turns.plan(session, text=text, attachments=attachments, choices=choices)

    async def change_context(self, conversation_id: UUID, change: ChoicesChange) -> None:
        """See `Workbench.change_context`."""
        await change_choices(self._app, str(conversation_id), change)

    async def recorded_context(self, trace_id: str, span_id: str) -> ContextPlan:
        """See `Workbench.recorded_context`."""
        return await asyncio.to_thread(recorded_plan, self._app.traces, trace_id, span_id)

    async def models(self) -> ModelList:
        """See `Workbench.models`."""
        return await model_catalog(self._app.settings, self._app.env)

    async def test_model(self, provider: str, model: str | None) -> ModelTest:
        """See `Workbench.test_model`."""
        return await try_model(self._app.settings, self._app.env, provider, model)

    async def model_vendors(self, provider: str, model: str) -> Sequence[Vendor]:
        """See `Workbench.model_vendors`."""
        return await model_vendors(self._app.settings, self._app.env, provider, model)

    async def save_model(self, name: str) -> SavedSetting:
        """See `Workbench.save_model`."""
        return await asyncio.to_thread(save_setting, self._app.root, self._app.env, "model", name)

    async def first_start_advice(self) -> str | None:
        """See `Workbench.first_start_advice`."""
        return await first_start_advice(self._app.settings, self._app.env)

    async def proposals(self, *, limit: int = 100) -> Sequence[ListedProposal]:
        """See `Workbench.proposals`."""
        return list(map(ListedProposal.of, await self._proposals.list(limit=limit)))

    async def proposal(self, proposal_id: UUID) -> ShownProposal:
        """See `Workbench.proposal`."""
        return await self._proposals.show(str(proposal_id))

    async def apply(
        self,
        proposal_id: UUID,
        *,
        hunks: Collection[int] | None = None,
        words: str | None = None,
    ) -> ListedProposal:
        """See `Workbench.apply`."""
        applied = await self._proposals.approve(str(proposal_id), hunks=hunks, words=words)
        await _record(Action.APPROVAL, f"apply {proposal_id}")
        return ListedProposal.of(applied)

    async def deny(
        self,
        proposal_id: UUID,
        *,
        hunks: Collection[int] | None = None,
        words: str | None = None,
    ) -> ListedProposal:
        """See `Workbench.deny`."""
        denied = await self._proposals.deny(str(proposal_id), hunks=hunks, words=words)
        await _record(Action.APPROVAL, f"deny {proposal_id}")
        return ListedProposal.of(denied)

    async def undo(self, proposal_id: UUID, *, keep_changed: bool = False) -> ListedProposal:
        """See `Workbench.undo`."""
        undone = await self._proposals.undo(str(proposal_id), keep_changed=keep_changed)
        await _record(Action.APPROVAL, f"undo {proposal_id}")
        return ListedProposal.of(undone)

    async def redo(self, proposal_id: UUID) -> ListedProposal:
        """See `Workbench.redo`."""
        redone = await self._proposals.redo(str(proposal_id))
        await _record(Action.APPROVAL, f"redo {proposal_id}")
        return ListedProposal.of(redone)

    async def restage(self, proposal_id: UUID) -> ListedProposal:
        """See `Workbench.restage`."""
        return ListedProposal.of(await self._proposals.restage(str(proposal_id)))

    async def proposed_content(self, proposal_id: UUID, path: str) -> bytes:
        """See `Workbench.proposed_content`."""
        return await self._proposals.content(str(proposal_id), path)

    async def amend(self, proposal_id: UUID, path: str, content: bytes) -> ListedProposal:
        """See `Workbench.amend`."""
        return ListedProposal.of(await self._proposals.amend(str(proposal_id), path, content))

    async def choices(self, approval_id: UUID) -> Sequence[Choice]:
        """See `Workbench.choices`."""
        return self._permissions.choices(approval_id)

    async def permissions(self, conversation: UUID | None) -> Sequence[Permission]:
        """See `Workbench.permissions`."""
        return await self._permissions.list(conversation)

    async def revoke(self, permission_id: str) -> None:
        """See `Workbench.revoke`."""
        await self._permissions.revoke(permission_id)
        await _record(Action.APPROVAL, f"revoke the permission {permission_id}")

    async def checks(self) -> Sequence[Check]:
        """See `Workbench.checks`."""
        return await self._check_runs.find()

    async def program_to_allow(self, check: Check) -> Program | None:
        """See `Workbench.program_to_allow`."""
        return await self._check_runs.program_to_allow(check)

    async def run_check(
        self,
        check: Check,
        take_line: TakeLine,
        *,
        allowed: Program | None = None,
        always: bool = False,
    ) -> CheckRun:
        """See `Workbench.run_check`."""
        if allowed is not None and always:
            await self._check_runs.always_allow(check, allowed)
        if allowed is not None:
            await _record(Action.APPROVAL, f"run the check {check.name} with {allowed}")
        return await self._check_runs.run(check, take_line=take_line, allowed=allowed)

    async def search(self, query: str, *, top_k: int = 20) -> SearchResults:
        """See `Workbench.search`."""
        return await asyncio.to_thread(self._app.index.search, query, top_k=top_k)

    async def complete(self, typed: str) -> Sequence[Completion]:
        """See `Workbench.complete`."""
        return await asyncio.to_thread(complete, self._app.index, typed)

    async def trace(self, request_id: UUID) -> Trace:
        """See `Workbench.trace`."""
        return await asyncio.to_thread(self._app.traces.trace, request_id.hex)

    async def trace_view(self, trace_id: str) -> TraceView:
        """See `Workbench.trace_view`."""
        return await asyncio.to_thread(lambda: view_trace(self._app.traces.trace(trace_id)))

    async def span(self, trace_id: str, span_id: str) -> Span:
        """See `Workbench.span`."""
        found = await asyncio.to_thread(self._app.traces.span, trace_id, span_id)
        if found is None:
            raise NotFoundError(f"There is no span {span_id} in the trace {trace_id}.")
        return found

    async def excerpt(self, source: SourceRange) -> Excerpt:
        """See `Workbench.excerpt`."""
        return await asyncio.to_thread(read_excerpt, self._app.root, self._app.index, source)

    async def neighbours(self, name: str, file: str, relation: Relation) -> Neighbours:
        """See `Workbench.neighbours`."""
        return await asyncio.to_thread(neighbours, self._app.index, name, file, relation)

    async def final(self, request_id: UUID) -> Final | None:
        """See `Workbench.final`."""
        task = self._turns.turn(request_id).task
        await asyncio.wait({task})
        if task.cancelled() or task.exception() is not None:
            return None
        return Final.of(task.result(), request_id.hex)

    async def turn_records(self, conversation_id: UUID) -> Mapping[UUID, TurnRecord]:
        """See `Workbench.turn_records`."""
        store = await self._app.conversations.open_store()
        return await turn_records(self._app.traces, store, conversation_id)

    async def ask_analyst(
        self,
        question: str,
        page: PageContext,
        *,
        conversation: UUID | None,
        asked_in: UUID | None,
        model: str | None,
    ) -> StartedTurn:
        """See `Workbench.ask_analyst`."""
        turn = await self._turns.start_question(
            question, page, agent=ORCHESTRATOR,
            conversation=None if conversation is None else str(conversation),
            asked_in=asked_in, model=model,
        )  # fmt: skip
        return StartedTurn(turn.request_id, turn.conversation_id)

    async def page_address(self) -> str | None:
        """See `Workbench.page_address`."""
        return await asyncio.to_thread(find_server, self._app.root)

    @property
    def _proposals(self) -> ProposalService:
        return ProposalService.of(self._app)


async def _record(action: Action, subject: str) -> None:
    await asyncio.to_thread(record, action, subject, Actor.TERMINAL)
