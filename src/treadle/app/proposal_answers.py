"""The JSON of proposals, and the selection of their hunks.

The command `treadle edits` and the server use it.
"""

import posixpath
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from treadle.edits.diffs import counts, unified
from treadle.edits.freshness import Freshness
from treadle.edits.model import ChangeKind, FileChange, Proposal
from treadle.errors import UsageError
from treadle.json_values import JsonField


@dataclass(frozen=True, slots=True)
class ProposedFile:
    """The change of one file in a proposal.

    `added` and `removed` are numbers of lines. They exclude denied hunks, unless all hunks of the
    proposal are denied. `undone` is true if the change of this file was undone while changes of
    other files were kept.
    """

    path: str
    kind: ChangeKind
    target: str | None
    added: int
    removed: int
    base_hash: str | None
    result_hash: str | None
    undone: bool


@dataclass(frozen=True, slots=True)
class ShownFile:
    """The change of one file with its diff.

    Hunks are numbered from 1 over all files of the proposal. `first_hunk` is the number of the
    first hunk in this file. `freshness` states whether the file still has the content on which the
    proposal is based. `diff` joins adjacent hunks, so `hunk_diffs` contains a separate diff for
    each hunk.
    """

    file: Annotated[ProposedFile, JsonField(inline=True)]
    freshness: Freshness
    first_hunk: int
    hunks: int
    denied_hunks: list[int]
    diff: str
    hunk_diffs: list[str]


@dataclass(frozen=True, slots=True)
class ListedProposal:
    """A proposal without its diffs.

    `words` is the user's comment. `reason` states why the proposal is in conflict or failed.
    `warnings` contains a sentence for each file whose syntax the proposal would break.
    """

    proposal: Annotated[Proposal, JsonField(inline=True)]
    files: list[ProposedFile]

    @classmethod
    def of(cls, proposal: Proposal) -> "ListedProposal":
        """Combine a proposal with the list of its files."""
        return cls(proposal, _files(proposal))


@dataclass(frozen=True, slots=True)
class ShownProposal:
    """A proposal with its diffs."""

    proposal: Annotated[Proposal, JsonField(inline=True)]
    files: list[ShownFile]

    @classmethod
    def of(cls, proposal: Proposal, freshness: Sequence[Freshness]) -> "ShownProposal":
        """Combine a proposal with its files and their diffs."""
        files = []
        number = 1
        for index, file in enumerate(_files(proposal)):
            change = proposal.changes[index]
            shown = ShownFile(
                file=file,
                freshness=freshness[index],
                first_hunk=number,
                hunks=change.parts,
                denied_hunks=[number + h for at, h in sorted(proposal.denied) if at == index],
                diff=unified(change),
                hunk_diffs=_hunk_diffs(change),
            )
            number += change.parts
            files.append(shown)
        return cls(proposal, files)


def _hunk_diffs(change: FileChange) -> list[str]:
    if change.kind is not ChangeKind.MODIFY:
        return [unified(change)]
    return [unified(replace(change, hunks=(hunk,))) for hunk in change.hunks]


def chosen_parts(
    proposal: Proposal, hunks: Collection[int] | None, files: Collection[str] | None
) -> frozenset[tuple[int, int]] | None:
    """Return the chosen hunks as pairs of a file index and a hunk index. None means all hunks.

    `hunks` chooses hunks by number. `files` chooses all hunks of these files, except denied ones.
    Raises UsageError for an unknown hunk or file.
    """
    if not hunks and not files:
        return None
    return hunk_positions(proposal, hunks or ()) | _file_positions(proposal, files or ())


def _file_positions(proposal: Proposal, files: Collection[str]) -> frozenset[tuple[int, int]]:
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
    positions = {position for position in proposal.parts() if position[0] in numbers}
    return frozenset(positions - proposal.denied)


def hunk_positions(proposal: Proposal, numbers: Collection[int]) -> frozenset[tuple[int, int]]:
    """Convert hunk numbers into pairs of a file index and a hunk index.

    The numbers count from 1 over all files of the proposal. Raises UsageError for an unknown
    number.
    """
    every = proposal.parts()
    for number in numbers:
        if not 1 <= number <= len(every):
            raise UsageError(
                f"There is no hunk {number}: the proposal has {len(every)}.",
                hint="Show the proposal to see the numbers of its hunks.",
            )
    return frozenset(every[number - 1] for number in numbers)


def _files(proposal: Proposal) -> list[ProposedFile]:
    selected = {change.path: change for change in proposal.selected() or proposal.changes}
    return [
        _file(change, selected.get(change.path), undone=number in proposal.undone)
        for number, change in enumerate(proposal.changes)
    ]


def _file(change: FileChange, selected: FileChange | None, *, undone: bool) -> ProposedFile:
    added, removed = counts(selected) if selected is not None else (0, 0)
    return ProposedFile(
        path=change.path,
        kind=change.kind,
        target=change.target,
        added=added,
        removed=removed,
        base_hash=change.base_hash,
        result_hash=change.result_hash,
        undone=undone,
    )
