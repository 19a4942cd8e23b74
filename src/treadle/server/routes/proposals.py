"""Routes that list, show, apply, deny and undo proposed changes of files."""

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, field_validator

from treadle.app.proposal_answers import ListedProposal, ShownProposal
from treadle.app.proposals import ProposalService
from treadle.edits.model import ProposalState
from treadle.server.current_project import CurrentServer
from treadle.server.openapi import JsonOf
from treadle.server.routers import api_router

router = api_router("/proposals", "proposals")


class Decision(BaseModel):
    """The hunks that a person approves or denies, and the person's comment.

    `hunks` contains numbers of hunks, counted from 1 over the whole proposal. `files` contains
    paths and selects all hunks of these files. If both are null, the decision applies to all hunks.
    `words` is the comment.
    """

    model_config = ConfigDict(extra="forbid")

    hunks: list[int] | None = Field(None, min_length=1)
    files: list[str] | None = Field(None, min_length=1)
    words: str | None = Field(None, max_length=10_000)


class FileContent(BaseModel):
    """The new content of a file of a proposal.

    `path` is the path of the file before the proposal. `base64` contains the bytes of the file in
    base64, because a file need not be text.
    """

    model_config = ConfigDict(extra="forbid")

    path: str
    base64: str

    @field_validator("base64")
    @classmethod
    def _is_valid(cls, text: str) -> str:
        b64decode(text, validate=True)
        return text


@dataclass(frozen=True, slots=True)
class ProposedContent:
    """The content of a file after the proposal. `base64` contains the bytes in base64."""

    path: str
    base64: str


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
    found = await ProposalService.of(server.app).list(states=states, limit=limit)
    return ProposalList([ListedProposal.of(each) for each in found])


@router.get("/{reference}")
async def proposal(server: CurrentServer, reference: str) -> JsonOf[ShownProposal]:
    """Return a proposal with its diffs, and whether its files changed after it was made."""
    return await ProposalService.of(server.app).show(reference)


@router.post("/{reference}/approve")
async def approve(server: CurrentServer, reference: str, body: Decision) -> JsonOf[ListedProposal]:
    """Apply a proposal. If hunks are selected, apply only these and deny the others."""
    changed = await ProposalService.of(server.app).approve(
        reference, hunks=body.hunks, files=body.files, words=body.words
    )
    return ListedProposal.of(changed)


@router.post("/{reference}/deny")
async def deny(server: CurrentServer, reference: str, body: Decision) -> JsonOf[ListedProposal]:
    """Deny a proposal, or only the selected hunks."""
    changed = await ProposalService.of(server.app).deny(
        reference, hunks=body.hunks, files=body.files, words=body.words
    )
    return ListedProposal.of(changed)


@router.post("/{reference}/undo")
async def undo(
    server: CurrentServer, reference: str, keep_changed: bool = False
) -> JsonOf[ListedProposal]:
    """Undo the applied changes of a proposal. Later changes of other lines are kept.

    If a changed line was edited later, the response is an error, and no file is written. With
    `keep_changed`, files with such lines keep their content, and the changes of all other files are
    undone. The state of the proposal is then "partly undone".
    """
    changed = await ProposalService.of(server.app).undo(reference, keep_changed=keep_changed)
    return ListedProposal.of(changed)


@router.post("/{reference}/redo")
async def redo(server: CurrentServer, reference: str) -> JsonOf[ListedProposal]:
    """Apply the changes of an undone proposal again."""
    return ListedProposal.of(await ProposalService.of(server.app).redo(reference))


@router.post("/{reference}/restage")
async def restage(server: CurrentServer, reference: str) -> JsonOf[ListedProposal]:
    """Adapt a proposal to the current content of its files."""
    return ListedProposal.of(await ProposalService.of(server.app).restage(reference))


@router.get("/{reference}/files")
async def content(server: CurrentServer, reference: str, path: str) -> JsonOf[ProposedContent]:
    """Return the content that a file has after the proposal is applied.

    `path` is the path of the file before the proposal.
    """
    data = await ProposalService.of(server.app).content(reference, path)
    return ProposedContent(path, b64encode(data).decode())


@router.put("/{reference}/files")
async def amend(server: CurrentServer, reference: str, body: FileContent) -> JsonOf[ListedProposal]:
    """Change the content that a file has after the proposal is applied. No file is written."""
    data = b64decode(body.base64)
    changed = await ProposalService.of(server.app).amend(reference, body.path, data)
    return ListedProposal.of(changed)
