"""Proposals as JSON: what `edits --json` and the server answer."""

import posixpath
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from typing_extensions import TypedDict

from treadle.edits.diffs import counts, unified
from treadle.edits.model import ChangeKind, FileChange, Proposal, ProposalState
from treadle.edits.service import Freshness
from treadle.errors import UsageError


class ProposedFile(TypedDict):
    """The result for a file. Lines are counted without denied hunks, unless all are denied.

    `undone`: the change of this file is undone, and other files of the proposal stay changed.
    """

    path: str
    kind: ChangeKind
    target: str | None
    added: int
    removed: int
    base_hash: str | None
    result_hash: str | None
    undone: bool


class ShownFile(ProposedFile):
    """The same with its diff; its hunks are numbered from `first_hunk`, of all files from 1.

    `freshness` says whether it is still what the proposal was made on. `hunk_diffs` holds the diff
    of each hunk by itself, since hunks that are near each other are one in `diff`.
    """

    freshness: Freshness
    first_hunk: int
    hunks: int
    denied_hunks: list[int]
    diff: str
    hunk_diffs: list[str]


class _Proposal(TypedDict):
    id: str
    state: ProposalState
    summary: str
    created_us: int
    changed_us: int
    session_id: str | None
    request_id: str | None
    words: str | None
    reason: str | None
    notes: list[str]
    warnings: list[str]


class ListedProposal(_Proposal):
    """A proposed change without its diffs.

    `words` are the person's own; `reason` says why it is conflicted or failed. `warnings` has one
    sentence for each file that it would break.
    """

    files: list[ProposedFile]


class ShownProposal(_Proposal):
    """The same with its diffs."""

    files: list[ShownFile]


def listed_proposal(proposal: Proposal) -> ListedProposal:
    """The proposal without its diffs."""
    left = _left(proposal)
    return {**_proposal(proposal), "files": _files(proposal, left)}


def shown_proposal(proposal: Proposal, freshness: Sequence[Freshness]) -> ShownProposal:
    """The proposal with each file's diff and the numbers of its hunks, from 1."""
    files: list[ShownFile] = []
    number = 1
    left = _left(proposal)
    every = _files(proposal, left)
    for place, change in enumerate(proposal.changes):
        shown: ShownFile = {
            **every[place],
            "freshness": freshness[place],
            "first_hunk": number,
            "hunks": change.parts,
            "denied_hunks": [number + h for at, h in sorted(proposal.denied) if at == place],
            "diff": unified(change),
            "hunk_diffs": _hunk_diffs(change),
        }
        number += change.parts
        files.append(shown)
    return {**_proposal(proposal), "files": files}


def _hunk_diffs(change: FileChange) -> list[str]:
    if change.kind is not ChangeKind.MODIFY:
        return [unified(change)]
    return [unified(replace(change, hunks=(hunk,))) for hunk in change.hunks]


def chosen_parts(
    proposal: Proposal, hunks: Collection[int] | None, files: Collection[str] | None
) -> frozenset[tuple[int, int]] | None:
    """The (file, hunk) places of hunks by their numbers and of all hunks of `files`; None for all.

    Of a file what was denied before is left out. Raises UsageError for what the proposal lacks.
    """
    if not hunks and not files:
        return None
    return hunk_places(proposal, hunks or ()) | _file_places(proposal, files or ())


def _file_places(proposal: Proposal, files: Collection[str]) -> frozenset[tuple[int, int]]:
    numbers = set()
    for name in files:
        path = posixpath.normpath(name).removeprefix(f"{proposal.root}/")
        found = [n for n, each in enumerate(proposal.changes) if path in {each.path, each.target}]
        if not found:
            names = ", ".join(each.path for each in proposal.changes)
            raise UsageError(
                f"The proposal does not change a file {name!r}.",
                hint=f"It changes {names}; use one of these paths.",
            )
        numbers.update(found)
    places = {place for place in proposal.parts() if place[0] in numbers}
    return frozenset(places - proposal.denied)


def hunk_places(proposal: Proposal, numbers: Collection[int]) -> frozenset[tuple[int, int]]:
    """The (file, hunk) places of hunks by their numbers from 1, through all files.

    Raises UsageError for a number that there is not.
    """
    every = proposal.parts()
    for number in numbers:
        if not 1 <= number <= len(every):
            raise UsageError(
                f"There is no hunk {number}: the proposal has {len(every)}.",
                hint="Show the proposal to see the numbers of its hunks.",
            )
    return frozenset(every[number - 1] for number in numbers)


def _proposal(proposal: Proposal) -> _Proposal:
    return {
        "id": str(proposal.id),
        "state": proposal.state,
        "summary": proposal.summary,
        "created_us": proposal.created_us,
        "changed_us": proposal.changed_us,
        "session_id": str(proposal.session_id) if proposal.session_id else None,
        "request_id": str(proposal.request_id) if proposal.request_id else None,
        "words": proposal.words,
        "reason": proposal.reason,
        "notes": list(proposal.notes),
        "warnings": list(proposal.warnings),
    }


def _left(proposal: Proposal) -> Mapping[str, FileChange]:
    """By path what was not denied; all if nothing else is left."""
    return {change.path: change for change in proposal.selected() or proposal.changes}


def _files(proposal: Proposal, left: Mapping[str, FileChange]) -> list[ProposedFile]:
    return [
        _file(change, left, undone=number in proposal.undone)
        for number, change in enumerate(proposal.changes)
    ]


def _file(change: FileChange, all_left: Mapping[str, FileChange], *, undone: bool) -> ProposedFile:
    left = all_left.get(change.path)
    added, removed = counts(left) if left is not None else (0, 0)
    return {
        "path": change.path,
        "kind": change.kind,
        "target": change.target,
        "added": added,
        "removed": removed,
        "base_hash": change.base_hash,
        "result_hash": change.result_hash,
        "undone": undone,
    }
