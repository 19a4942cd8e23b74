"""Foreign text hides and forges nothing, wherever it is shown (S17)."""

import json
import logging
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.edits.test_diffs import change_of
from tests.spans.runs import span
from tests.toolbox.traces.recordings import Recordings
from treadle.app.logs import LineFormatter
from treadle.cli.main import main
from treadle.cli.output import table
from treadle.display.diffs import side_by_side, unified_text
from treadle.edits.requests import ReplaceEdit
from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces import TraceStore
from treadle.traces.fencing import fenced, inline, quotable
from treadle.visible import in_json, in_line, printable

HIDDEN = (
    *(range(0x20)),
    *(range(0x7F, 0xA0)),
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x180E, 0x200B, 0x200E, 0x200F, 0x3164),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *(0xFE00, 0xFE0D, 0xFEFF, 0xFFA0, 0xFFF9, 0x1BCA0, 0x1D173, 0xE0001, 0xE0041, 0xE0100),
)
"""Characters that control a screen, break or reorder a line, or are invisible."""

STEERING = "A\x1b[31m\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\\x9b31m\r\nFORGED \n\u202e"
HOSTILE = STEERING + "".join(map(chr, HIDDEN)) + "Z"


def log_line(form: Literal["json", "text"], text: str) -> str:
    record = logging.LogRecord("treadle", logging.INFO, "f", 1, f"a {text} b", None, None)
    record.__dict__["fields"] = {"plain": text, "spaced": f"a {text} b", text: text}
    return LineFormatter(form).format(record)


SHOWN: dict[str, tuple[Callable[[str], str], str]] = {
    "printable": (printable, "\n\t"),
    "in_line": (in_line, ""),
    "in_json": (lambda text: in_json(json.dumps(text, ensure_ascii=False)), ""),
    "table": (lambda text: table([(text, text)], ("A", "B")), "\n"),
    "fenced": (lambda text: fenced(text, text), "\n\t"),
    "inline": (inline, ""),
    "quotable": (quotable, "\n\t"),
    "log as text": (lambda text: log_line("text", text), ""),
    "log as JSON": (lambda text: log_line("json", text), ""),
}
"""Each way to show foreign text, with the white space that it keeps."""


@pytest.mark.parametrize("way", SHOWN)
def test_no_hidden_character_is_left(way: str) -> None:
    show, kept = SHOWN[way]
    for code in HIDDEN:
        shown = show(f"a{chr(code)}b")
        found = [each for each in shown if ord(each) in HIDDEN and each not in kept]
        assert not found, f"U+{code:04X}"


def test_ordinary_text_of_every_script_is_unchanged() -> None:
    text = "naïve café 中文 עברית हिन्दी 👩‍👩‍👧 ❤️\n\tend"
    assert printable(text) == text


def test_escaped_json_has_the_same_value() -> None:
    value = {"a": f"{HOSTILE}\U0001f600"}
    assert json.loads(in_json(json.dumps(value, ensure_ascii=False))) == value


@pytest.mark.parametrize("show", [unified_text, side_by_side])
@pytest.mark.parametrize("code", [code for code in HIDDEN if code not in {0x00, 0x09, 0x0A, 0x0D}])
def test_a_diff_shows_every_character_that_is_written(show: Callable[..., str], code: int) -> None:
    before = change_of(b"a = 1\nb = 2\n", ReplaceEdit("f", "a = 1", "a = 3"))
    after = change_of(b"a = 1\nb = 2\n", ReplaceEdit("f", "a = 1", f"a = 3{chr(code)} b()"))
    shown = show(after, colour=False)
    assert len(shown.splitlines()) == len(show(before, colour=False).splitlines())
    assert chr(code) not in shown
    assert "3 b()" not in shown


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a recorded span whose every field is hostile."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "calc.py").write_text("def add(): pass\n")
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")  # whatever terminal runs the tests
    monkeypatch.chdir(tmp_path / "repo")
    said = json.dumps([{"role": "user", "content": HOSTILE}])
    store = TraceStore.open(tmp_path / "home" / "data" / "traces.db")
    spans = [
        replace(
            span(f"{number}{HOSTILE}", trace_id=f"{number}" * 32, kind=kind),
            name=HOSTILE,
            operation=HOSTILE,
            model=HOSTILE,
            provider=HOSTILE,
            error=HOSTILE,
            thread_id=HOSTILE,
            run_id=HOSTILE,
            labels=(HOSTILE,),
            status=SpanStatus.ERROR,
            input=said,
            output=said,
            attributes={HOSTILE: HOSTILE, "gen_ai.tool.name": HOSTILE, "error.type": HOSTILE},
        )
        for number, kind in enumerate(SpanKind)
    ]
    store.write(spans).result()
    store.close()
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("traces", "list"),
        *(("traces", "show", str(number)) for number in range(len(SpanKind))),
        ("traces", "search", "FORGED"),
        ("traces", "summary"),
        ("traces", "faults"),
        ("tools", "call", "fetch_spans", "--args", '{"maxTokens": 50000}'),
        ("tools", "call", "fetch_runs", "--args", '{"maxTokens": 50000}'),
        ("tools", "call", "list_labels", "--args", "{}"),
    ],
    ids=" ".join,
)
def test_recorded_text_cannot_control_the_terminal(
    home: Path, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, *(["--repo", str(home / "repo")] if command[0] == "tools" else [])]) == 0
    out, err = capsys.readouterr()
    assert "FORGED" in out
    assert not {each for each in out + err if ord(each) in HIDDEN} - {"\n", "\t"}
    assert not re.search(r"^FORGED", out + err, re.MULTILINE)


TOOL_CALLS: dict[str, dict[str, Any]] = {
    "fetch_spans": {"since": "1970-01-01"},
    "fetch_runs": {"since": "1970-01-01"},
    "fetch_groups": {"groupBy": "label"},
    "fetch_spans_summary": {"since": "1970-01-01"},
    "get_run_details": {"runId": HOSTILE},
    "get_span_content": {"spanIds": [f"0{HOSTILE}"]},
    "list_labels": {},
    "search_spans": {"query": "FORGED"},
}


@pytest.mark.parametrize("name", TOOL_CALLS)
def test_tool_results_contain_no_hidden_character(home: Path, name: str) -> None:
    with closing(TraceStore.open(home / "home" / "data" / "traces.db")) as store:
        recordings = Recordings(store, home / "repo")
        content = recordings.content(name, **TOOL_CALLS[name], maxTokens=50_000)
    assert "FORGED" in content
    assert not {f"U+{ord(each):04X}" for each in content if ord(each) in HIDDEN}
