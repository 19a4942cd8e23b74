"""Routes that list, show, apply, deny and undo proposed changes of files."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from treadle.app.proposal_answers import (
    ListedProposal,
    ShownProposal,
    chosen_parts,
)
from treadle.edits.model import Proposal, ProposalState
from treadle.edits.proposal_store import NO_PROPOSALS
from treadle.edits.service import Edits
from treadle.errors import StoreError
from treadle.events.changes import EditApplied, EditDenied, EditUndone, ProposalEvent
from treadle.ids import new_id
from treadle.server.openapi import JsonOf
from treadle.server.state import CurrentServer, ServerState

router = APIRouter(prefix="/proposals", tags=["proposals"])


class Decision(BaseModel):
    """The hunks that a person approves or denies, and the person's comment.

    `hunks` contains numbers of hunks, counted from 1 over the whole proposal. `files` contains
    paths and selects all hunks of these files. Without both, the decision applies to all hunks.
    `words` is the comment.
    """

    model_config = ConfigDict(extra="forbid")

    hunks: list[int] | None = Field(None, min_length=1)
    files: list[str] | None = Field(None, min_length=1)
    words: str | None = Field(None, max_length=10_000)


@dataclass(frozen=True, slots=True)
class ProposalList:
    """The proposals of the repository, newest first."""

    data: list[ListedProposal]


@router.get("")
async def proposals(
    server: CurrentServer,
    state: ProposalState | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
) -> JsonOf[ProposalList]:
    """Return the proposals of the repository, optionally only those in one state."""
    states = [state] if state else None
    found = await asyncio.to_thread(_edits(server).list, states=states, limit=limit)
    return ProposalList([ListedProposal.of(each) for each in found])


@router.get("/{reference}")
async def proposal(server: CurrentServer, reference: str) -> JsonOf[ShownProposal]:
    """Return a proposal with its diffs. State whether its files changed after it was made."""

    def read(edits: Edits) -> ShownProposal:
        found = edits.find(reference)
        return ShownProposal.of(found, edits.freshness(found))

    return await asyncio.to_thread(read, _edits(server))


@router.post("/{reference}/approve")
async def approve(server: CurrentServer, reference: str, body: Decision) -> JsonOf[ListedProposal]:
    """Apply a proposal. If hunks are selected, apply only these and deny the others."""

    def run(edits: Edits, found: Proposal) -> None:
        hunks = chosen_parts(found, body.hunks, body.files)
        edits.apply(found.id, hunks=hunks, words=body.words)

    return await _changed(server, reference, run)


@router.post("/{reference}/deny")
async def deny(server: CurrentServer, reference: str, body: Decision) -> JsonOf[ListedProposal]:
    """Deny a proposal, or only the selected hunks."""

    def run(edits: Edits, found: Proposal) -> None:
        hunks = chosen_parts(found, body.hunks, body.files)
        edits.deny(found.id, words=body.words, hunks=hunks)

    return await _changed(server, reference, run)


@router.post("/{reference}/undo")
async def undo(
    server: CurrentServer, reference: str, keep_changed: bool = False
) -> JsonOf[ListedProposal]:
    """Undo the applied changes of a proposal. Later changes of other lines are kept.

    If a changed line was edited later, the response is an error, and no file is written. With
    `keep_changed`, files with such lines keep their content, and all other files are undone. The
    state of the proposal is then "partly undone".
    """

    def run(edits: Edits, found: Proposal) -> None:
        edits.undo(found.id, keep_changed=keep_changed)

    return await _changed(server, reference, run)


@router.post("/{reference}/redo")
async def redo(server: CurrentServer, reference: str) -> JsonOf[ListedProposal]:
    """Apply the changes of an undone proposal again."""
    return await _changed(server, reference, lambda edits, found: edits.redo(found.id))


@router.post("/{reference}/restage")
async def restage(server: CurrentServer, reference: str) -> JsonOf[ListedProposal]:
    """Adapt a proposal to the current content of its files."""
    return await _changed(server, reference, lambda edits, found: edits.restage(found.id))


async def _changed(
    server: ServerState, reference: str, change: Callable[[Edits, Proposal], object]
) -> ListedProposal:
    def run(edits: Edits) -> Proposal:
        found = edits.find(reference)
        change(edits, found)
        return edits.get(found.id)

    changed = await asyncio.to_thread(run, _edits(server))
    event = _EVENTS.get(changed.state)
    if event is not None:
        files = tuple(each.path for each in changed.selected() or changed.changes)
        if changed.state is ProposalState.PARTLY_UNDONE:
            files = tuple(changed.changes[number].path for number in sorted(changed.undone))
        request_id = changed.request_id or new_id()
        await server.app.bus.publish(
            event(request_id=request_id, proposal_id=changed.id, files=files)
        )
    return ListedProposal.of(changed)


_EVENTS: dict[ProposalState, type[ProposalEvent]] = {
    ProposalState.APPLIED: EditApplied,
    ProposalState.DENIED: EditDenied,
    ProposalState.UNDONE: EditUndone,
    ProposalState.PARTLY_UNDONE: EditUndone,
}
"""The event that the server publishes when a proposal has entered a state."""


def _edits(server: ServerState) -> Edits:
    if server.app.edits is None:
        raise StoreError(server.app.edits_error or NO_PROPOSALS)
    return server.app.edits
