"""Returns a conversation, the code, or both to the state before a prompt.

Such a step is a rewind. A plan states the effects of a rewind before it changes anything. A rewind
can be undone. The service of proposals undoes and redoes the changes of files, so lines that a
person changed later are never overwritten.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from treadle.app.irreversible_calls import irreversible_calls
from treadle.app.proposals import ProposalService
from treadle.app.rewind_plan import (
    CodePlan,
    RewindOutcome,
    RewindPlan,
    UndoRewindPlan,
    ancestors,
    code_plan,
    descendants,
    head_of,
    prompt_entry,
    proposals_since,
)
from treadle.edits.model import ProposalState
from treadle.errors import NotFoundError, TreadleError
from treadle.events.types import ErrorKind
from treadle.llm.messages import UserMessage
from treadle.session import Conversation, Entry
from treadle.session.rewinds import Rewind, RewindScope, RewindStore, UndoneProposal

if TYPE_CHECKING:
    from treadle.app.application import App

T = TypeVar("T")

_EVERY = 1_000_000
"""The maximum number of proposals that are read. No conversation has that many."""


class RewindConflictError(TreadleError):
    """Raised if later changes of files prevent a rewind or the undo of a rewind.

    In this case, nothing was changed.
    """

    kind = ErrorKind.CONFLICT


class Rewinds:
    """Plans, carries out and undoes the rewinds of the conversations of one repository.

    A reference is the id of a conversation, a unique prefix of an id, or "last". All methods raise
    NotFoundError, UsageError and StoreError. `rewind` and `undo_rewind` raise TurnRunningError
    while a turn of the conversation runs. They complete their work even if the caller is cancelled.
    """

    def __init__(self, app: "App") -> None:
        self._app = app

    async def plan_rewind(
        self, reference: str, prompt: int, scope: RewindScope = RewindScope.BOTH
    ) -> RewindPlan:
        """State the effects of a rewind to the user message `prompt`. This changes nothing."""
        plan, _ = await self._prepare(reference, prompt, scope)
        return plan

    async def rewind(
        self,
        reference: str,
        prompt: int,
        scope: RewindScope = RewindScope.BOTH,
        *,
        keep_changed: bool = False,
    ) -> RewindOutcome:
        """Go back to the state before the user message `prompt`.

        With `keep_changed`, files in conflict stay as they are. Without it, a conflict raises
        RewindConflictError, and nothing changes. If a file cannot be written, this method applies
        the proposals again that it already undid, and raises EditError.
        """
        return await _to_its_end(self._rewind(reference, prompt, scope, keep_changed=keep_changed))

    async def plan_undo(self, reference: str) -> UndoRewindPlan:
        """State the effects of undoing the newest rewind. This changes nothing."""
        plan, _, _ = await self._prepare_undo(reference)
        return plan

    async def undo_rewind(self, reference: str, *, keep_changed: bool = False) -> RewindOutcome:
        """Undo the newest rewind: restore the former branch, and redo the undone proposals.

        With `keep_changed`, files in conflict stay as they are. Without it, a conflict raises
        RewindConflictError, and nothing changes.
        """
        return await _to_its_end(self._undo_rewind(reference, keep_changed=keep_changed))

    async def _rewind(
        self, reference: str, prompt: int, scope: RewindScope, *, keep_changed: bool
    ) -> RewindOutcome:
        async with self._free(reference) as conversation_id:
            plan, record = await self._prepare(conversation_id, prompt, scope)
            _refuse_conflicts(plan.code, "undone", keep_changed=keep_changed)
            rewinds = await self._rewinds()
            stored = await rewinds.begin(record)
            try:
                await self._undo_all(stored.proposals)
                if scope.moves_conversation:
                    await self._move_head(rewinds, stored)
            except BaseException:
                left, _ = await self._code_undone_by(stored)
                # If nothing is left to undo, the saved rewind is useless. Otherwise a person needs
                # it to undo the rest.
                if not left.proposals and not left.conflicts:
                    await rewinds.discard(stored)
                raise
        await self._app.conversations.announce(plan.conversation_id)
        if not scope.moves_conversation:
            return _outcome(plan, stored.proposals)
        outcome = _outcome(plan, stored.proposals)
        return replace(outcome, text=plan.text, attached=plan.attached, images=plan.images)

    async def _undo_rewind(self, reference: str, *, keep_changed: bool) -> RewindOutcome:
        async with self._free(reference) as conversation_id:
            plan, record, steps = await self._prepare_undo(conversation_id)
            _refuse_conflicts(plan.code, "redone", keep_changed=keep_changed)
            head = head_of(await self._load(conversation_id))
            await self._redo_all(steps)
            try:
                await (await self._rewinds()).undo(record, head=head)
            except BaseException:
                await self._undo_all(steps[::-1])
                raise
        await self._app.conversations.announce(plan.conversation_id)
        return _outcome(plan, steps)

    @asynccontextmanager
    async def _free(self, reference: str) -> AsyncIterator[str]:
        """Let no turn of the conversation begin until the context ends. Yields the whole id."""
        found = await self._load(reference)
        async with self._app.conversations.exclusive(found.id, found.title):
            yield str(found.id)

    async def _prepare(
        self, reference: str, prompt: int, scope: RewindScope
    ) -> tuple[RewindPlan, Rewind]:
        conversation = await self._load(reference)
        entry = prompt_entry(conversation, prompt)
        assert isinstance(entry.message, UserMessage)
        tree = await self._tree(conversation)
        after = descendants(tree, entry.number)
        code, steps, not_undone = CodePlan(), tuple[UndoneProposal, ...](), tuple[str, ...]()
        if scope.undoes_code:
            code, steps = await self._code_since(conversation, entry, tree, after)
            registry = self._app.registry.with_tools(self._app.bridge.tools())
            later = [each for each in tree if each.number in after]
            not_undone = irreversible_calls(later, registry)
        head, messages = head_of(conversation), 0
        if scope.moves_conversation:
            head, messages = entry.parent, len(conversation.entries)
            messages -= conversation.entries.index(entry)
        plan = RewindPlan(
            conversation.id, prompt, entry.message.text, entry.message.attached,
            tuple(each.name for each in entry.message.images), scope, head, messages, code,
            not_undone,
        )  # fmt: skip
        return plan, Rewind(conversation.id, prompt, scope, head_of(conversation), head, steps)

    async def _code_since(
        self,
        conversation: Conversation,
        entry: Entry,
        tree: Sequence[Entry],
        after: frozenset[int],
    ) -> tuple[CodePlan, tuple[UndoneProposal, ...]]:
        edits = ProposalService.of(self._app).edits

        def plan() -> tuple[CodePlan, tuple[UndoneProposal, ...]]:
            states = {ProposalState.APPLIED, ProposalState.PARTLY_UNDONE}
            found = edits.list(states=states, session_id=conversation.id, limit=_EVERY)
            chosen = proposals_since(found, entry, tree, after)
            simulation = edits.simulate([(each.id, None) for each in chosen], ProposalState.UNDONE)
            return code_plan(simulation, ProposalState.UNDONE)

        return await asyncio.to_thread(plan)

    async def _prepare_undo(
        self, reference: str
    ) -> tuple[UndoRewindPlan, Rewind, tuple[UndoneProposal, ...]]:
        conversation = await self._load(reference)
        record = await (await self._rewinds()).latest(conversation.id)
        if record is None:
            raise NotFoundError(
                f"The conversation {conversation.id} has no rewind to undo.",
                hint="Go back to a prompt first.",
            )
        code, steps = await self._code_undone_by(record)
        head, messages = head_of(conversation), 0
        if record.scope.moves_conversation:
            restored = ancestors(await self._tree(conversation), record.head_before)
            messages = sum(each.number not in restored for each in conversation.entries)
            head = record.head_before
        plan = UndoRewindPlan(conversation.id, record.prompt, record.scope, head, messages, code)
        return plan, record, steps

    async def _code_undone_by(self, record: Rewind) -> tuple[CodePlan, tuple[UndoneProposal, ...]]:
        if not record.proposals:
            return CodePlan(), ()
        edits = ProposalService.of(self._app).edits

        def plan() -> tuple[CodePlan, tuple[UndoneProposal, ...]]:
            undone = [
                (each.id, each.files & edits.get(each.id).undone_files())
                for each in reversed(record.proposals)
            ]
            steps = [(proposal_id, files) for proposal_id, files in undone if files]
            return code_plan(edits.simulate(steps, ProposalState.APPLIED), ProposalState.APPLIED)

        return await asyncio.to_thread(plan)

    async def _undo_all(self, steps: Sequence[UndoneProposal]) -> None:
        """Undo the proposals in this order.

        If one fails, redo those before it, and raise the error.
        """
        proposals = ProposalService.of(self._app)
        for position, step in enumerate(steps):
            try:
                await proposals.undo(str(step.id), files=step.files)
            except BaseException:
                for other in reversed(steps[:position]):
                    await proposals.redo(str(other.id), files=other.files)
                raise

    async def _redo_all(self, steps: Sequence[UndoneProposal]) -> None:
        """Redo the proposals in this order.

        If one fails, undo those before it, and raise the error.
        """
        proposals = ProposalService.of(self._app)
        for position, step in enumerate(steps):
            try:
                await proposals.redo(str(step.id), files=step.files)
            except BaseException:
                for other in reversed(steps[:position]):
                    await proposals.undo(str(other.id), files=other.files)
                raise

    async def _move_head(self, rewinds: RewindStore, record: Rewind) -> None:
        try:
            await rewinds.move_head(record)
        except BaseException:
            await self._redo_all(record.proposals[::-1])
            raise

    async def _load(self, reference: str) -> Conversation:
        return await self._app.conversations.load(reference)

    async def _tree(self, conversation: Conversation) -> tuple[Entry, ...]:
        return await (await self._app.conversations.open_store()).tree(conversation.id)

    async def _rewinds(self) -> RewindStore:
        return (await self._app.conversations.open_store()).rewinds


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Complete the work even if the caller is cancelled."""
    return await asyncio.shield(asyncio.ensure_future(work))


def _refuse_conflicts(code: CodePlan, done: str, *, keep_changed: bool) -> None:
    if code.conflicts and not keep_changed:
        count = len({each.path for each in code.conflicts})
        reasons = " ".join(each.reason for each in code.conflicts)
        raise RewindConflictError(
            f"Conflict in {count} {'file' if count == 1 else 'files'}, so nothing is {done}: "
            f"{reasons}",
            hint="Keep these files as they are, or restore their earlier content first.",
        )


def _outcome(plan: RewindPlan | UndoRewindPlan, steps: Sequence[UndoneProposal]) -> RewindOutcome:
    """The outcome without the content of a prompt."""
    undone = tuple(each.id for each in steps)
    return RewindOutcome(
        plan.conversation_id, plan.prompt, plan.scope, plan.head, None, (), (), undone,
        plan.code.conflicts,
    )  # fmt: skip
