"""The plan of a rewind: the messages, the proposals and the files that the rewind changes."""

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
from treadle.llm.messages import AttachedText, UserMessage
from treadle.session import Conversation, Entry
from treadle.session.rewinds import RewindScope, UndoneProposal


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file that changes on disk.

    `diff` is the unified diff from the present content to the content after the rewind or its undo.
    `target` is the new path of a renamed file. `keeps_later_changes` is true if someone changed
    other lines of the file after Treadle wrote it. These changes stay. `sentence` states the effect
    in words.
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
    """A file in which a proposal cannot be undone or redone. The file stays as it is.

    `reason` is a sentence. The usual reason is that someone changed the lines of the proposal.
    """

    proposal_id: UUID
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class PlannedProposal:
    """A proposal that a rewind undoes, or that the undo of a rewind redoes.

    `files` are the paths of the files that change.
    """

    proposal_id: UUID
    summary: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodePlan:
    """The effects on files.

    `proposals` are in the order in which they are undone or redone. `files` has the overall effect
    on each file. Files in `conflicts` stay as they are.
    """

    proposals: tuple[PlannedProposal, ...] = ()
    files: tuple[PlannedFile, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class RewindPlan:
    """The effects of a rewind to the user message `prompt`.

    `text`, `attached` and `images` are the content of that message. `images` has the names of its
    images. `head` is the last message of the current
    branch after the rewind, or null if that branch is empty. `messages` counts the messages that
    leave the branch. They stay as another branch. `not_undone` has sentences about effects of tool
    calls that remain.
    """

    conversation_id: UUID
    prompt: int
    text: str
    attached: tuple[AttachedText, ...]
    images: tuple[str, ...]
    scope: RewindScope
    head: int | None
    messages: int
    code: Annotated[CodePlan, JsonField(inline=True)]
    not_undone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UndoRewindPlan:
    """The effects of undoing the newest rewind of a conversation.

    `prompt` and `scope` are those of the rewind. `head` is the last message of the current branch
    after the undo. `messages` counts the messages that came after the rewind and leave the branch.
    """

    conversation_id: UUID
    prompt: int
    scope: RewindScope
    head: int | None
    messages: int
    code: Annotated[CodePlan, JsonField(inline=True)]


@dataclass(frozen=True, slots=True)
class RewindOutcome:
    """The result of a rewind, or of undoing a rewind.

    `head` is the last message of the current branch, or null if the branch is empty. If the
    conversation now ends before a prompt, `text`, `attached` and `images` are the content of that
    prompt, so that a person can change it and send it again. Otherwise `text` is null. `proposals`
    were undone or redone. The files in `conflicts` stayed as they were.
    """

    conversation_id: UUID
    prompt: int
    scope: RewindScope
    head: int | None
    text: str | None
    attached: tuple[AttachedText, ...]
    images: tuple[str, ...]
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
    """The proposals of a prompt and of the messages after it. The last applied proposal is first.

    `after` has the numbers of all these messages. A proposal contains the id of the request that
    made it. If the prompt steered a running request, only those proposals of that request count
    that are newer than the prompt.
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
    """The sort key: the time of the last application, then the time of staging.

    If the application was partly undone, the store no longer has its time. The time of staging then
    takes its place.
    """
    partly = proposal.state is ProposalState.PARTLY_UNDONE
    return proposal.created_us if partly else proposal.changed_us, proposal.created_us


def code_plan(
    simulation: Simulation, goal: ProposalState
) -> tuple[CodePlan, tuple[UndoneProposal, ...]]:
    """The effects of the simulated steps, and the steps that change a file."""
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
    """Yield the renames that result from all steps. Removes their paths from `differences`."""
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
    """The final paths of the files that someone changed after a proposal."""
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
        sentence = f"{sentence} Later changes of other lines stay."
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
"""The sentences about a file, by the state to which the steps lead and the kind of change."""
