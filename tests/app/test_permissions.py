"""Permissions in words, their list and their revocation, and the choices of a question."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from tests.tools.samples import SessionCaller
from treadle.app.application import App, Toolset, open_app
from treadle.app.permissions import Choice, Permissions
from treadle.config.model import Settings
from treadle.errors import NotFoundError
from treadle.events.types import ApprovalRequested, ApprovalScope, ToolCallCompleted

TALK, OTHER = UUID(int=7), UUID(int=8)
SETTINGS = Settings.model_validate({
    "checks": {"commands": {"tests": {"command": ("true",)}}}
})  # fmt: skip


@pytest_asyncio.fixture
async def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("one = 1\n")
    (root / "Makefile").write_text("all:\n")
    (root / ".env").write_text("KEY=1\n")
    async with open_app(root, settings=SETTINGS, toolset=Toolset.CODE) as app:
        with app.approvals.allow_questions():
            yield app


@asynccontextmanager
async def asked(app: App, tool: str, **arguments: object) -> AsyncIterator[ApprovalRequested]:
    """The question about a call of a conversation. The call is denied when the context ends."""
    caller = SessionCaller(app.executor, app.registry, session_id=TALK)
    with app.bus.subscribe(ApprovalRequested) as events:
        outcome = await caller.start(tool, json.dumps(arguments))
        envelope = await asyncio.wait_for(anext(aiter(events)), 10)
        assert isinstance(envelope.event, ApprovalRequested)
        yield envelope.event
    app.approvals.answer(envelope.event.approval_id, ApprovalScope.DENIED)
    await outcome


async def allowed(app: App, tool: str, session_id: UUID = TALK, **arguments: object) -> bool:
    """Whether a call runs without a question."""
    caller = SessionCaller(app.executor, app.registry, session_id=session_id)
    with app.bus.subscribe(ApprovalRequested) as events:
        outcome = await caller.start(tool, json.dumps(arguments))
        question = asyncio.ensure_future(anext(aiter(events)))
        either: set[asyncio.Future[Any]] = {question, outcome}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if outcome.done():
            question.cancel()
            return isinstance(outcome.result(), ToolCallCompleted)
        event = question.result().event
        assert isinstance(event, ApprovalRequested)
        app.approvals.answer(event.approval_id, ApprovalScope.DENIED)
        await outcome
        return False


async def grant(app: App, scope: ApprovalScope, tool: str, **arguments: object) -> None:
    async with asked(app, tool, **arguments) as question:
        assert app.approvals.answer(question.approval_id, scope)


def edit(path: str) -> dict[str, object]:
    return {"path": path, "content": "new\n"}


async def test_permissions_of_sessions_and_of_the_repository_are_in_one_list(app: App) -> None:
    permissions = Permissions(app)
    assert await permissions.list() == ()
    await grant(app, ApprovalScope.SESSION, "create_file", **edit("b.py"))
    await grant(app, ApprovalScope.ALWAYS, "run_check", check="tests")
    await grant(app, ApprovalScope.SESSION, "read_file", path=".env")
    found = await permissions.list(TALK)
    assert [(each.id, each.scope, each.conversation_id) for each in found] == [
        ("always-1", ApprovalScope.ALWAYS, None),
        ("session-1", ApprovalScope.SESSION, TALK),
        ("session-3", ApprovalScope.SESSION, TALK),
    ]
    run, create, read = (each.sentence for each in found)
    assert run.startswith("Run `true` with the program /")
    assert run.endswith(" in this repository.")
    assert create == "Create b.py with create_file in this conversation."
    assert read == "Read .env with read_file in this conversation."
    assert f"in the conversation {TALK}" in (await permissions.list(OTHER))[1].sentence


async def test_revoked_permission_asks_again(app: App) -> None:
    permissions = Permissions(app)
    await grant(app, ApprovalScope.SESSION, "create_file", **edit("b.py"))
    await grant(app, ApprovalScope.SESSION, "read_file", path=".env")
    assert await allowed(app, "read_file", path=".env")
    assert not await allowed(app, "read_file", OTHER, path=".env")
    await permissions.revoke("session-2")
    assert not await allowed(app, "read_file", path=".env")
    assert [each.id for each in await permissions.list()] == ["session-1"]
    for unknown in ("session-2", "always-9", "session-", "always-x", "", "never-1"):
        with pytest.raises(NotFoundError, match="There is no permission"):
            await permissions.revoke(unknown)


async def test_revoked_permanent_permission_also_ends_for_its_conversation(app: App) -> None:
    permissions = Permissions(app)
    await grant(app, ApprovalScope.ALWAYS, "read_file", path=".env")
    assert await allowed(app, "read_file", OTHER, path=".env")
    (found,) = await permissions.list()
    await permissions.revoke(found.id)
    assert await permissions.list() == ()
    assert not await allowed(app, "read_file", path=".env")


async def test_all_permissions_are_revoked_at_once(app: App) -> None:
    permissions = Permissions(app)
    await grant(app, ApprovalScope.ALWAYS, "read_file", path=".env")
    await grant(app, ApprovalScope.SESSION, "create_file", **edit("b.py"))
    assert await permissions.revoke_all() == 2
    assert await permissions.list() == ()
    assert not await allowed(app, "read_file", path=".env")


async def test_choices_state_what_each_answer_allows(app: App) -> None:
    async with asked(app, "create_file", **edit("b.py")) as question:
        choices = Permissions(app).choices(question.approval_id)
    assert choices == (
        Choice(ApprovalScope.ONCE, True, "Allow this call only."),
        Choice(
            ApprovalScope.SESSION,
            True,
            "Allow this call. In this conversation, also create b.py with create_file without a "
            "question, until Treadle ends.",
        ),
        Choice(
            ApprovalScope.ALWAYS,
            True,
            "Allow this call. In this repository, also create b.py with create_file without a "
            "question, until you revoke it.",
        ),
        Choice(ApprovalScope.DENIED, True, "Do not allow this call."),
    )
    with pytest.raises(NotFoundError, match="no longer waits"):
        Permissions(app).choices(question.approval_id)


async def test_protected_file_can_only_be_allowed_once(app: App) -> None:
    async with asked(app, "delete_file", path="Makefile") as question:
        _, session, always, _ = Permissions(app).choices(question.approval_id)
        assert app.approvals.answer(question.approval_id, ApprovalScope.SESSION)
    assert (
        session.sentence
        == always.sentence
        == (
            "Not possible, because makefile configures which programs run, or which files are "
            "ignored. Each change needs its own approval."
        )
    )
    assert (session.available, always.available) == (False, False)
    assert await Permissions(app).list() == ()


async def test_protected_file_among_others_is_not_remembered(app: App) -> None:
    edits = [
        {"file": "a.py", "replace": {"old": "one", "new": "two"}},
        {"file": "Makefile", "replace": {"old": "all", "new": "every"}},
    ]
    async with asked(app, "apply_code_edit", edits=edits) as question:
        _, session, always, _ = Permissions(app).choices(question.approval_id)
        assert app.approvals.answer(question.approval_id, ApprovalScope.SESSION)
    assert "also edit a.py with apply_code_edit without a question" in session.sentence
    assert "Makefile" not in session.sentence
    assert (session.available, always.available) == (True, False)
    assert [each.sentence for each in await Permissions(app).list(TALK)] == [
        "Edit a.py with apply_code_edit in this conversation."
    ]
