"""Sent messages and unsent drafts are kept, for their owner alone."""

import stat
from pathlib import Path

import pytest

from tests.fakes.replies import Answer
from tests.tui.terminal import running
from treadle.errors import StoreError
from treadle.session.attachments import CodeAttachment, ItemAttachment
from treadle.tui.prompt.draft import CommandOutput, Draft, ImageFile, PastedText, Unsent
from treadle.tui.prompt.files import PromptFiles
from treadle.tui.prompt.history import KEPT, History

MIXED = Draft((
    "see ", PastedText(1, "a\nb"), CommandOutput("ls", "x"), CodeAttachment("a.py", 1, 2),
    ItemAttachment("a.f", "a.py"), ImageFile("/a.png"),
))  # fmt: skip


async def test_arrow_keys_show_older_messages_and_the_draft_again(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Done."), Answer("Done.")]) as terminal:
        await terminal.ask("first")
        await terminal.ask("second\nline")
        prompt = terminal.app.area.prompt
        await terminal.write("draft")
        await terminal.pilot.press("up")
        assert prompt.text == "second\nline"
        await terminal.pilot.press("up")
        assert prompt.text == "first"
        await terminal.pilot.press("up", "down", "down", "down")
        assert prompt.text == "draft"


async def test_history_is_searched_as_one_types(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Done.")] * 3) as terminal:
        for text in ("fix the parser", "add a test", "fix the lexer"):
            await terminal.ask(text)
        prompt = terminal.app.area.prompt
        await terminal.pilot.press("ctrl+r", "F", "i", "x")
        assert prompt.text == "fix the lexer"
        assert "Search sent messages: Fix" in terminal.text()
        await terminal.pilot.press("ctrl+r")
        assert prompt.text == "fix the parser"
        await terminal.pilot.press("z")
        assert "(no match)" in terminal.text()
        await terminal.pilot.press("escape")
        assert prompt.text == ""


async def test_history_and_draft_are_there_after_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Done.")]) as terminal:
        await terminal.ask("first")
        await terminal.write("not sent")
    async with running(tmp_path) as terminal:
        prompt = terminal.app.area.prompt
        await terminal.until(lambda: prompt.text == "not sent")
        await terminal.pilot.press("up")
        assert prompt.text == "first"


async def test_sent_draft_is_deleted(tmp_path: Path) -> None:
    async with running(tmp_path, [Answer("Done.")]) as terminal:
        await terminal.write("hello")
        folder = tmp_path / "home" / "data" / "prompts"
        await terminal.until(lambda: any(folder.glob("*/draft-*.json")))
        await terminal.ask("")
        await terminal.until(lambda: not any(folder.glob("*/draft-*")))


def test_every_part_of_a_draft_is_restored(tmp_path: Path) -> None:
    with_queue = Unsent(MIXED, (Draft(("next",)), MIXED))
    crashed = PromptFiles(tmp_path)
    crashed.save(with_queue)
    other = PromptFiles(tmp_path)
    assert other.take_left() == []  # its terminal still runs
    crashed.release()
    assert other.take_left() == [with_queue]
    assert other.take_left() == []


def test_malformed_drafts_and_lines_are_left_out(tmp_path: Path) -> None:
    files = PromptFiles(tmp_path)
    files.add_to_history(MIXED)
    (tmp_path / "draft-1.json").write_text('{"prompt": 1}')
    (tmp_path / "draft-2.json").write_bytes(b"\xff")
    with (tmp_path / "history.jsonl").open("ab") as file:
        file.write(b'[1]\n{"kind": "code"}\n[{"kind": "new"}]\n\xff\n["half')
    assert files.take_left() == []
    assert files.history() == [MIXED]


def test_files_belong_to_their_owner_and_have_no_secrets(tmp_path: Path) -> None:
    files = PromptFiles(tmp_path / "prompts")
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    files.add_to_history(Draft((f"my key is {key}", PastedText(1, key))))
    files.save(Unsent(Draft(("text",))))
    paths = list((tmp_path / "prompts").iterdir())
    assert len(paths) == 3
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in paths)
    assert not any(key.encode() in path.read_bytes() for path in paths)


def test_unusable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        PromptFiles(tmp_path / "file").add_to_history(MIXED)


def test_history_is_bounded() -> None:
    history = History()
    for number in range(KEPT + 50):
        history.add(Draft((str(number),)))
    assert len(history) == KEPT
    assert history[0] == Draft(("50",))
