"""The audit log has exactly one entry for each action in the terminal."""

import asyncio
from pathlib import Path

import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call
from treadle.app.choices import Choices
from treadle.app.stores import Stores
from treadle.config.loader import load
from treadle.events.types import ApprovalScope
from treadle.identity.identity import Limits, Scope
from treadle.identity.records import Action
from treadle.identity.store import IdentityStore
from treadle.tui.local_workbench import LocalWorkbench

EDIT = {"edits": [{"file": "a.py", "replace": {"old": "x = 1", "new": "x = 2"}}]}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    (folder / "a.py").write_text("x = 1\n")
    (folder / ".env").write_text("TOKEN=abc\n")
    check = folder / "check.sh"
    check.write_text("#!/bin/sh\n")
    check.chmod(0o755)
    with IdentityStore(Stores.of_user().identity) as store:
        store.keys.create(
            "default", "ci", frozenset(Scope), Limits(), created_by="test", expires_us=None,
            now_us=1,
        )  # fmt: skip
    return folder


def log() -> list[tuple[Action, str]]:
    """The action and the actor of each entry, oldest first."""
    with IdentityStore(Stores.of_user().identity) as store:
        return [(each.action, each.who) for each in store.audit.entries(limit=1_000)][::-1]


async def answer(workbench: LocalWorkbench, text: str, scope: ApprovalScope) -> None:
    """Send a message whose turn asks a question, and answer this question twice."""
    showing = asyncio.create_task(_show(workbench))  # somebody can answer
    async with asyncio.timeout(20):
        turn = await workbench.send(text, conversation=None, choices=Choices())
        while not (  # noqa: ASYNC110  (no event)
            asked := await workbench.pending_approvals()
        ):
            await asyncio.sleep(0.01)
        assert await workbench.answer(asked[0].approval_id, scope)
        assert not await workbench.answer(asked[0].approval_id, scope)
        while turn.request_id in await workbench.running_turns():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    showing.cancel()


async def _show(workbench: LocalWorkbench) -> None:
    async for _ in workbench.events():
        pass


async def test_each_action_has_one_entry(repo: Path) -> None:
    read = Answer("", (Call("read_file", {"path": ".env"}, id="c1"),))
    edit = Answer("", (Call("apply_code_edit", EDIT, id="c2"),))
    settings: dict[str, object] = {
        "checks.commands.own.command": ["./check.sh"], "checks.commands.own.parser": "none",
    }  # fmt: skip
    async with FakeProvider([read, Answer("Read."), edit, Answer("Edited.")]) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "k" * 12}
        loaded = load(repo, env, settings).settings
        with pytest.MonkeyPatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            async with LocalWorkbench.open(repo, loaded) as workbench:
                await answer(workbench, "Read it.", ApprovalScope.ALWAYS)
                (permission,) = await workbench.permissions(None)
                await workbench.revoke(permission.id)
                await answer(workbench, "Edit it.", ApprovalScope.ONCE)
                (proposal,) = await workbench.proposals()
                await workbench.undo(proposal.proposal.id)
                await workbench.redo(proposal.proposal.id)
                (check,) = [each for each in await workbench.checks() if each.name == "own"]
                program = await workbench.program_to_allow(check)
                await workbench.run_check(check, lambda _: None, allowed=program, always=True)
                await workbench.run_check(check, lambda _: None)
                for conversation in await workbench.conversations():
                    await workbench.note_export(conversation.id)
                    await workbench.delete_conversation(conversation.id)
    approvals = [(Action.APPROVAL, "terminal")] * 6
    each_conversation = [(Action.EXPORT, "terminal"), (Action.DELETION, "terminal")]
    assert log() == approvals + each_conversation * 2
