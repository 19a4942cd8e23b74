"""`treadle tools call` and what is recorded of it."""

import json
from pathlib import Path

from tests.cli.command import treadle


def test_a_tool_that_is_called_by_hand_is_recorded_as_a_run(tmp_path: Path) -> None:
    home, repo = tmp_path / "home", tmp_path / "repo"
    repo.mkdir()
    (repo / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    called = treadle(
        "tools", "call", "read_file", "--args", '{"path": "calc.py"}', home=home, repo=repo
    )
    assert called.status == 0
    assert called.err == "calc.py: lines 1-2 of 2\n"
    context = treadle("context", "add", home=home, repo=repo)
    assert "calc.add" in context.out
    listed = treadle("traces", "list", home=home).out.splitlines()
    assert listed[1].endswith('request_code_context {"token_budget": 4000, "hint": "add"}')
    assert listed[2].endswith('read_file {"path": "calc.py"}')
    shown = json.loads(treadle("traces", "show", "LAST", "--json", home=home).out)
    assert [span["kind"] for span in shown["spans"]] == ["tool", "retrieval"]


def test_a_tool_answers_where_nothing_can_be_recorded(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "data" / "traces.db").mkdir(parents=True)
    called = treadle("tools", "call", "list_dir", home=home, repo=tmp_path)
    assert called.status == 0
    assert json.loads(called.out)["total"] == 1
    assert "Nothing is recorded" in called.err
