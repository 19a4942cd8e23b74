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
from treadle.app.choices import Choices
from treadle.app.code_exploration import (
    Excerpt,
    Neighbours,
    Relation,
    neighbours,
    read_excerpt,
)
from treadle.app.completion import Completion, complete
from treadle.app.conversation_answers import Final, Session
from treadle.app.conversation_costs import recorded_costs
from treadle.app.index_refresh import refresh_in_background
from treadle.app.proposal_answers import ListedProposal, ShownProposal, hunk_positions
from treadle.app.running_server import find_server
from treadle.app.turn_records import TurnRecord, read_turn_records
from treadle.app.turns import Turns
from treadle.code import SearchResults
from treadle.code.files.checkout import Checkout
from treadle.config.model import Settings
from treadle.display.trace_tree import TraceView, view_trace
from treadle.edits.proposal_store import NO_PROPOSALS
from treadle.edits.service import Edits
from treadle.errors import NotFoundError, StoreError
from treadle.events import Event
from treadle.events.types import ApprovalRequested, ApprovalScope, SourceRange
from treadle.session import ConversationSummary
from treadle.session.attachments import Attachment
from treadle.spans.span import Span, Trace
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

    @classmethod
    @asynccontextmanager
    async def open(
        cls, root: Path, settings: Settings, *, warnings: Sequence[str] = ()
    ) -> AsyncIterator[Self]:
        """Open the repository at `root`. The index is refreshed in the background.

        `warnings` are about the settings. Raises StoreError and ConfigError.
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
        """Yield the events of the bus. Questions for approval reach this terminal meanwhile."""
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
    ) -> StartedTurn:
        """See `Workbench.send`."""
        session = None if conversation is None else str(conversation)
        turn = await self._turns.start(
            text, session=session, attachments=attachments, choices=choices
        )
        return StartedTurn(turn.request_id, turn.conversation_id)

    async def steer(self, request_id: UUID, text: str) -> bool:
        """See `Workbench.steer`."""
        return await self._turns.steer(request_id, text)

    async def cancel(self, request_id: UUID) -> bool:
        """See `Workbench.cancel`."""
        return self._turns.cancel(request_id)

    async def pending_approvals(self) -> Sequence[ApprovalRequested]:
        """See `Workbench.pending_approvals`."""
        return self._app.approvals.pending()

    async def answer(
        self, approval_id: UUID, scope: ApprovalScope, words: str | None = None
    ) -> bool:
        """See `Workbench.answer`."""
        return self._app.approvals.answer(approval_id, scope, words)

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

    async def branch_conversation(self, conversation_id: UUID, at: int) -> Session:
        """See `Workbench.branch_conversation`."""
        await self._app.conversations.branch(str(conversation_id), at)
        return await self._app.conversations.show(str(conversation_id))

    async def delete_conversation(self, conversation_id: UUID) -> None:
        """See `Workbench.delete_conversation`."""
        await self._app.conversations.delete(str(conversation_id))

    async def proposals(self, *, limit: int = 100) -> Sequence[ListedProposal]:
        """See `Workbench.proposals`."""
        listed = await asyncio.to_thread(self._edits.list, limit=limit)
        return [ListedProposal.of(each) for each in listed]

    async def proposal(self, proposal_id: UUID) -> ShownProposal:
        """See `Workbench.proposal`."""

        def read(edits: Edits) -> ShownProposal:
            proposal = edits.get(proposal_id)
            return ShownProposal.of(proposal, edits.freshness(proposal))

        return await asyncio.to_thread(read, self._edits)

    async def decide_hunks(
        self, proposal_id: UUID, denied: Collection[int], words: str | None = None
    ) -> ListedProposal:
        """See `Workbench.decide_hunks`."""

        def deny(edits: Edits) -> ListedProposal:
            hunks = hunk_positions(edits.get(proposal_id), denied)
            return ListedProposal.of(edits.deny(proposal_id, words=words, hunks=hunks))

        return await asyncio.to_thread(deny, self._edits)

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
        return await asyncio.to_thread(lambda: read_turn_records(self._app.traces, conversation_id))

    async def ask_analyst(
        self, question: str, page: PageContext, *, conversation: UUID | None, model: str | None
    ) -> StartedTurn:
        """See `Workbench.ask_analyst`."""
        turn = await self._turns.start_question(
            question, page, agent=ORCHESTRATOR,
            conversation=None if conversation is None else str(conversation), model=model,
        )  # fmt: skip
        return StartedTurn(turn.request_id, turn.conversation_id)

    async def page_address(self) -> str | None:
        """See `Workbench.page_address`."""
        return await asyncio.to_thread(find_server, self._app.root)

    @property
    def _edits(self) -> Edits:
        if self._app.edits is None:
            raise StoreError(self._app.edits_error or NO_PROPOSALS)
        return self._app.edits
