"""The plan of a rewind: the messages, the proposals and the files that it changes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated
from uuid import UUID

from treadle.edits.diffs import counts, unified
from treadle.edits.hunks import rehunk
from treadle.edits.model import ChangeKind, FileChange, Hunk, Proposal, ProposalState, content_hash
from treadle.edits.simulation import SimulatedStep, Simulation
from treadle.errors import NotFoundError, UsageError
from treadle.json_values import JsonField
from treadle.llm.messages import UserMessage
from treadle.session import Conversation, Entry
from treadle.session.rewinds import RewindScope, UndoneProposal


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file that changes, with the unified diff of its content on disk and afterwards.

    `kind` is the change on disk. `target` is the new path of a renamed file. If
    `keeps_later_changes` is true, the file was changed since Treadle wrote it, and the later
    changes stay. `sentence` states all this in words.
    """

    path: str
    kind: ChangeKind
    target: str | None
    added: int
    removed: int
    diff: str
    keeps_later_changes: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file in which a proposal cannot be undone or redone, because its lines were changed since.

    The file stays as it is.
    """

    proposal_id: UUID
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class PlannedProposal:
    """A proposal that a rewind undoes, or that the undo of a rewind applies again.

    `files` are the paths of the files that change.
    """

    proposal_id: UUID
    summary: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodePlan:
    """The effect on files. Proposals are in the order in which they are undone or redone.

    A file in `conflicts` stays as it is.
    """

    proposals: tuple[PlannedProposal, ...] = ()
    files: tuple[PlannedFile, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """The effect of a rewind to the message `prompt`, which is before that message.

    `text` is the text of the prompt. `head` is the last message that remains on the current branch,
    or null if none remains. `messages` counts the messages that leave the branch. They stay as
    another branch. `not_undone` has a sentence for each kind of effect that remains.
    """

    conversation_id: UUID
    prompt: int
    text: str
    scope: RewindScope
    head: int | None
    messages: int
    code: Annotated[CodePlan, JsonField(inline=True)]
    not_undone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UndoRewindPlan:
    """The effect of undoing the newest rewind of a conversation.

    `prompt` and `scope` are those of the rewind. `head` is the last message of the current branch
    afterwards. `messages` counts the messages since the rewind, which leave the branch.
    """

    conversation_id: UUID
    prompt: int
    scope: RewindScope
    head: int | None
    messages: int
    code: Annotated[CodePlan, JsonField(inline=True)]


@dataclass(frozen=True, slots=True)
class RewindOutcome:
    """The effect of a rewind, or of undoing one, after it happened.

    `text` is the text of the prompt if the conversation went back before it, for the prompt editor.
    It is null otherwise. `proposals` are the proposals that were undone or redone. `conflicts` are
    the files that were kept.
    """

    conversation_id: UUID
    prompt: int
    scope: RewindScope
    head: int | None
    text: str | None
    proposals: tuple[UUID, ...]
    conflicts: tuple[Conflict, ...]


def prompt_entry(conversation: Conversation, number: int) -> Entry:
    """The user message with that number on the current branch.

    Raises NotFoundError and UsageError.
    """
    entry = next((each for each in conversation.entries if each.number == number), None)
    if entry is None:
        raise NotFoundError(
            f"The current branch of the conversation {conversation.id} has no message {number}.",
            hint=f"`treadle sessions show {conversation.id}` shows the numbers of its messages.",
        )
    if not isinstance(entry.message, UserMessage):
        raise UsageError(
            f"Message {number} is not a prompt.", hint="Choose the number of a user message."
        )
    return entry


def head_of(conversation: Conversation) -> int | None:
    """The last message of the current branch, or None if it has no message."""
    return conversation.entries[-1].number if conversation.entries else None


def descendants(tree: Sequence[Entry], number: int) -> frozenset[int]:
    """The numbers of a message and of all messages after it, on every branch."""
    found = {number}
    for entry in tree:  # a message has a higher number than the message before it
        if entry.parent in found:
            found.add(entry.number)
    return frozenset(found)


def ancestors(tree: Sequence[Entry], head: int | None) -> frozenset[int]:
    """The numbers of the messages of the branch that ends at `head`."""
    parents = {entry.number: entry.parent for entry in tree}
    found: set[int] = set()
    while head is not None and head in parents:
        found.add(head)
        head = parents[head]
    return frozenset(found)


def proposals_since(
    proposals: Sequence[Proposal], prompt: Entry, tree: Sequence[Entry], after: Collection[int]
) -> tuple[Proposal, ...]:
    """The proposals of the requests at and after a prompt, the last applied proposal first.

    `after` are the numbers of the prompt and of the messages after it. A request answers a prompt
    and the messages that steer it. If the prompt steers, only its later proposals count.
    """
    requests = {each.request_id for each in tree if each.number in after and each.request_id}
    others = {each.request_id for each in tree if each.request_id} - requests
    if isinstance(prompt.message, UserMessage) and prompt.message.steers:
        requests.discard(prompt.request_id)

    def is_since(proposal: Proposal) -> bool:
        if proposal.request_id in requests or proposal.request_id in others:
            return proposal.request_id in requests
        return proposal.created_us >= prompt.at_us

    return tuple(sorted(filter(is_since, proposals), key=_applied_us, reverse=True))


def _applied_us(proposal: Proposal) -> tuple[int, int]:
    """The time at which a proposal was applied. A partial undo hides it, so staging counts then."""
    partly = proposal.state is ProposalState.PARTLY_UNDONE
    return proposal.created_us if partly else proposal.changed_us, proposal.created_us


def code_plan(
    simulation: Simulation, goal: ProposalState
) -> tuple[CodePlan, tuple[UndoneProposal, ...]]:
    """The effect of the simulated steps, and the steps that change a file."""
    steps = [step for step in simulation.steps if step.files]
    proposals = [
        PlannedProposal(
            step.proposal.id,
            step.proposal.summary,
            tuple(step.proposal.changes[number].path for number in sorted(step.files)),
        )
        for step in steps
    ]
    conflicts = [
        Conflict(step.proposal.id, error.path or "", error.message)
        for step in simulation.steps
        for error in step.conflicts
    ]
    plan = CodePlan(tuple(proposals), tuple(_files(simulation, goal)), tuple(conflicts))
    return plan, tuple(UndoneProposal(step.proposal.id, step.files) for step in steps)


def _files(simulation: Simulation, goal: ProposalState) -> Iterator[PlannedFile]:
    differences = dict(simulation.differences())
    later = _later_changes(simulation.steps)
    for change in _renames(simulation.steps, differences):
        yield _file(change, goal, keeps=change.target in later)
    for path, (before, after) in sorted(differences.items()):
        yield _file(_difference(path, before, after), goal, keeps=path in later)


def _renames(
    steps: Sequence[SimulatedStep], differences: dict[str, tuple[bytes | None, bytes | None]]
) -> Iterator[FileChange]:
    """The net renames of the steps. Removes their paths from `differences`."""
    origins: dict[str, str] = {}
    for step in steps:
        for change in step.changes:
            if change.target is not None:
                origins[change.target] = origins.pop(change.path, change.path)
    for target, origin in sorted(origins.items()):
        before, gone = differences.get(origin, (None, b""))
        there, after = differences.get(target, (b"", None))
        if before is not None and gone is None and there is None and after is not None:
            del differences[origin], differences[target]
            change = rehunk(origin, before, after)
            yield replace(change, kind=ChangeKind.RENAME, target=target)


def _difference(path: str, before: bytes | None, after: bytes | None) -> FileChange:
    if before is not None and after is not None:
        return rehunk(path, before, after)
    kind = ChangeKind.CREATE if before is None else ChangeKind.DELETE
    base, result = (None if each is None else content_hash(each) for each in (before, after))
    return FileChange(path, kind, base, result, (Hunk(0, 1, before or b"", after or b""),))


def _later_changes(steps: Sequence[SimulatedStep]) -> frozenset[str]:
    """The final paths of the files that were changed since a proposal changed them."""
    found: set[str] = set()
    for step in steps:
        for change in step.changes:
            if change.path in found or change.path in step.later_changes:
                found.discard(change.path)
                found.add(change.target or change.path)
    return frozenset(found)


def _file(change: FileChange, goal: ProposalState, *, keeps: bool) -> PlannedFile:
    sentence = _SENTENCES[goal][change.kind].format(path=change.path, target=change.target)
    if keeps:
        sentence = f"{sentence} It was changed since, and the later changes stay."
    return PlannedFile(
        change.path, change.kind, change.target, *counts(change), unified(change), keeps, sentence
    )


_SENTENCES: Mapping[ProposalState, Mapping[ChangeKind, str]] = {
    ProposalState.UNDONE: {
        ChangeKind.MODIFY: "{path} is reverted.",
        ChangeKind.DELETE: "{path} is deleted, because the conversation created it.",
        ChangeKind.CREATE: "{path} is restored, because the conversation deleted it.",
        ChangeKind.RENAME: "{path} is renamed back to {target}.",
    },
    ProposalState.APPLIED: {
        ChangeKind.MODIFY: "{path} is changed again.",
        ChangeKind.DELETE: "{path} is deleted again.",
        ChangeKind.CREATE: "{path} is created again.",
        ChangeKind.RENAME: "{path} is renamed to {target} again.",
    },
}
"""The effect on a file in words, when proposals are undone and when they are applied again."""
