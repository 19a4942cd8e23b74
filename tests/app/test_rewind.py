"""Rewinds of the conversation and the code to a prompt, and their undo."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from tests.app.rewinding import Scene, opened
from tests.fakes.system import FakeSystem
from treadle.app.conversations import TurnRunningError
from treadle.app.rewind import RewindConflictError, Rewinds
from treadle.app.stores import Stores
from treadle.edits.model import ChangeKind, EditError, ProposalState
from treadle.edits.proposal_store import ProposalStore
from treadle.edits.requests import CreateFile, DeleteFile, RenameFile, ReplaceEdit
from treadle.edits.service import Edits
from treadle.errors import NotFoundError, UsageError
from treadle.events.changes import ConversationChanged, EditUndone, ProposalEvent
from treadle.events.types import CallKey
from treadle.ids import new_id
from treadle.llm.messages import (
    AssistantMessage,
    AttachedText,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle.session.conversation_writer import ConversationWriter
from treadle.session.rewinds import RewindScope

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "root"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.txt").write_text(TEXT)
    return folder


@pytest_asyncio.fixture
async def scene(root: Path) -> AsyncIterator[Scene]:
    async with opened(root) as scene:
        yield scene


def change(name: str, old: str, new: str) -> list[ReplaceEdit]:
    return [ReplaceEdit(f"{name}.txt", old, new)]


async def test_rewind_undoes_overlapping_proposals_newest_first_and_moves_the_head(
    scene: Scene,
) -> None:
    first = await scene.prompt("first", change("b", "two", "zwei"))
    kept = scene.files()
    second = await scene.prompt("second", change("a", "two", "TWO"))
    await scene.prompt("third", change("a", "TWO", "deux"))
    after = scene.files()

    plan = await scene.rewinds.plan_rewind("last", second)
    assert [each.files for each in plan.code.proposals] == [("a.txt",), ("a.txt",)]
    assert not plan.code.conflicts
    (file,) = plan.code.files
    assert (file.path, file.kind, file.added, file.removed) == ("a.txt", ChangeKind.MODIFY, 1, 1)
    assert "-deux\n+two\n" in file.diff
    assert file.sentence == "a.txt is reverted."
    assert (plan.text, plan.head, plan.messages) == ("second", first + 1, 4)
    assert scene.files() == after

    with scene.app.bus.subscribe(ProposalEvent, ConversationChanged) as events:
        outcome = await scene.rewinds.rewind("last", second)
        events.close()
        published = [type(envelope.event) async for envelope in events]
    assert published == [EditUndone, EditUndone, ConversationChanged]
    assert outcome.text == "second"
    assert scene.files() == kept
    assert await scene.branch() == ["first", "Answer to first"]

    undone = await scene.rewinds.undo_rewind("last")
    assert undone.proposals == outcome.proposals[::-1]
    assert scene.files() == after
    assert await scene.branch() == [
        "first", "Answer to first", "second", "Answer to second", "third", "Answer to third",
    ]  # fmt: skip
    with pytest.raises(NotFoundError):
        await scene.rewinds.undo_rewind("last")


async def test_rewind_before_the_first_prompt_leaves_an_empty_branch(scene: Scene) -> None:
    number = await scene.prompt("first")
    await scene.rewinds.rewind("last", number, RewindScope.CONVERSATION)
    assert await scene.branch() == []
    await scene.prompt("another")
    assert await scene.branch() == ["another", "Answer to another"]
    plan = await scene.rewinds.plan_undo("last")
    assert (plan.head, plan.messages) == (number + 1, 2)
    await scene.rewinds.undo_rewind("last")
    assert await scene.branch() == ["first", "Answer to first"]


async def test_scopes_are_independent(scene: Scene) -> None:
    before = scene.files()
    number = await scene.prompt("change it", change("a", "two", "TWO"))
    changed = scene.files()
    code = await scene.rewinds.rewind("last", number, RewindScope.CODE)
    assert (code.text, scene.files()) == (None, before)
    assert await scene.branch() == ["change it", "Answer to change it"]
    await scene.rewinds.undo_rewind("last")
    assert scene.files() == changed
    talk = await scene.rewinds.rewind("last", number, RewindScope.CONVERSATION)
    assert (talk.text, talk.proposals, await scene.branch()) == ("change it", (), [])
    assert scene.files() == changed


async def test_code_of_an_abandoned_branch_is_undone_only_by_an_earlier_prompt(
    scene: Scene,
) -> None:
    start = await scene.prompt("start")
    second = await scene.prompt("second", change("a", "two", "TWO"))
    await scene.rewinds.rewind("last", second, RewindScope.CONVERSATION)
    other = await scene.prompt("other", change("b", "two", "TWO"))
    plan = await scene.rewinds.plan_rewind("last", other)
    assert [file.path for file in plan.code.files] == ["b.txt"]
    whole = await scene.rewinds.plan_rewind("last", start)
    assert [file.path for file in whole.code.files] == ["a.txt", "b.txt"]


async def test_plan_names_every_kind_of_change(scene: Scene) -> None:
    before = scene.files()
    number = await scene.prompt(
        "all",
        [
            ReplaceEdit("a.txt", "two", "TWO"), CreateFile("new/d.txt", "fresh\n"),
            DeleteFile("b.txt"), RenameFile("c.txt", "moved.txt"),
        ],
    )  # fmt: skip
    plan = await scene.rewinds.plan_rewind("last", number)
    assert {file.path: (file.kind, file.sentence) for file in plan.code.files} == {
        "a.txt": (ChangeKind.MODIFY, "a.txt is reverted."),
        "b.txt": (ChangeKind.CREATE, "b.txt is restored, because the conversation deleted it."),
        "moved.txt": (ChangeKind.RENAME, "moved.txt is renamed back to c.txt."),
        "new/d.txt": (
            ChangeKind.DELETE, "new/d.txt is deleted, because the conversation created it.",
        ),
    }  # fmt: skip
    await scene.rewinds.rewind("last", number)
    assert scene.files() == before
    again = await scene.rewinds.plan_undo("last")
    assert {file.sentence for file in again.code.files} == {
        "a.txt is changed again.", "b.txt is deleted again.",
        "c.txt is renamed to moved.txt again.", "new/d.txt is created again.",
    }  # fmt: skip


async def test_plan_states_which_own_edits_stay(scene: Scene) -> None:
    number = await scene.prompt("change it", change("a", "two", "TWO"), change("b", "two", "TWO"))
    file = scene.root / "a.txt"
    file.write_text(file.read_text().replace("eight", "mine"))
    plan = await scene.rewinds.plan_rewind("last", number)
    assert {each.path: each.keeps_later_changes for each in plan.code.files} == {
        "a.txt": True, "b.txt": False,
    }  # fmt: skip
    await scene.rewinds.rewind("last", number)
    assert file.read_text() == TEXT.replace("eight", "mine")
    assert (scene.root / "b.txt").read_text() == TEXT


async def test_conflict_changes_nothing_unless_changed_files_are_kept(scene: Scene) -> None:
    both = [ReplaceEdit(f"{name}.txt", "two", "TWO") for name in "ab"]
    number = await scene.prompt("both", both)
    await scene.prompt("more", change("c", "two", "TWO"))
    file = scene.root / "a.txt"
    file.write_text(file.read_text().replace("TWO", "mine"))
    before = scene.files()

    plan = await scene.rewinds.plan_rewind("last", number)
    assert [conflict.path for conflict in plan.code.conflicts] == ["a.txt"]
    with pytest.raises(RewindConflictError, match=r"a\.txt"):
        await scene.rewinds.rewind("last", number)
    assert scene.files() == before
    assert len(await scene.branch()) == 4
    with pytest.raises(NotFoundError):
        await scene.rewinds.plan_undo("last")

    outcome = await scene.rewinds.rewind("last", number, keep_changed=True)
    assert [conflict.path for conflict in outcome.conflicts] == ["a.txt"]
    assert scene.files() == {**before, "b.txt": TEXT.encode(), "c.txt": TEXT.encode()}
    assert await scene.branch() == []
    await scene.rewinds.undo_rewind("last")
    assert scene.files() == before


async def test_undo_of_a_rewind_in_conflict_changes_nothing_unless_files_are_kept(
    scene: Scene,
) -> None:
    both = [ReplaceEdit(f"{name}.txt", "two", "TWO") for name in "ab"]
    number = await scene.prompt("both", both)
    await scene.rewinds.rewind("last", number)
    file = scene.root / "a.txt"
    file.write_text(TEXT.replace("two", "mine"))
    before = scene.files()
    plan = await scene.rewinds.plan_undo("last")
    assert [conflict.path for conflict in plan.code.conflicts] == ["a.txt"]
    with pytest.raises(RewindConflictError):
        await scene.rewinds.undo_rewind("last")
    assert (scene.files(), await scene.branch()) == (before, [])
    await scene.rewinds.undo_rewind("last", keep_changed=True)
    assert scene.files() == {**before, "b.txt": TEXT.replace("two", "TWO").encode()}
    assert await scene.branch() == ["both", "Answer to both"]
    assert scene.edits.list()[0].state is ProposalState.PARTLY_UNDONE


async def test_undo_of_a_rewind_restores_a_proposal_that_was_partly_undone_before(
    scene: Scene,
) -> None:
    both = [ReplaceEdit(f"{name}.txt", "two", "TWO") for name in "ab"]
    number = await scene.prompt("both", both)
    (proposal,) = scene.edits.list()
    file = scene.root / "a.txt"
    changed = file.read_text()
    file.write_text(changed.replace("TWO", "mine"))
    scene.edits.undo(proposal.id, keep_changed=True)
    file.write_text(changed)
    before = scene.files()
    await scene.rewinds.rewind("last", number)
    assert file.read_text() == TEXT
    await scene.rewinds.undo_rewind("last")
    assert scene.files() == before
    restored = scene.edits.get(proposal.id)
    assert (restored.state, restored.undone) == (ProposalState.PARTLY_UNDONE, frozenset({1}))
    scene.edits.redo(proposal.id)
    assert (scene.root / "b.txt").read_text() == changed


async def test_undo_of_a_rewind_works_after_a_restart(root: Path) -> None:
    async with opened(root) as scene:
        number = await scene.prompt("change it", change("a", "two", "TWO"))
        changed = scene.files()
        await scene.rewinds.rewind("last", number)
    async with opened(root, scene.id) as later:
        await later.rewinds.undo_rewind("last")
        assert later.files() == changed
        assert await later.branch() == ["change it", "Answer to change it"]


async def test_failed_write_applies_the_undone_proposals_again(scene: Scene) -> None:
    number = await scene.prompt("both", change("a", "two", "TWO"), change("b", "two", "TWO"))
    before = scene.files()
    system = FakeSystem()
    store = ProposalStore.open(Stores.of_user().proposals)
    broken = replace(scene.app, edits=Edits(scene.root, store, system=system))

    def fail() -> None:
        raise OSError(28, "No space left on device")

    failures = 0
    for at in range(1, 1_000, 7):
        system.do_at(at, fail)
        try:
            await Rewinds(broken).rewind("last", number)
        except (EditError, RewindConflictError):
            failures += 1
            assert (scene.files(), len(await scene.branch())) == (before, 2)
            with pytest.raises(NotFoundError):
                await scene.rewinds.plan_undo("last")
        else:
            if at > len(system.calls):
                break
            system.do_at(None, fail)
            await Rewinds(broken).undo_rewind("last")
            assert scene.files() == before
    assert failures > 5
    store.close()


async def test_running_turn_refuses_a_rewind(scene: Scene) -> None:
    number = await scene.prompt("first")
    conversation = await scene.conversation()
    async with scene.app.conversations.reserve(conversation, UserMessage("busy"), new_id()):
        with pytest.raises(TurnRunningError, match="is running"):
            await scene.rewinds.rewind("last", number)
    assert len(await scene.branch()) == 2


async def test_cancelled_caller_does_not_stop_a_rewind_half_way(scene: Scene) -> None:
    number = await scene.prompt("both", change("a", "two", "TWO"), change("b", "two", "TWO"))
    with scene.app.bus.subscribe(EditUndone, ConversationChanged) as events:
        task = asyncio.ensure_future(scene.rewinds.rewind("last", number))
        published = aiter(events)
        assert isinstance((await anext(published)).event, EditUndone)
        task.cancel()
        while not isinstance((await anext(published)).event, ConversationChanged):
            pass
    assert (scene.root / "a.txt").read_text() == (scene.root / "b.txt").read_text() == TEXT
    assert await scene.branch() == []


async def test_a_message_that_is_not_a_prompt_of_the_branch_is_refused(scene: Scene) -> None:
    number = await scene.prompt("first")
    with pytest.raises(UsageError, match="not a prompt"):
        await scene.rewinds.plan_rewind("last", number + 1)
    with pytest.raises(NotFoundError, match="no message 99"):
        await scene.rewinds.plan_rewind("last", 99)


async def test_plan_lists_calls_whose_effects_remain(scene: Scene) -> None:
    number = await scene.prompt("run it")
    calls = tuple(
        ToolCall(CallKey(0, slot), "", name, "{}") for slot, name in enumerate(["deploy", "deploy"])
    )
    conversation = await scene.conversation()
    writer = ConversationWriter(
        conversation, await scene.app.conversations.open_store(), scene.app.clock
    )
    await writer.append(
        AssistantMessage(None, calls),
        ToolMessage(calls[0].key, "{}"),
        ToolMessage(calls[1].key, '{"ok":false,"kind":"denied","effect":"none"}', ok=False),
    )
    plan = await scene.rewinds.plan_rewind("last", number)
    assert plan.not_undone == ("deploy ran once. Its effects outside of proposals remain.",)


async def test_rewind_returns_the_attached_texts_of_the_prompt(scene: Scene) -> None:
    attached = (AttachedText("notes", "Look here."),)
    conversation = await scene.conversation()
    store = await scene.app.conversations.open_store()
    message = UserMessage("Why?", attached=attached)
    await ConversationWriter(conversation, store, scene.app.clock).append(message)
    code = await scene.rewinds.rewind("last", 0, RewindScope.CODE)
    assert (code.text, code.attached) == (None, ())
    outcome = await scene.rewinds.rewind("last", 0)
    assert (outcome.text, outcome.attached) == ("Why?", attached)
