"""The mode of a conversation: what it refuses, how it is saved, and who changes it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.toolbox.workbench import LARGE, workbench
from treadle.app.application import App, Toolset, open_app
from treadle.app.modes import change_mode, change_saved_mode
from treadle.errors import NotFoundError
from treadle.events import Outcome
from treadle.events.changes import EditStaged, ModeChanged
from treadle.events.types import (
    ApprovalRequested,
    CallKey,
    ErrorKind,
    Mode,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
)
from treadle.ids import new_id
from treadle.tools.contract import ToolEffect
from treadle.tools.executor import Caller


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    return folder


def contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


async def read_only() -> Mode:
    return Mode.READ_ONLY


async def called(app: App, name: str, arguments: dict[str, Any], caller: Caller) -> Outcome:
    key = CallKey(0, 0)
    request = ToolCallRequested(
        request_id=new_id(), key=key, call_id="c", vendor="v", name=name,
        arguments=json.dumps(arguments),
    )  # fmt: skip
    call = app.executor.open(request, caller)
    await app.executor.start(call)
    return await asyncio.wait_for(call.outcome, 60)


async def test_read_only_mode_refuses_every_writing_tool_against_all_allow_rules(
    tmp_path: Path,
) -> None:
    root = tmp_path / "woven"
    async with workbench(root) as bench:
        app = bench.app
        assert app.edits is not None
        writing = [tool.name for tool in app.registry if tool.effect is ToolEffect.WRITE]
        assert {"apply_code_edit", "create_file", "run_check"} <= set(writing)
        caller, before = Caller(app.registry, new_id(), mode=read_only), contents(root)
        with app.approvals.allow_questions(), app.bus.subscribe() as events:
            for name in writing:
                outcome = await called(app, name, LARGE[name], caller)
                assert isinstance(outcome, ToolCallFailed), name
                assert outcome.error.kind is ErrorKind.DENIED
                assert "mode read_only" in outcome.error.message
                assert "/normal" in outcome.error.message
        seen = [envelope.event async for envelope in events]
        assert not [each for each in seen if isinstance(each, ApprovalRequested | EditStaged)]
        assert contents(root) == before
        assert not app.edits.list()
        outcome = await called(app, "read_file", {"path": "loom/big.py"}, caller)
        assert isinstance(outcome, ToolCallCompleted)


async def test_mode_is_saved_and_another_process_sees_a_change_at_once(root: Path) -> None:
    async with (
        open_app(root, toolset=Toolset.CODE) as one,
        open_app(root, toolset=Toolset.CODE) as other,
    ):
        mine = await one.conversations.create("m", mode=Mode.READ_ONLY)
        theirs = await other.conversations.load(str(mine.id))
        assert theirs.mode is Mode.READ_ONLY
        with one.bus.subscribe() as events:
            await change_saved_mode(one, str(mine.id), Mode.NORMAL)
        changed = [e.event async for e in events if isinstance(e.event, ModeChanged)]
        assert [(each.conversation_id, each.mode) for each in changed] == [(mine.id, Mode.NORMAL)]
        assert await other.conversations.mode(theirs) is Mode.NORMAL
        with pytest.raises(NotFoundError):
            await change_saved_mode(one, "0" * 32, Mode.NORMAL)


async def test_entering_read_only_withdraws_the_open_question_of_a_write(root: Path) -> None:
    async with open_app(root, toolset=Toolset.CODE) as app:
        mine = await app.conversations.create("m")

        async def mode() -> Mode:
            return await app.conversations.mode(mine)

        caller = Caller(app.code_tools, mine.id, mode=mode)
        with app.approvals.allow_questions(), app.bus.subscribe() as events:
            arguments = {"path": "new.txt", "content": "x"}
            calling = asyncio.create_task(called(app, "create_file", arguments, caller))
            async for envelope in events:
                if isinstance(envelope.event, ApprovalRequested):
                    break
            await change_mode(app, mine, Mode.READ_ONLY)
            outcome = await calling
        assert isinstance(outcome, ToolCallFailed)
        assert "mode read_only" in outcome.error.message
        assert not contents(root)
        assert not app.approvals.pending()
