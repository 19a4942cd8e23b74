"""What all tools that change files do: stage, ask, apply, and report the outcome to the model."""

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.config.model import EditSettings
from treadle.edits.diffs import unified
from treadle.edits.model import EditError, Proposal, ProposalState
from treadle.edits.requests import EditRequest
from treadle.edits.service import Edits
from treadle.events.edits import EditApplied, EditDenied, EditFailed, EditStaged, ProposalEvent
from treadle.events.types import Effect, ErrorKind
from treadle.private_files import why_private
from treadle.protected_files import why_protected
from treadle.toolbox.edits.results import EditResult, edit_result
from treadle.tools.approvals.question import Decision, Policy, Question, Subject
from treadle.tools.contract import ToolContext, ToolError

if TYPE_CHECKING:  # it brings libraries that are slow to import
    from treadle.code import CodeIndex

_ANEW = "Read the file again, and base the edit on its current text."
_EDITED_FIRST = "The person changed the edit before approving it: `preview` shows the applied text."


@dataclass(frozen=True, slots=True)
class Proposer:
    """Takes the requests of a call through its proposal."""

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
        """Stage what `requests` gives (called in a thread), and apply it if it is approved.

        `field` is the argument that errors are about; without it, the one of `edits` that is.
        Raises ToolError: of kind `denied` with the person's words, of kind `conflict` when a file
        changed meanwhile, and of others when the edits cannot be planned or written.
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
                error.hint = _ANEW  # only a person can restage it
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
        touched = {*(each.path for each in proposal.changes), *_targets(proposal)}
        policy = Policy.ALLOW if self._approved_before(touched) else Policy.ASK
        preview = "".join(unified(change) for change in proposal.changes)
        question = Question(subjects, policy, proposal.summary, proposal.id, preview)
        return await context.approve(question)

    def _approved_before(self, paths: Collection[str]) -> bool:
        """Whether the settings let every one of `paths` be changed without asking."""
        if not self.settings.auto_approve or any(map(_needs_a_person, paths)):
            return False
        from pathspec import GitIgnoreSpec

        matches = GitIgnoreSpec.from_lines(self.settings.auto_approve).match_file
        return all(map(matches, paths))

    def _denied(self, staged: Proposal, decision: Decision) -> bool:
        """Deny it; False when it was applied from elsewhere while the person was asked here."""
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
        """The applied proposal, and whether the person edited it first."""
        approved = self.edits.get(staged.id)
        edited = approved.changes != staged.changes
        if approved.state is not ProposalState.APPLIED:  # it may have been, from elsewhere
            approved = self.edits.apply(staged.id)
        self.index.refresh()
        return approved, edited


def _needs_a_person(path: str) -> str | None:
    return why_private(path) or why_protected(path)


def _event(kind: type[ProposalEvent], **fields: Any) -> ProposalEvent:
    return kind(**fields)


def tool_error(error: EditError, field: str | None) -> ToolError:
    """An edit's error as the model receives it; `field` as `propose` has it."""
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
    """The name of a path for a write set: the same for every spelling that does not use links."""
    return os.path.normpath(os.path.join(root, path))  # noqa: PTH118  (Path keeps "a/..")


def _targets(proposal: Proposal) -> set[str]:
    return {each.target for each in proposal.changes if each.target is not None}
