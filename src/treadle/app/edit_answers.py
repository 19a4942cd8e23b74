"""Proposals as JSON: what `edits --json` and the server answer."""

from collections.abc import Collection, Sequence

from treadle.edits.diffs import counts, unified
from treadle.edits.model import FileChange, Proposal
from treadle.edits.service import Freshness
from treadle.errors import UsageError


def proposal_answer(
    proposal: Proposal, freshness: Sequence[Freshness] = (), *, hunks: bool = False
) -> dict[str, object]:
    """The proposal; with `hunks` each file's diff and the numbers of its hunks, from 1.

    Lines are counted without what was denied, unless nothing else is left.
    """
    files = []
    number = 1
    left = {change.path: change for change in proposal.selected()}
    for place, change in enumerate(proposal.changes):
        file = _file(change, left.get(change.path, None if left else change))
        if freshness:
            file["freshness"] = freshness[place].value
        if hunks:
            file["first_hunk"] = number
            file["hunks"] = change.parts
            file["denied_hunks"] = [number + h for at, h in sorted(proposal.denied) if at == place]
            file["diff"] = unified(change)
        number += change.parts
        files.append(file)
    return {
        "id": str(proposal.id),
        "state": proposal.state.value,
        "summary": proposal.summary,
        "created_us": proposal.created_us,
        "changed_us": proposal.changed_us,
        "session_id": str(proposal.session_id) if proposal.session_id else None,
        "request_id": str(proposal.request_id) if proposal.request_id else None,
        "files": files,
        "words": proposal.words,
        "reason": proposal.reason,
        "notes": list(proposal.notes),
    }


def hunk_places(proposal: Proposal, numbers: Collection[int]) -> frozenset[tuple[int, int]]:
    """The (file, hunk) places of hunks by their numbers from 1, through all files.

    Raises UsageError for a number that there is not.
    """
    every = proposal.parts()
    for number in numbers:
        if not 1 <= number <= len(every):
            raise UsageError(
                f"There is no hunk {number}: the proposal has {len(every)}.",
                hint="Show the proposal to see their numbers.",
            )
    return frozenset(every[number - 1] for number in numbers)


def _file(change: FileChange, left: FileChange | None) -> dict[str, object]:
    added, removed = counts(left) if left is not None else (0, 0)
    return {
        "path": change.path,
        "kind": change.kind.value,
        "target": change.target,
        "added": added,
        "removed": removed,
        "base_hash": change.base_hash,
        "result_hash": change.result_hash,
    }
