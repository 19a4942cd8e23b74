"""The whole path with no key and no server: the embedded model, in a process of its own."""

import json
from pathlib import Path

import pytest

from tests.cli.command import treadle
from treadle.llm.embedded import missing_parts


@pytest.mark.model
@pytest.mark.skipif(bool(missing_parts()), reason="no embedded model installed")
def test_embedded_model_answers_with_its_only_tool(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    ran = treadle(
        "ask",
        "How does add work?",
        "--json",
        home=tmp_path / "home",
        repo=repo,
        TREADLE_MODEL="embedded",
    )
    assert ran.status == 0, ran.err
    events = [json.loads(line) for line in ran.out.splitlines()]
    started = next(event for event in events if event["type"] == "SessionStarted")
    completed = next(event for event in events if event["type"] == "ToolCallCompleted")
    notices = [event["text"] for event in events if event["type"] == "Notice"]
    final = events[-1]
    assert started["tools"] == ["request_code_context"]
    assert json.loads(completed["content"])["context"][0]["name"] == "add"
    assert any("small demonstration model" in text for text in notices)
    assert (final["type"], final["tool_calls"]) == ("final", 1)
    assert final["text"].strip()
    assert [source["file"] for source in final["sources"]] == ["calc.py"]
