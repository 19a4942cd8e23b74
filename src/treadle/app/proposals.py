"""The decisions about proposals, for every front end. Each decision is announced on the bus."""

import asyncio
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Self, TypedDict
from uuid import UUID

from treadle.app.proposal_answers import ShownProposal, chosen_parts
from treadle.edits.model import EditError, Proposal, ProposalState
from treadle.edits.proposal_store import NO_PROPOSALS
from treadle.edits.service import Edits
from treadle.errors import NotFoundError, StoreError
from treadle.events import EventBus
from treadle.events.changes import (
    EditApplied,
    EditDenied,
    EditFailed,
    EditStaged,
    EditUndone,
    ProposalEvent,
)
from treadle.ids import new_id

if TYPE_CHECKING:
    from treadle.app.application import App

Decide = Callable[[Edits, Proposal], Proposal]
"""A function that changes a proposal. It returns the proposal with its new state."""


class ProposalService:
    """The proposals of one repository.

    A reference is an id, a unique prefix of an id, or "last". Hunks are numbered from 1, as in
    `ShownProposal`. Methods raise EditError for a decision that is not possible, NotFoundError for
    an unknown proposal, UsageError for an unknown hunk or file, and StoreError.
    """

    def __init__(self, edits: Edits, bus: EventBus) -> None:
        self.edits = edits
        self._bus = bus

    @classmethod
    def of(cls, app: "App") -> Self:
        """The proposals of an application. Raises StoreError if they are not available."""
        if app.edits is None:
            raise StoreError(app.edits_error or NO_PROPOSALS)
        return cls(app.edits, app.bus)

    async def list(
        self, *, states: Collection[ProposalState] | None = None, limit: int = 50
    ) -> tuple[Proposal, ...]:
        """The proposals in these states, newest first."""
        return await asyncio.to_thread(self.edits.list, states=states, limit=limit)

    async def show(self, reference: str) -> ShownProposal:
        """Return a proposal with its diffs, and whether its files changed after it was made."""

        def read() -> ShownProposal:
            found = self.edits.find(reference)
            return ShownProposal.of(found, self.edits.freshness(found))

        return await asyncio.to_thread(read)

    async def approve(
        self,
        reference: str,
        *,
        hunks: Collection[int] | None = None,
        files: Collection[str] | None = None,
        words: str | None = None,
    ) -> Proposal:
        """Apply the proposal, or only the selected hunks. The other hunks are then denied."""

        def apply(edits: Edits, found: Proposal) -> Proposal:
            return edits.apply(found.id, hunks=chosen_parts(found, hunks, files), words=words)

        return await self._write(reference, apply, EditApplied)

    async def deny(
        self,
        reference: str,
        *,
        hunks: Collection[int] | None = None,
        files: Collection[str] | None = None,
        words: str | None = None,
    ) -> Proposal:
        """Deny the proposal, or only the selected hunks."""

        def refuse(edits: Edits, found: Proposal) -> Proposal:
            return edits.deny(found.id, hunks=chosen_parts(found, hunks, files), words=words)

        return await self._decide(reference, refuse)

    async def undo(
        self,
        reference: str,
        *,
        keep_changed: bool = False,
        files: Collection[int] | None = None,
    ) -> Proposal:
        """Undo a proposal, or only its changes of the files in `files`. Files are numbered from 0.

        Later changes of other lines stay. A file is in conflict if later edits changed the same
        lines. With `keep_changed`, files in conflict stay as they are, and the proposal is partly
        undone.
        """

        def revert(edits: Edits, found: Proposal) -> Proposal:
            return edits.undo(found.id, keep_changed=keep_changed, files=files)

        return await self._write(reference, revert, EditUndone)

    async def redo(self, reference: str, *, files: Collection[int] | None = None) -> Proposal:
        """Apply an undone proposal again, or only its changes of the files in `files`.

        Files are numbered from 0.
        """

        def repeat(edits: Edits, found: Proposal) -> Proposal:
            return edits.redo(found.id, files=files)

        return await self._write(reference, repeat, EditApplied)

    async def restage(self, reference: str) -> Proposal:
        """Rebase the proposal onto files that have changed."""
        return await self._decide(reference, lambda edits, found: edits.restage(found.id))

    async def content(self, reference: str, path: str) -> bytes:
        """The content of a file after the proposal. `path` is the path before the proposal.

        Raises NotFoundError if the proposal does not write the file.
        """

        def read() -> bytes:
            found = self.edits.find(reference)
            change = next((each for each in found.changes if each.path == path), None)
            after = self.edits.preview(found.id)
            data = after.get(change.target or change.path) if change else None
            if data is None:
                raise NotFoundError(
                    f"The proposal {found.id} does not write {path}.",
                    hint="Choose a file that it changes or creates.",
                )
            return data

        return await asyncio.to_thread(read)

    async def amend(self, reference: str, path: str, content: bytes) -> Proposal:
        """Change the content of a file after the proposal. For `path` see `content`."""
        return await self._decide(
            reference, lambda edits, found: edits.amend(found.id, path, content)
        )

    async def _decide(self, reference: str, decide: Decide) -> Proposal:
        """Make a decision that writes no file, and announce it."""
        changed = await asyncio.to_thread(lambda: decide(self.edits, self.edits.find(reference)))
        common = _common(changed)
        if changed.state is ProposalState.DENIED:
            event: ProposalEvent = EditDenied(**common, words=changed.words)
        else:
            event = EditStaged(**common, summary=changed.summary)
        await self._bus.publish(event)
        return changed

    async def _write(
        self, reference: str, write: Decide, event: type[EditApplied | EditUndone]
    ) -> Proposal:
        """Write files, and announce the result."""
        before = await asyncio.to_thread(self.edits.find, reference)
        try:
            changed = await asyncio.to_thread(write, self.edits, before)
        except EditError as error:
            await self._bus.publish(EditFailed(**_common(before), reason=error.message))
            raise
        await self._bus.publish(event(**_common(changed, _written(before, changed))))
        return changed


class _Common(TypedDict):
    """The fields that all events about a proposal have."""

    request_id: UUID
    proposal_id: UUID
    files: tuple[str, ...]


def _common(proposal: Proposal, files: tuple[str, ...] = ()) -> _Common:
    selected = proposal.selected() or proposal.changes
    return _Common(
        request_id=proposal.request_id or new_id(),
        proposal_id=proposal.id,
        files=files or tuple(change.path for change in selected),
    )


def _written(before: Proposal, after: Proposal) -> tuple[str, ...]:
    """Return the files that were undone or redone, or an empty tuple for the first application."""
    numbers = before.undone_files() ^ after.undone_files()
    return tuple(after.changes[number].path for number in sorted(numbers))
