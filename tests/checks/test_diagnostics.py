"""Parsing of recorded outputs of the tools (`outputs/`).

They are of pytest 9.2, ruff 0.17, mypy 2.4, gcc 12 and make, cargo 1.95, go 1.27, tsc 7, eslint 10,
pyright 1.1, node 20, vitest 4, jest 30 and mocha 12, with the names of folders replaced.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.checks.diagnostics import OutputReader, parser_for
from treadle.checks.model import Reading
from treadle.config.model import CheckParser
from treadle.processes.output import LineSplitter

OUTPUTS = Path(__file__).parent / "outputs"
ROOT = Path("/project")


def read(data: bytes, parser: CheckParser, folder: Path = ROOT) -> tuple[Reading, list[str]]:
    splitter = LineSplitter()
    reader = OutputReader(parser, ROOT, folder)
    shown = [line for text in (*splitter.feed(data), *splitter.end()) for line in reader.line(text)]
    return reader.reading(), shown


def told(reading: Reading) -> list[str]:
    """Each diagnostic on a line: location, severity, code, and the beginning of the message."""
    lines = (
        f"{each.file}:{each.line}:{each.column} {each.severity} [{each.code}] {each.message[:40]}"
        for each in reading.diagnostics
    )
    return [line.replace(":None", "") for line in lines]


CASES: dict[str, tuple[CheckParser, list[str]]] = json.loads(
    Path(__file__).with_name("told.json").read_text("utf-8")
)
"""For each output the parser and its expected result, checked by hand against the output."""

SAME = {
    "pytest_long.txt": "pytest_short.txt",
    "ruff_concise.txt": "ruff_json.txt",
    "cargo_check.txt": "cargo_check_json.txt",
    "tsc_pretty.txt": "tsc.txt",
}
"""Other formats of the same run with the same result."""

COUNTS = {
    "pytest_short.txt": {"failed": 3, "passed": 1, "skipped": 1, "xfailed": 1, "errors": 1},
    "pytest_no.txt": {"failed": 3, "passed": 1, "skipped": 1, "xfailed": 1, "errors": 1},
    "pytest_collection.txt": {"errors": 2},
    "cargo_test.txt": {"passed": 1, "failed": 2},
    "cargo_test_json.txt": {"passed": 1, "failed": 2},
    "go_test_json.txt": {"failed": 3, "passed": 1},
    "go_test.txt": {"failed": 3},
    "node_tap.txt": {"passed": 1, "failed": 2},
    "node_spec.txt": {"passed": 1, "failed": 2},
    "vitest.txt": {"failed": 2, "passed": 1},
    "jest.txt": {"failed": 2, "passed": 1},
    "mocha.txt": {"passed": 1, "failed": 2},
    "eslint.txt": {"errors": 2, "warnings": 2},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The real folder of the project: Go names files by package only."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/x_test.go").touch()
    return tmp_path


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("auto", [False, True])
def test_locations_and_messages_are_parsed(name: str, auto: bool, folder: Path) -> None:
    parser, expected = CASES[name]
    reading, _ = read((OUTPUTS / name).read_bytes(), "auto" if auto else parser, folder)
    assert told(reading) == expected
    assert reading.total == len(expected)


@pytest.mark.parametrize("name", SAME)
def test_other_output_formats_give_the_same_diagnostics(name: str) -> None:
    parser, expected = CASES[SAME[name]]
    assert told(read((OUTPUTS / name).read_bytes(), parser)[0]) == expected


@pytest.mark.parametrize("name", COUNTS)
def test_totals_are_those_of_the_tool(name: str, folder: Path) -> None:
    assert read((OUTPUTS / name).read_bytes(), "auto", folder)[0].counts == COUNTS[name]


def test_every_recorded_output_has_a_test() -> None:
    names = {path.name for path in OUTPUTS.iterdir()}
    assert names - {*CASES, *SAME, *COUNTS} == {"cargo_check_short.txt", "mypy_pretty.txt"}


def test_messages_for_programs_are_shown_as_for_people() -> None:
    _, shown = read((OUTPUTS / "cargo_check_json.txt").read_bytes(), "cargo")
    assert "error[E0277]: cannot add `&str` to `i32`" in shown
    assert not [line for line in shown if line.startswith("{")]
    _, shown = read((OUTPUTS / "ruff_json.txt").read_bytes(), "ruff")
    assert shown[0] == "a.py:1:8: F401 `os` imported but unused"
    _, shown = read((OUTPUTS / "go_test_json.txt").read_bytes(), "go")
    assert "--- FAIL: TestAdd (0.00s)" in shown


def test_captured_output_of_a_test_is_not_a_diagnostic() -> None:
    reading, _ = read((OUTPUTS / "pytest_short.txt").read_bytes(), "pytest")
    assert not [d for d in reading.diagnostics if "not this one" in d.message or d.file == "x.py"]


@pytest.mark.parametrize(
    ("argv", "parser"),
    [
        (("pytest", "-q"), "pytest"),
        (("python", "-m", "pytest"), "pytest"),
        (("uv", "run", "mypy", "."), "mypy"),
        (("./node_modules/.bin/tsc", "--noEmit"), "tsc"),
        (("npm", "test"), "auto"),
        (("make", "check"), "auto"),
    ],
)
def test_the_program_selects_the_parser(argv: tuple[str, ...], parser: str) -> None:
    assert parser_for(argv) == parser


def test_locations_are_relative_to_the_root() -> None:
    text = (
        "/project/src/a.c:1:2: error: inside\n"
        "./src/../src/b.c:1:2: error: dotted\n"
        "/usr/include/c.h:1:2: error: outside\n"
        "/project2/d.c:1:2: error: beside\n"
        "a file.c:7:1: error: with a space\n"
        "näme.c:1:1: warning: odd\n"
    )
    reading, _ = read(text.encode(), "lines")
    assert [diagnostic.file for diagnostic in reading.diagnostics] == [
        "src/a.c", "src/b.c", "/usr/include/c.h", "/project2/d.c", "a file.c", "näme.c",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01 10:20:30: all is well",
        "12:34:56 error: nothing of ours",
        "http://localhost:8080: ready",
        "error: could not compile `demo` (lib) due to 2 previous errors",
        "make: *** [Makefile:2: test] Error 1",
        "  at somewhere (node:internal/timers:483:21)",
        '{"reason": "compiler-message", "message": 3}',
        '{"Action": "output", "Output": {"a": 1}}',
        '{"location": {"row": true}, "filename": "a", "message": "b"' + "[" * 3_000 + "}",
        "[" * 10_000,
        "a:" * 20_000,
        "1" * 3_999 + ":" + "1" * 3_999,
    ],
)
def test_other_lines_are_not_diagnostics(text: str) -> None:
    assert told(read(text.encode(), "auto")[0]) == []


LINES = [line for path in OUTPUTS.iterdir() for line in path.read_bytes().splitlines()]


@given(
    st.lists(st.one_of(st.sampled_from(LINES), st.binary(max_size=60)), max_size=60).map(b"\n".join)
)
def test_any_output_is_parsed_and_shown(data: bytes) -> None:
    reading, _ = read(data, "auto")
    assert reading.total >= len(reading.diagnostics)
    for diagnostic in reading.diagnostics:
        assert diagnostic.file
        assert "\n" not in diagnostic.message
        assert diagnostic.message.isprintable() or diagnostic.message
