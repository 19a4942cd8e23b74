"""`treadle tools call` and what is recorded of it."""

import json
from pathlib import Path

from tests.cli.command import treadle


def test_tool_call_from_the_command_line_is_recorded_as_a_run(tmp_path: Path) -> None:
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
    listed = json.loads(treadle("traces", "list", "--json", home=home).out)["data"]
    assert [run["name"] for run in listed] == [
        "execute_tool request_code_context",
        "execute_tool read_file",
    ]
    assert [run["question"] for run in listed] == ["token_budget: 4000\nhint: add", "path: calc.py"]
    shown = json.loads(treadle("traces", "show", "LAST", "--json", home=home).out)
    assert [span["kind"] for span in shown["spans"]] == ["tool", "retrieval"]


def test_tool_answers_if_nothing_can_be_recorded(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "data" / "traces.db").mkdir(parents=True)
    called = treadle("tools", "call", "list_dir", home=home, repo=tmp_path)
    assert called.status == 0
    assert json.loads(called.out)["total"] == 1
    assert "Nothing is recorded" in called.err


def test_stats_show_the_outcomes_of_calls(tmp_path: Path) -> None:
    repo, home = tmp_path / "repo", tmp_path / "home"
    repo.mkdir()
    (repo / "a.py").write_text("x = 1\n")
    for path in ("a.py", "a.py", "b.py"):
        treadle(
            "tools", "call", "read_file", "--args", f'{{"path": "{path}"}}', home=home, repo=repo
        )
    found = json.loads(treadle("tools", "stats", "--json", home=home).out)["tools"]
    assert [(each["name"], each["calls"], each["ok"]) for each in found] == [("read_file", 3, 2)]
    assert found[0]["success_rate"] == 0.6667
    assert found[0]["failures"] == {"not_found": 1}
    assert found[0]["latency_ms"]["max"] >= found[0]["latency_ms"]["p50"] > 0
    assert "1 not_found" in treadle("tools", "stats", "--since", "1h", home=home).out
    assert (
        treadle("tools", "stats", "--since", "2100-01-01", home=home).out
        == "No tool calls are recorded.\n"
    )
