"""A question shows the exact call, however a model writes it (S17)."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.tools.test_approvals import denied, gate
from treadle.cli.approval_prompts import ApprovalPrompt, LineReader
from treadle.events.types import ApprovalRequested

PADDING = " harmless" * 100


class Typed(LineReader):
    """The typed lines of a user who denies the call."""

    async def next(self) -> str:
        return "n no"


async def asked_about(root: Path, written: str) -> ApprovalRequested:
    """The question about a call whose arguments are written this way, as the terminal shows it."""
    async with gate(root) as at:
        with at.approvals.allow_questions():
            calling = asyncio.ensure_future((at.caller()).call("change", written))
            question = await at.question()
            await ApprovalPrompt(at.approvals, None, Typed(), print).ask(question)
            denied(await calling)
    return question


async def test_a_question_shows_the_parsed_arguments(tmp_path: Path) -> None:
    written = '{"command": "harmless", "command": "make \\u0065vil"}'
    question = await asked_about(tmp_path, written)
    assert json.loads(question.preview or "") == {"command": "make evil"}
    assert "harmless" not in question.summary


async def test_a_call_that_is_too_long_for_the_question_is_shown_below_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [f"{PADDING}/a.py", "evil.py"]
    question = await asked_about(tmp_path, json.dumps({"paths": paths}))
    assert "evil.py" not in question.summary
    assert question.summary.endswith("…")
    assert json.loads(question.preview or "") == {"paths": paths}
    assert "evil.py" in capsys.readouterr().err


async def test_a_question_cannot_hide_or_add_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden = "a\n? Allowed before\u2028\x1b[2J\x9b2J\u202e\U000e0041.py"
    await asked_about(tmp_path, json.dumps({"paths": [hidden]}))
    err = capsys.readouterr().err
    assert not [line for line in err.splitlines() if line.startswith("? Allowed")]
    assert not {"\x1b", "\x9b", "\u2028", "\u202e", "\U000e0041"} & set(err)


async def test_a_text_of_megabytes_does_not_flood_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await asked_about(tmp_path, json.dumps({"command": "x" * 1_000_000}))
    err = capsys.readouterr().err
    assert "more characters" in err
    assert len(err) < 10_000
