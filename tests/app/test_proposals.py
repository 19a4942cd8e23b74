"""The service of proposals announces each decision on the bus."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from treadle.app.application import App, Toolset, open_app
from treadle.app.proposals import ProposalService
from treadle.config.model import Settings
from treadle.edits.model import EditError, ProposalState
from treadle.edits.requests import CreateFile, DeleteFile, EditRequest, RenameFile, ReplaceEdit
from treadle.errors import NotFoundError, UsageError
from treadle.events.changes import (
    EditApplied,
    EditDenied,
    EditFailed,
    EditStaged,
    EditUndone,
    ProposalEvent,
)

TEXT = "".join(f"{number}\n" for number in range(40))
BOTH = (ReplaceEdit("a.txt", "1\n2\n", "one\n2\n"), ReplaceEdit("b.txt", "1\n2\n", "one\n2\n"))


@pytest_asyncio.fixture
async def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    root = tmp_path / "root"
    root.mkdir()
    for name in "ab":
        (root / f"{name}.txt").write_text(TEXT)
    async with open_app(root, settings=Settings(), toolset=Toolset.NONE) as app:
        yield app


def stage(app: App, *requests: EditRequest) -> str:
    assert app.edits is not None
    return str(app.edits.stage(requests).id)


async def heard(app: App, *decisions: object) -> list[ProposalEvent]:
    """The events that these decisions publish. A decision may fail."""
    with app.bus.subscribe(ProposalEvent) as events:
        for decision in decisions:
            try:
                await decision  # type: ignore[misc]  # a coroutine
            except EditError:
                continue
        events.close()
        found = [envelope.event async for envelope in events]
    assert all(isinstance(event, ProposalEvent) for event in found)
    return found  # type: ignore[return-value]  # checked above


async def test_each_decision_publishes_its_event(app: App) -> None:
    service = ProposalService.of(app)
    stage(app, *BOTH)
    events = await heard(
        app,
        service.deny("last", files=["b.txt"], words="not this"),
        service.approve("last"),
        service.undo("last"),
        service.redo("last"),
        service.deny("last"),
    )
    assert [(type(event), event.files) for event in events] == [
        (EditStaged, ("a.txt",)),
        (EditApplied, ("a.txt",)),
        (EditUndone, ("a.txt",)),
        (EditApplied, ("a.txt",)),
    ]
    stage(app, DeleteFile("b.txt"))
    (denied,) = await heard(app, service.deny("last", words="no"))
    assert isinstance(denied, EditDenied)
    assert denied.words == "no"


async def test_failed_write_is_announced_with_its_reason(app: App) -> None:
    service = ProposalService.of(app)
    stage(app, *BOTH)
    (app.root / "a.txt").write_text(TEXT.replace("1\n2\n", "mine\n"))
    (failed,) = await heard(app, service.approve("last"))
    assert isinstance(failed, EditFailed)
    assert "a.txt has changed" in failed.reason
    (listed,) = await service.list(states={ProposalState.CONFLICTED})
    assert listed.id == failed.proposal_id


async def test_partial_undo_announces_only_the_undone_files(app: App) -> None:
    service = ProposalService.of(app)
    stage(app, *BOTH)
    await service.approve("last")
    (app.root / "a.txt").write_text(TEXT.replace("1\n2\n", "mine\n"))
    (event,) = await heard(app, service.undo("last", keep_changed=True))
    assert (type(event), event.files) == (EditUndone, ("b.txt",))
    (event,) = await heard(app, service.redo("last"))
    assert (type(event), event.files) == (EditApplied, ("b.txt",))


async def test_amended_bytes_are_written_exactly(app: App) -> None:
    service = ProposalService.of(app)
    stage(
        app,
        ReplaceEdit("a.txt", "1\n2\n", "one\n2\n"), CreateFile("new.txt", "new\n"),
        RenameFile("b.txt", "c.txt"),
    )  # fmt: skip
    assert await service.content("last", "new.txt") == b"new\n"
    assert await service.content("last", "b.txt") == TEXT.encode()
    exact = b"\xff\r\nno end"
    (event,) = await heard(app, service.amend("last", "a.txt", exact))
    assert isinstance(event, EditStaged)
    assert await service.content("last", "a.txt") == exact
    await service.approve("last")
    assert (app.root / "a.txt").read_bytes() == exact


async def test_content_of_a_file_that_is_not_written_is_refused(app: App) -> None:
    service = ProposalService.of(app)
    stage(app, DeleteFile("a.txt"))
    for path in ("a.txt", "b.txt"):
        with pytest.raises(NotFoundError, match="does not write"):
            await service.content("last", path)
    with pytest.raises(UsageError):
        await service.approve("last", hunks=[7])
