"""The result of a proposal, as a model receives it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict

from treadle.edits.diffs import counts, unified
from treadle.edits.model import FileChange, Proposal, ProposalState
from treadle.events.types import ToolView
from treadle.tokens import estimate
from treadle.tools.contract import Result

PREVIEW_TOKENS = 2_000
"""Of the diffs in one result; the person sees them whole."""
_NAMED = 3
_NOBODY = (
    "No person can approve here: nothing is written until one does (`treadle edits approve {}`)."
)
_DENIED = "The person denied the hunks counted as `denied`; they are not applied."
_OUT_OF_DATE = (
    "Your earlier copies of these files are outdated: read them again before you edit them."
)


class FileShown(BaseModel):
    """What happens to one file; `hash` is that of its content afterwards, `denied` counts hunks."""

    model_config = ConfigDict(frozen=True)

    path: str
    added: int
    removed: int
    preview: str
    hash: str | None = None
    denied: int | None = None


class EditResult(Result):
    """A proposal and where it is. `staged`: nothing is written until a person approves it."""

    type: str = "edit"
    proposal_id: str
    state: Literal["staged", "applied"]
    files: list[FileShown]
    warnings: list[str]
    said: str | None = None


def edit_result(
    proposal: Proposal, warnings: Sequence[str] = (), *, said: str | None = None
) -> EditResult:
    """The result of the call that made `proposal`, which waits or is applied."""
    applied = proposal.state is ProposalState.APPLIED
    told = [*proposal.notes, *proposal.warnings, *warnings]
    if not applied:
        told.append(_NOBODY.format(proposal.id))
    elif proposal.denied:
        told.append(_DENIED)
    if applied:
        told.append(_OUT_OF_DATE)
    return EditResult(
        proposal_id=str(proposal.id),
        state="applied" if applied else "staged",
        files=_files(proposal),
        warnings=told,
        said=said,
    )


def view(result: EditResult) -> ToolView:
    """The one line that a person sees of a change."""
    changed = [file for file in result.files if file.preview]
    added, removed = sum(f.added for f in changed), sum(f.removed for f in changed)
    names = ", ".join(file.path for file in changed[:_NAMED])
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    return ToolView(f"{result.state}: {names}{more} (+{added} -{removed})")


def _files(proposal: Proposal) -> list[FileShown]:
    """Each file with as much of its diff as is left of `PREVIEW_TOKENS`."""
    kept = {change.path: change for change in proposal.selected()}
    left = PREVIEW_TOKENS
    shown = []
    for number, whole in enumerate(proposal.changes):
        denied = sum(file == number for file, _ in proposal.denied)
        change = kept.get(whole.path, replace(whole, hunks=(), target=None))
        preview = _cut(unified(change), left) if whole.path in kept else ""
        left = max(0, left - estimate(preview))
        shown.append(_shown(change, preview, denied))
    return shown


def _shown(change: FileChange, preview: str, denied: int) -> FileShown:
    added, removed = counts(change)
    return FileShown(
        path=change.path if change.target is None else f"{change.path} -> {change.target}",
        added=added,
        removed=removed,
        preview=preview,
        hash=None if denied else change.result_hash,
        denied=denied or None,
    )


def _cut(preview: str, tokens: int) -> str:
    """As much of a diff as takes at most `tokens`, in whole lines, and how many are left out."""
    if estimate(preview) <= tokens:
        return preview
    lines = preview.splitlines(keepends=True)
    kept = 0
    for place, line in enumerate(lines):
        tokens -= estimate(line)
        if tokens < 0:
            break
        kept = place + 1
    return f"{''.join(lines[:kept])}… {len(lines) - kept} more lines\n"
