"""The log: its lines, its level, its size, and no secrets."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.fakes.model import FakeModel, Say, calls
from tests.session.parts import Echo, Gate, stage
from treadle.app.logs import LineFormatter, hide_logs, logged, show_logs
from treadle.config.model import LogSettings
from treadle.errors import TreadleError

KEY = "sk-proj-aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWxYz"


@pytest.fixture(autouse=True)
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("treadle")
    before, level = list(logger.handlers), logger.level
    yield logger
    logger.handlers[:] = before
    logger.setLevel(level)


class Broken(Echo):
    name = "broken"

    async def run(self, arguments: Any, context: Any) -> Any:
        raise ZeroDivisionError(f"by {KEY}")


async def session(path: Path, settings: LogSettings, times: int = 1) -> None:
    """A session with a call that succeeds, one that fails, and one that is unknown."""
    async with stage(Echo(), Broken()) as at, logged(at.bus, settings, path):
        for _ in range(times):
            three = Say("Secret text.", calls=(("echo", '{"text": "x"}'), *calls("broken", "sing")))
            await at.session(FakeModel(three, Say("Done."))).run("A question.")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.iterdir()}


async def test_every_step_is_a_line_with_its_level(tmp_path: Path) -> None:
    await session(tmp_path / "log", LogSettings(level="info"))
    written = lines(tmp_path / "log")
    steps = [(line["level"], line["message"], line.get("name")) for line in written]
    assert ("info", "SessionStarted", None) in steps
    assert ("info", "ToolCallRequested", "echo") in steps
    assert ("info", "ToolCallCompleted", "echo") in steps
    assert ("warning", "ToolCallFailed", "broken") in steps
    assert ("warning", "ToolCallFailed", "sing") in steps
    assert ("info", "ModelRequestFinished", None) in steps
    assert steps[-1][:2] == ("info", "SessionFinished")
    failed = next(line for line in written if line.get("name") == "sing")
    assert failed["key"] == {"turn": 0, "slot": 2}
    request = {line["request_id"] for line in written if "request_id" in line}
    assert len(request) == 1
    (error,) = [line for line in written if line["level"] == "error"]
    assert "ZeroDivisionError" in error["traceback"]


async def test_log_contains_no_contents_and_no_keys(tmp_path: Path) -> None:
    await session(tmp_path / "log", LogSettings(level="info"))
    text = (tmp_path / "log").read_text("utf-8")
    assert "[redacted:" in text
    for content in (KEY, "A question.", "Secret text.", "Done.", '\\"text\\"'):
        assert content not in text


async def test_level_warning_writes_only_failures(tmp_path: Path) -> None:
    await session(tmp_path / "log", LogSettings(format="text"))
    text = (tmp_path / "log").read_text("utf-8")
    assert " warning ToolCallFailed name=sing request_id=" in text
    assert " key.turn=0 key.slot=2 " in text
    assert " error.kind=unknown_tool " in text
    assert " info " not in text


async def test_log_file_is_not_created_without_lines(tmp_path: Path) -> None:
    await session(tmp_path / "log", LogSettings(level="off"))
    async with stage(Echo()) as at, logged(at.bus, LogSettings(), tmp_path / "log"):
        await at.session(FakeModel(Say("Done."))).run("Go")
    assert sizes(tmp_path) == {}


async def test_log_size_is_bounded(tmp_path: Path) -> None:
    await session(tmp_path / "log", LogSettings(level="info", file_bytes=10_000), times=20)
    found = sizes(tmp_path)
    assert sorted(found) == ["log", "log.1", "log.2"]
    assert max(found.values()) <= 10_000


async def test_unwritable_log_does_not_stop_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await session(tmp_path / "no folder" / "log", LogSettings(level="info"))
    assert capsys.readouterr().err == ""


async def test_two_buses_of_one_process_write_each_line_once(tmp_path: Path) -> None:
    chosen = LogSettings(level="info")
    async with stage(Gate()) as other, logged(other.bus, chosen, tmp_path / "log"):
        await session(tmp_path / "log", chosen)
    messages = [line["message"] for line in lines(tmp_path / "log")]
    assert messages.count("SessionStarted") == 1


async def test_debug_shows_the_steps_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_logs()
    await session(tmp_path / "log", LogSettings(level="off"))
    shown = capsys.readouterr().err
    assert " info ToolCallCompleted name=echo " in shown
    assert KEY not in shown
    assert not (tmp_path / "log").exists()


async def test_hidden_log_is_only_in_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_logs()
    hide_logs()
    await session(tmp_path / "log", LogSettings(level="info"))
    assert capsys.readouterr().err == ""
    assert "ToolCallCompleted" in [line["message"] for line in lines(tmp_path / "log")]


def test_record_stays_on_one_line() -> None:
    record = logging.LogRecord("treadle.x", logging.INFO, "f", 1, "%s", ("a\nb",), None)
    record.fields = {"odd key": 'a "b"\n=c', "none": TreadleError("x"), "number": 0.5}
    forms: list[Literal["json", "text"]] = ["json", "text"]
    for form in forms:
        assert "\n" not in LineFormatter(form).format(record)
