"""The steps that all editing tools share: stage, get approval, apply, and report the result."""

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from treadle.config.model import EditSettings
from treadle.edits.diffs import counts, unified
from treadle.edits.model import EditError, FileChange, Proposal, ProposalState
from treadle.edits.requests import EditRequest
from treadle.edits.service import Edits
from treadle.events.changes import EditApplied, EditDenied, EditFailed, EditStaged, ProposalEvent
from treadle.events.types import Effect, ErrorKind, ToolView
from treadle.private_files import why_private
from treadle.protected_files import why_protected
from treadle.tokens import estimate
from treadle.toolbox.wording import counted
from treadle.tools.approvals.question import Decision, Policy, Question, Subject
from treadle.tools.contract import Result, ToolContext, ToolError

if TYPE_CHECKING:  # the index imports libraries that are slow to load
    from treadle.code import CodeIndex

PREVIEW_TOKENS = 2_000
"""The token budget of the diffs in one result. The person sees complete diffs."""
_NAMED = 3
_NOBODY_APPROVES = (
    "Nobody can approve here. Nothing is written until a person runs `treadle edits approve {}`."
)
_DENIED = "The person denied the hunks counted as `denied`; they are not applied."
_OUT_OF_DATE = (
    "Your earlier copies of these files are outdated: read them again before you edit them."
)


class EditedFile(BaseModel):
    """The change of one file.

    `added` and `removed` are numbers of lines. `preview` is the diff, cut to the token budget.
    `hash` is the content hash of the file after the change, or None if a hunk was denied. `denied`
    is the number of denied hunks.
    """

    model_config = ConfigDict(frozen=True)

    path: str
    added: int
    removed: int
    preview: str
    hash: str | None = None
    denied: int | None = None


class EditResult(Result):
    """A proposal and its state.

    A `staged` proposal is not written until a person approves it. `said` is the comment of the
    person who approved the proposal.
    """

    type: str = "edit"
    proposal_id: str
    state: Literal["staged", "applied"]
    files: list[EditedFile]
    warnings: list[str]
    said: str | None = None


def edit_result(
    proposal: Proposal, warnings: Sequence[str] = (), *, said: str | None = None
) -> EditResult:
    """Convert `proposal`, which is staged or applied, to the result of the call that created it."""
    applied = proposal.state is ProposalState.APPLIED
    notices = [*proposal.notes, *proposal.warnings, *warnings]
    if not applied:
        notices.append(_NOBODY_APPROVES.format(proposal.id))
    elif proposal.denied:
        notices.append(_DENIED)
    if applied:
        notices.append(_OUT_OF_DATE)
    return EditResult(
        proposal_id=str(proposal.id),
        state="applied" if applied else "staged",
        files=_files(proposal),
        warnings=notices,
        said=said,
    )


def view(result: EditResult) -> ToolView:
    """Summarize the changed files in one line for a person."""
    changed = [file for file in result.files if file.preview]
    added, removed = sum(f.added for f in changed), sum(f.removed for f in changed)
    names = ", ".join(file.path for file in changed[:_NAMED])
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    return ToolView(f"{result.state}: {names}{more} (+{added} -{removed})")


def _files(proposal: Proposal) -> list[EditedFile]:
    """Describe each file with its diff. All diffs together are cut to `PREVIEW_TOKENS`."""
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


def _shown(change: FileChange, preview: str, denied: int) -> EditedFile:
    added, removed = counts(change)
    return EditedFile(
        path=change.path if change.target is None else f"{change.path} -> {change.target}",
        added=added,
        removed=removed,
        preview=preview,
        hash=None if denied else change.result_hash,
        denied=denied or None,
    )


def _cut(preview: str, tokens: int) -> str:
    """Cut a diff to the lines that fit into `tokens`, and append the number of the other lines."""
    if estimate(preview) <= tokens:
        return preview
    lines = preview.splitlines(keepends=True)
    kept = 0
    for number, line in enumerate(lines):
        tokens -= estimate(line)
        if tokens < 0:
            break
        kept = number + 1
    return f"{''.join(lines[:kept])}… {len(lines) - kept} more lines\n"


_READ_AGAIN = "Read the file again, and base the edit on its current text."
_EDITED_FIRST = "The person changed the edit before approving it: `preview` shows the applied text."


@dataclass(frozen=True, slots=True)
class Proposer:
    """Stages the edits of a tool call, asks a person to approve them, and applies them."""

    edits: Edits
    index: "CodeIndex"
    settings: EditSettings

    async def propose(
        self,
        requests: Callable[[], Sequence[EditRequest]],
        context: ToolContext,
        subjects: tuple[Subject, ...],
        *,
        field: str | None = None,
    ) -> EditResult:
        """Stage the requests that `requests` returns, and apply them after approval.

        `requests` runs in a thread. `subjects` are the paths that the approval rules decide about.
        `field` is the argument that an error names. If `field` is None, an error names the failing
        edit, such as `edits.2`.

        Raises ToolError of kind `denied` if a person denied the edit, and of kind `conflict` if a
        file changed meanwhile. Other kinds mean that the edits cannot be planned or written.
        """
        proposal = await asyncio.to_thread(self._staged, requests, context, field)
        event = partial(
            _event,
            request_id=context.request_id,
            parent_id=context.parent_id,
            proposal_id=proposal.id,
            files=tuple(change.path for change in proposal.changes),
            key=context.key,
        )
        await context.publish(event(EditStaged, summary=proposal.summary))
        decision = await self._decision(proposal, context, subjects)
        if decision.unanswered:
            return edit_result(await asyncio.to_thread(self.edits.get, proposal.id))
        try:
            if not decision.allowed and await asyncio.to_thread(self._denied, proposal, decision):
                await context.publish(event(EditDenied, words=decision.words))
                raise ToolError.of(decision.failure(proposal.summary))
            applied, edited = await asyncio.to_thread(self._applied, proposal)
        except EditError as error:
            await context.publish(event(EditFailed, reason=error.message))
            if error.kind is ErrorKind.CONFLICT:
                # The model must read the file again, since only a person can restage the proposal.
                error.hint = _READ_AGAIN
            raise tool_error(error, field) from error
        files = tuple(change.path for change in applied.selected())
        await context.publish(event(EditApplied, files=files))
        return edit_result(applied, [_EDITED_FIRST] if edited else [], said=decision.words)

    def _staged(
        self,
        requests: Callable[[], Sequence[EditRequest]],
        context: ToolContext,
        field: str | None,
    ) -> Proposal:
        try:
            proposal = self.edits.stage(
                requests(),
                request_id=context.request_id,
                turn=context.key.turn,
                slot=context.key.slot,
                session_id=context.session_id,
                private=context.private,
            )
        except EditError as error:
            raise tool_error(error, field) from error
        if proposal.warnings and self.settings.syntax_errors == "refuse":
            self.edits.deny(proposal.id)
            raise ToolError(
                ErrorKind.VALIDATION,
                f"The edit is refused because it would break a file: {proposal.warnings[0]}",
                hint="Nothing was written. Send a corrected edit whose result parses.",
            )
        return proposal

    async def _decision(
        self, proposal: Proposal, context: ToolContext, subjects: tuple[Subject, ...]
    ) -> Decision:
        approved = self._approved_before(proposal.paths())
        policy = Policy.ALLOW if approved else Policy.ASK
        preview = "".join(unified(change) for change in proposal.changes)
        question = Question(
            subjects, policy, proposal.summary, proposal.id, preview, _effect(proposal)
        )
        return await context.approve(question)

    def _approved_before(self, paths: Collection[str]) -> bool:
        """Whether the settings allow changes of all `paths` without approval."""
        if not self.settings.auto_approve or any(map(_needs_approval, paths)):
            return False
        from pathspec import GitIgnoreSpec

        matches = GitIgnoreSpec.from_lines(self.settings.auto_approve).match_file
        return all(map(matches, paths))

    def _denied(self, staged: Proposal, decision: Decision) -> bool:
        """Deny the proposal.

        Returns False if another process has applied the proposal meanwhile.
        """
        try:
            self.edits.deny(staged.id, words=decision.words)
        except EditError:
            state = self.edits.get(staged.id).state
            if state is ProposalState.APPLIED:
                return False
            if state is not ProposalState.DENIED:
                raise
        return True

    def _applied(self, staged: Proposal) -> tuple[Proposal, bool]:
        """Apply the proposal. Also return whether the person edited it before approving it."""
        approved = self.edits.get(staged.id)
        edited = approved.changes != staged.changes
        if approved.state is not ProposalState.APPLIED:  # another process may have applied it
            approved = self.edits.apply(staged.id)
        self.index.refresh()
        return approved, edited


def _needs_approval(path: str) -> str | None:
    return why_private(path) or why_protected(path)


def _effect(proposal: Proposal) -> str:
    """State the size of a proposal for the person who decides about it."""
    lines = [counts(change) for change in proposal.changes]
    added, removed = sum(each for each, _ in lines), sum(each for _, each in lines)
    files = counted(len(proposal.changes), "file")
    if not added and not removed:
        return f"It changes {files}, but no line."
    if not removed:
        return f"In {files}, it adds {counted(added, 'line')}."
    if not added:
        return f"In {files}, it removes {counted(removed, 'line')}."
    return f"In {files}, it adds {counted(added, 'line')} and removes {removed:,}."


def _event(kind: type[ProposalEvent], **fields: Any) -> ProposalEvent:
    return kind(**fields)


def tool_error(error: EditError, field: str | None) -> ToolError:
    """Convert an error of an edit to the error for the model. `propose` explains `field`."""
    if field is None and error.number is not None:
        field = f"edits.{error.number}"
    return ToolError(
        error.kind,
        error.message,
        field=field,
        expected=error.expected,
        received=error.received,
        hint=error.hint,
        effect=Effect.NONE,
    )


def inside(root: Path, path: str) -> str:
    """Return the normalized path of a file that a call writes. Links are not resolved."""
    return os.path.normpath(os.path.join(root, path))  # noqa: PTH118  (Path keeps "a/..")
