"""Serves a repository to the terminal through a `treadle serve` that already runs.

The web page and the other terminals of this server show the same turns, approvals and proposals.
"""

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self, TypeVar
from uuid import UUID

from treadle.agents.page_context import PageContext
from treadle.app.agents import ORCHESTRATOR
from treadle.app.choices import Choices
from treadle.app.code_exploration import Excerpt, Neighbours, Relation
from treadle.app.completion import Completion
from treadle.app.context_choices import ChoicesChange
from treadle.app.context_plan import ContextPlan
from treadle.app.conversation_answers import Final, Session
from treadle.app.model_catalog import ModelList
from treadle.app.permissions import Choice, Permission
from treadle.app.proposal_answers import ListedProposal, ShownProposal
from treadle.app.repository_state import RepositoryState
from treadle.app.rewind_plan import RewindOutcome, RewindPlan, UndoRewindPlan
from treadle.app.turn_records import TurnRecord
from treadle.checks.model import Check, CheckRun
from treadle.checks.runner import TakeLine
from treadle.clock import Clock, SystemClock
from treadle.code import SearchResults, View
from treadle.config.model import TerminalSettings
from treadle.config.user_file import SavedSetting
from treadle.display.trace_tree import TraceView
from treadle.errors import NotFoundError, TreadleError
from treadle.events import Event
from treadle.events.types import ApprovalRequested, ApprovalScope, Mode, SourceRange
from treadle.json_values import to_json
from treadle.llm import ModelTest
from treadle.llm.vendors import Vendor
from treadle.session import ConversationSummary
from treadle.session.attachments import Attachment
from treadle.session.rewinds import RewindScope
from treadle.spans.span import Span, Trace
from treadle.tools.approvals.question import Program
from treadle.tui.remote_events import RemoteEvents
from treadle.tui.server_client import ServerClient, ServerLostError, segment
from treadle.tui.workbench import ConnectionChanged, Missed, StartedTurn, Workbench

T = TypeVar("T")

_WAIT_SECONDS = 50
"""The maximum time that one request waits for the end of a turn."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """The server's answer to a message of the person or to a question for the analyst."""

    request_id: UUID
    session_id: UUID | None
    conversation_id: UUID | None
    state: str
    final: Final | None

    @property
    def started(self) -> StartedTurn:
        conversation = self.session_id or self.conversation_id
        assert conversation is not None
        return StartedTurn(self.request_id, conversation)


def _decision(hunks: Collection[int] | None, words: str | None) -> dict[str, object]:
    return {"hunks": None if hunks is None else sorted(hunks), "words": words}


class RemoteWorkbench(Workbench):
    """The repository of a server. Open it with `open`."""

    def __init__(
        self,
        server: ServerClient,
        events: RemoteEvents,
        root: str,
        terminal: TerminalSettings,
    ) -> None:
        self._server = server
        self._events = events
        self.root = root
        self.address = server.address
        self.warnings = ()
        self.terminal = terminal

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        address: str,
        token: str | None,
        *,
        terminal: TerminalSettings | None = None,
        clock: Clock | None = None,
    ) -> AsyncIterator[Self]:
        """Connect to the server at `address`.

        Raises TreadleError if the server refuses the connection or does not answer.
        """
        async with ServerClient.open(address, token) as server:
            health = await server.get("/health", Mapping[str, object])
            events = RemoteEvents(server, await server.socket(None), clock or SystemClock())
            workbench = cls(server, events, str(health["root"]), terminal or TerminalSettings())
            if health.get("recording"):
                workbench.warnings = (str(health["recording"]),)
            try:
                yield workbench
            finally:
                await events.close()

    def events(self) -> AsyncIterator[Event | Missed | ConnectionChanged]:
        """See `Workbench.events`.

        Events that arrive while a message is sent are yielded after the server's answer. The
        terminal then knows the turn to which these events belong.
        """
        return self._events.receive()

    async def branch(self) -> str | None:
        """See `Workbench.branch`."""
        state: RepositoryState = await self._server.get("/repository", RepositoryState)
        return state.branch or (state.commit or "")[:8] or None

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
        body = {
            "text": text,
            "attachments": to_json(attachments),
            "session": None if conversation is None else str(conversation),
            "model": choices.model,
            "tools": choices.tools,
            "stream": choices.stream,
            "mode": mode,
        }
        with self._events.held():
            turn: _Turn = await self._server.post("/turns", body, _Turn)
            return turn.started

    async def steer(self, request_id: UUID, text: str) -> bool:
        """See `Workbench.steer`."""
        answer = await self._server.post(f"/turns/{request_id}/steer", {"text": text})
        return bool(answer["taken"])

    async def cancel(self, request_id: UUID) -> bool:
        """See `Workbench.cancel`."""
        answer = await self._server.post(f"/turns/{request_id}/cancel")
        return bool(answer["cancelled"])

    async def running_turns(self) -> Collection[UUID]:
        """See `Workbench.running_turns`."""
        answer = await self._server.get("/turns")
        return [UUID(turn["request_id"]) for turn in answer["data"]]

    async def pending_approvals(self) -> Sequence[ApprovalRequested]:
        """See `Workbench.pending_approvals`."""
        return await self._list("/approvals", ApprovalRequested)

    async def answer(
        self, approval_id: UUID, scope: ApprovalScope, words: str | None = None
    ) -> bool:
        """See `Workbench.answer`."""
        body = {"scope": scope.value, "words": words}
        answer = await self._server.post(f"/approvals/{approval_id}", body)
        return bool(answer["taken"])

    async def conversations(self, *, limit: int = 200) -> Sequence[ConversationSummary]:
        """See `Workbench.conversations`."""
        return await self._list("/sessions", ConversationSummary, limit=limit)

    async def conversation(self, reference: str) -> Session:
        """See `Workbench.conversation`."""
        session: Session = await self._server.get(f"/sessions/{segment(reference)}", Session)
        return session

    async def conversation_costs(self, conversations: Collection[UUID]) -> Mapping[UUID, float]:
        """See `Workbench.conversation_costs`."""
        if not conversations:
            return {}
        answer = await self._server.get("/sessions/costs", id=list(conversations))
        costs: Mapping[UUID, float] = self._server.read(answer["data"], Mapping[UUID, float])
        return costs

    async def rename_conversation(self, conversation_id: UUID, title: str) -> None:
        """See `Workbench.rename_conversation`."""
        await self._server.patch(f"/sessions/{conversation_id}", {"title": title})

    async def change_mode(self, conversation_id: UUID, mode: Mode) -> None:
        """See `Workbench.change_mode`."""
        await self._server.patch(f"/sessions/{conversation_id}", {"mode": mode})

    async def branch_conversation(self, conversation_id: UUID, at: int) -> Session:
        """See `Workbench.branch_conversation`."""
        session: Session = await self._server.patch(
            f"/sessions/{conversation_id}", {"at": at}, Session
        )
        return session

    async def delete_conversation(self, conversation_id: UUID) -> None:
        """See `Workbench.delete_conversation`."""
        await self._server.delete(f"/sessions/{conversation_id}")

    async def note_export(self, conversation_id: UUID) -> None:
        """Do nothing, since the log is at the server."""

    async def proposals(self, *, limit: int = 100) -> Sequence[ListedProposal]:
        """See `Workbench.proposals`."""
        return await self._list("/proposals", ListedProposal, limit=limit)

    async def proposal(self, proposal_id: UUID) -> ShownProposal:
        """See `Workbench.proposal`."""
        shown: ShownProposal = await self._server.get(f"/proposals/{proposal_id}", ShownProposal)
        return shown

    async def apply(
        self,
        proposal_id: UUID,
        *,
        hunks: Collection[int] | None = None,
        words: str | None = None,
    ) -> ListedProposal:
        """See `Workbench.apply`."""
        return await self._decide(proposal_id, "approve", _decision(hunks, words))

    async def deny(
        self,
        proposal_id: UUID,
        *,
        hunks: Collection[int] | None = None,
        words: str | None = None,
    ) -> ListedProposal:
        """See `Workbench.deny`."""
        return await self._decide(proposal_id, "deny", _decision(hunks, words))

    async def undo(self, proposal_id: UUID, *, keep_changed: bool = False) -> ListedProposal:
        """See `Workbench.undo`."""
        return await self._decide(proposal_id, "undo", None, keep_changed=keep_changed)

    async def redo(self, proposal_id: UUID) -> ListedProposal:
        """See `Workbench.redo`."""
        return await self._decide(proposal_id, "redo", None)

    async def restage(self, proposal_id: UUID) -> ListedProposal:
        """See `Workbench.restage`."""
        return await self._decide(proposal_id, "restage", None)

    async def _decide(
        self,
        proposal_id: UUID,
        decision: str,
        body: Mapping[str, object] | None,
        **parameters: object,
    ) -> ListedProposal:
        path = f"/proposals/{proposal_id}/{decision}"
        listed: ListedProposal = await self._server.post(path, body, ListedProposal, **parameters)
        return listed

    async def proposed_content(self, proposal_id: UUID, path: str) -> bytes:
        """See `Workbench.proposed_content`."""
        answer = await self._server.get(f"/proposals/{proposal_id}/files", path=path)
        return b64decode(answer["base64"])

    async def amend(self, proposal_id: UUID, path: str, content: bytes) -> ListedProposal:
        """See `Workbench.amend`."""
        body = {"path": path, "base64": b64encode(content).decode()}
        listed: ListedProposal = await self._server.put(
            f"/proposals/{proposal_id}/files", body, ListedProposal
        )
        return listed

    async def choices(self, approval_id: UUID) -> Sequence[Choice]:
        """See `Workbench.choices`."""
        return await self._list(f"/approvals/{approval_id}/choices", Choice)

    async def permissions(self, conversation: UUID | None) -> Sequence[Permission]:
        """See `Workbench.permissions`."""
        return await self._list("/permissions", Permission, conversation_id=conversation)

    async def revoke(self, permission_id: str) -> None:
        """See `Workbench.revoke`."""
        await self._server.delete(f"/permissions/{segment(permission_id)}")

    async def checks(self) -> Sequence[Check]:
        """See `Workbench.checks`."""
        return await self._list("/checks", Check)

    async def program_to_allow(self, check: Check) -> Program | None:
        """See `Workbench.program_to_allow`."""
        answer = await self._server.get(f"/checks/{segment(check.name)}/program")
        program: Program | None = self._server.read(answer["program"], Program | None)
        return program

    async def run_check(
        self,
        check: Check,
        take_line: TakeLine,
        *,
        allowed: Program | None = None,
        always: bool = False,
    ) -> CheckRun:
        """See `Workbench.run_check`."""
        body = {"allowed": to_json(allowed), "always": always}
        async for data in self._server.lines(f"/checks/{segment(check.name)}/run", body):
            if "run" in data:
                run: CheckRun = self._server.read(data["run"], CheckRun)
                return run
            if "error" in data:
                raise TreadleError(data["error"]["message"], hint=data["error"]["hint"])
            take_line(data["line"])
        raise ServerLostError(f"The server at {self.address} ended before the check.")

    async def search(self, query: str, *, top_k: int = 20) -> SearchResults:
        """See `Workbench.search`."""
        answer = await self._server.get("/code/search", q=query, top_k=top_k)
        results: SearchResults = self._server.read(answer, SearchResults)
        index = answer["index"]
        return results._replace(view=View.ITEMS, files=index["files"], items=index["items"])

    async def complete(self, typed: str) -> Sequence[Completion]:
        """See `Workbench.complete`."""
        return await self._list("/code/completions", Completion, typed=typed)

    async def excerpt(self, source: SourceRange) -> Excerpt:
        """See `Workbench.excerpt`."""
        excerpt: Excerpt = await self._server.get(
            "/code/excerpt", Excerpt,
            file=source.file, first_line=source.start_line, last_line=source.end_line,
        )  # fmt: skip
        return excerpt

    async def neighbours(self, name: str, file: str, relation: Relation) -> Neighbours:
        """See `Workbench.neighbours`."""
        found: Neighbours = await self._server.get(
            "/code/neighbours", Neighbours, name=name, file=file, relation=relation.value
        )
        return found

    async def plan_rewind(
        self, conversation_id: UUID, prompt: int, scope: RewindScope
    ) -> RewindPlan:
        """See `Workbench.plan_rewind`."""
        path = f"/sessions/{conversation_id}/rewind"
        plan: RewindPlan = await self._server.get(
            path, RewindPlan, prompt=prompt, scope=scope.value
        )
        return plan

    async def rewind(
        self, conversation_id: UUID, prompt: int, scope: RewindScope, *, keep_changed: bool
    ) -> RewindOutcome:
        """See `Workbench.rewind`."""
        body = {"prompt": prompt, "scope": scope.value, "keep_changed": keep_changed}
        path = f"/sessions/{conversation_id}/rewind"
        outcome: RewindOutcome = await self._server.post(path, body, RewindOutcome)
        return outcome

    async def plan_undo_rewind(self, conversation_id: UUID) -> UndoRewindPlan:
        """See `Workbench.plan_undo_rewind`."""
        path = f"/sessions/{conversation_id}/rewind/undo"
        plan: UndoRewindPlan = await self._server.get(path, UndoRewindPlan)
        return plan

    async def undo_rewind(self, conversation_id: UUID, *, keep_changed: bool) -> RewindOutcome:
        """See `Workbench.undo_rewind`."""
        path = f"/sessions/{conversation_id}/rewind/undo"
        outcome: RewindOutcome = await self._server.post(
            path, None, RewindOutcome, keep_changed=keep_changed
        )
        return outcome

    async def plan_context(
        self,
        conversation: UUID | None,
        text: str,
        *,
        choices: Choices,
        attachments: Sequence[Attachment] = (),
    ) -> ContextPlan:
        """See `Workbench.plan_context`."""
        body = {
            "text": text,
            "attachments": to_json(attachments),
            "session": None if conversation is None else str(conversation),
            "model": choices.model,
            "tools": choices.tools,
        }
        plan: ContextPlan = await self._server.post("/turns/plan", body, ContextPlan)
        return plan

    async def change_context(self, conversation_id: UUID, change: ChoicesChange) -> None:
        """See `Workbench.change_context`."""
        await self._server.patch(f"/sessions/{conversation_id}/context", to_json(change))

    async def recorded_context(self, trace_id: str, span_id: str) -> ContextPlan:
        """See `Workbench.recorded_context`."""
        path = f"/recorded_plans/{segment(trace_id)}/{segment(span_id)}"
        plan: ContextPlan = await self._server.get(path, ContextPlan)
        return plan

    async def models(self) -> ModelList:
        """See `Workbench.models`."""
        models: ModelList = await self._server.get("/models", ModelList)
        return models

    async def test_model(self, provider: str, model: str | None) -> ModelTest:
        """See `Workbench.test_model`."""
        path = f"/providers/{segment(provider)}/test"
        answer = await self._server.post(path, {} if model is None else {"model": model})
        test: ModelTest = self._server.read({**answer, "model": answer["model"] or ""}, ModelTest)
        return test

    async def model_vendors(self, provider: str, model: str) -> Sequence[Vendor]:
        """See `Workbench.model_vendors`."""
        return await self._list("/models/vendors", Vendor, provider=provider, model=model)

    async def save_model(self, name: str) -> SavedSetting:
        """See `Workbench.save_model`."""
        saved: SavedSetting = await self._server.put(
            "/models/default", {"name": name}, SavedSetting
        )
        return saved

    async def first_start_advice(self) -> str | None:
        """See `Workbench.first_start_advice`."""
        answer = await self._server.get("/models/advice")
        advice: str | None = answer["advice"]
        return advice

    async def trace(self, request_id: UUID) -> Trace:
        """See `Workbench.trace`."""
        trace: Trace = await self._server.get(f"/whole_traces/{request_id.hex}", Trace)
        return trace

    async def trace_view(self, trace_id: str) -> TraceView:
        """See `Workbench.trace_view`."""
        view: TraceView = await self._server.get(f"/trace_views/{segment(trace_id)}", TraceView)
        return view

    async def span(self, trace_id: str, span_id: str) -> Span:
        """See `Workbench.span`."""
        path = f"/spans/{segment(trace_id)}/{segment(span_id)}"
        answer = await self._server.get(path, whole=True)
        span: Span = self._server.read(answer["span"], Span)
        return span

    async def final(self, request_id: UUID) -> Final | None:
        """See `Workbench.final`."""
        while True:
            try:
                turn: _Turn = await self._server.get(
                    f"/turns/{request_id}", _Turn, wait=_WAIT_SECONDS
                )
            except NotFoundError:
                return None
            if turn.state != "running":
                return turn.final

    async def turn_records(self, conversation_id: UUID) -> Mapping[UUID, TurnRecord]:
        """See `Workbench.turn_records`."""
        answer = await self._server.get(f"/sessions/{conversation_id}/turns")
        kind = Mapping[UUID, TurnRecord]
        records: Mapping[UUID, TurnRecord] = self._server.read(answer["data"], kind)
        return records

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
        body = {
            "question": question,
            "context": page.model_dump(mode="json"),
            "conversation": None if conversation is None else str(conversation),
            "asked_in": None if asked_in is None else str(asked_in),
            "model": model,
        }
        with self._events.held():
            turn: _Turn = await self._server.post(f"/agents/{ORCHESTRATOR}/ask", body, _Turn)
            return turn.started

    async def page_address(self) -> str | None:
        """See `Workbench.page_address`."""
        return self.address

    async def _list(self, path: str, kind: type[T], **parameters: object) -> list[T]:
        """Read the list in the key `data` of an answer."""
        answer = await self._server.get(path, Mapping[str, object], **parameters)
        return [self._server.read(each, kind) for each in answer["data"]]
