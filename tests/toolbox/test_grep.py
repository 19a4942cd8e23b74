import asyncio
import json
import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.toolbox.repository import Repository
from treadle.clock import SystemClock
from treadle.events.types import CallKey, ErrorKind, ToolCallCompleted
from treadle.ids import new_id
from treadle.tokens import estimate
from treadle.toolbox.code.grep import TIME_LIMIT, Grep, GrepArguments
from treadle.toolbox.code.line_matcher import Matcher
from treadle.toolbox.code.workspace import Workspace
from treadle.tools.contract import ToolContext


def lines(result: dict[str, Any]) -> dict[str, list[str]]:
    return {entry["file"]: entry["lines"] for entry in result["files"]}


@pytest.fixture
def tree(repository: Repository) -> Repository:
    repository.write(".gitignore", "build/\n")
    repository.write("src/a.py", "import os\n\ndef find():\n    return os.sep\n")
    repository.write("src/b.ts", "export const find = 1;\r\nconst x = find;\r\n")
    repository.write("build/c.py", "def find(): ...\n")
    repository.write(".env", "find=me\n")
    repository.write("logo.png", b"\x89PNG\0find\n")
    return repository


def test_matching_lines_are_given_by_file_and_counted(tree: Repository) -> None:
    assert tree.ok("grep", pattern=r"\bfind\b") == {
        "ok": True,
        "type": "grep",
        "v": 1,
        "files": [
            {"file": "src/a.py", "lines": ["3: def find():"]},
            {"file": "src/b.ts", "lines": ["1: export const find = 1;", "2: const x = find;"]},
        ],
        "shown_matches": 3,
        "total_matches": 3,
        "total_files": 2,
    }


def test_lines_around_are_shown_once(tree: Repository) -> None:
    result = tree.ok("grep", pattern="os", path="src/a.py", context_lines=1)
    assert lines(result) == {
        "src/a.py": ["1: import os", "2- ", "3- def find():", "4:     return os.sep"]
    }
    assert result["total_matches"] == 2


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({"glob": "*.py"}, {"src/a.py"}),
        ({"glob": "*.{ts,tsx}"}, {"src/b.ts"}),
        ({"glob": "src/**/*.py"}, {"src/a.py"}),
        ({"glob": "*.py", "path": "src"}, {"src/a.py"}),
        ({"glob": "/a.py", "path": "src"}, {"src/a.py"}),
        ({"path": "src/b.ts"}, {"src/b.ts"}),
        ({"path": "build/c.py"}, {"build/c.py"}),
        ({"glob": "*.rs"}, set()),
    ],
)
def test_path_and_glob_choose_the_files(
    tree: Repository, arguments: dict[str, str], files: set[str]
) -> None:
    assert set(lines(tree.ok("grep", pattern="find", **arguments))) == files


def test_ignored_folder_is_reported(tree: Repository) -> None:
    result = tree.ok("grep", pattern="find", path="build")
    assert result["total_matches"] == 0
    assert "excluded by an ignore file" in result["note"]


def test_dollar_matches_before_lf_and_crlf(tree: Repository) -> None:
    assert tree.ok("grep", pattern=";$")["total_matches"] == 2
    assert tree.ok("grep", pattern="^$", path="src/a.py")["total_matches"] == 1


def test_match_never_spans_lines(tree: Repository) -> None:
    assert tree.ok("grep", pattern=r"os\s+def")["total_matches"] == 0
    assert tree.ok("grep", pattern=r"[^x]*", path="src/a.py")["total_matches"] == 4


def test_literal_and_case_options_apply(tree: Repository) -> None:
    assert tree.ok("grep", pattern="find()", literal=True)["total_matches"] == 1
    assert tree.ok("grep", pattern="FIND")["total_matches"] == 0
    assert tree.ok("grep", pattern="FIND", ignore_case=True)["total_matches"] == 3


@pytest.mark.parametrize("pattern", ["(", "a(?=b)", r"(a)\1", "[z-a]", "\\"])
def test_invalid_pattern_is_refused_with_advice(tree: Repository, pattern: str) -> None:
    error = tree.failed("grep", pattern=pattern).error
    assert (error.kind, error.field) == (ErrorKind.VALIDATION, "pattern")
    assert "literal" in (error.hint or "")


def test_exponential_pattern_is_matched_in_linear_time(tree: Repository) -> None:
    tree.write("a.txt", "a" * 5000 + "\n")
    assert tree.ok("grep", pattern=r"^(a|aa|a*)+$|(a+)+b", path="a.txt")["total_matches"] == 1


def test_expensive_pattern_is_matched_in_smaller_blocks(tree: Repository) -> None:
    path = tree.write("a.txt", b"abc" * 50_000)
    asked = 0

    def stopped() -> bool:
        nonlocal asked
        asked += 1
        return asked > 3

    matcher = Matcher("((a?b?c?){100}){10}z", literal=False, ignore_case=False)
    with path.open("rb") as file:
        assert list(matcher.lines(file, stopped)) == []
    assert asked == 4


def test_too_large_pattern_is_refused(tree: Repository) -> None:
    error = tree.failed("grep", pattern=".{900}a.{900}b.{900}c.{900}").error
    assert (error.kind, error.field) == (ErrorKind.LIMIT, "pattern")


def test_all_matches_are_counted_and_those_that_fit_are_shown(tree: Repository) -> None:
    tree.write("many.txt", "".join(f"needle number {n}\n" for n in range(5000)))
    outcome = tree.call("grep", pattern="needle", max_tokens=500)
    assert isinstance(outcome, ToolCallCompleted)
    result = json.loads(outcome.content)
    assert estimate(outcome.content) <= 500
    assert result["total_matches"] == 5000
    assert 0 < result["shown_matches"] < 100
    assert result["shown_matches"] == len(result["files"][0]["lines"])
    assert result["more"].startswith(f"{5000 - result['shown_matches']:,} matches are not shown")
    assert outcome.ui.summary == (
        f"'needle': 5,000 matches in 1 file, {result['shown_matches']} shown"
    )


def test_a_long_line_is_cut_around_its_match(tree: Repository) -> None:
    tree.write("min.js", "é" * 300_000 + "needle" + "x" * 300_000 + "\n")
    (line,) = lines(tree.ok("grep", pattern="needle"))["min.js"]
    assert "needle" in line
    assert len(line) < 300
    assert line.endswith("…")


def test_very_long_line_is_searched_in_parts(tree: Repository) -> None:
    tree.write("huge.json", b"needle" + b"x" * 3_000_000 + b"needle")
    result = tree.ok("grep", pattern="needle")
    assert (result["total_matches"], result["total_files"]) == (1, 1)


def test_a_missing_folder_is_not_found(tree: Repository) -> None:
    assert tree.failed("grep", pattern="x", path="nowhere").error.kind is ErrorKind.NOT_FOUND
    assert tree.failed("grep", pattern="x", path=".env").error.kind is ErrorKind.DENIED


def test_time_limit_returns_the_matches_so_far(tree: Repository) -> None:
    class Leaping(SystemClock):
        now = 0.0

        def monotonic(self) -> float:
            self.now += TIME_LIMIT / 3
            return self.now

    grep = Grep(Workspace(tree.root, tree.index))
    context = ToolContext(new_id(), CallKey(0, 0), clock=Leaping())
    result = grep._grep(GrepArguments(pattern="find"), context, threading.Event())
    assert result.note is not None
    assert result.note.startswith("Stopped after 20 seconds")


async def test_cancelled_search_stops_its_thread(repository: Repository) -> None:
    endless = repository.write("endless.txt", "text\n" * 10_000)
    os.truncate(endless, 10**11)  # sparse: takes no room, but minutes to read
    task = asyncio.create_task(_grep(repository))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    idle = asyncio.get_running_loop().shutdown_default_executor()
    await asyncio.wait_for(idle, TIME_LIMIT / 2)


async def _grep(repository: Repository) -> object:
    grep = Grep(Workspace(repository.root, repository.index))
    context = ToolContext(request_id=new_id(), key=CallKey(0, 0))
    return await grep.run(GrepArguments(pattern="needle"), context)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    text=st.text(alphabet="ab\n\r", max_size=60).map(str.encode),
    pattern=st.sampled_from(["a", "^a", "b$", "a.b", "^$", "a*", "ab|ba", "[^a]+$"]),
)
def test_block_search_finds_the_lines_of_a_search_by_line(
    tmp_path: Path, text: bytes, pattern: str
) -> None:
    path = tmp_path / "f"
    path.write_bytes(text)
    matcher = Matcher(pattern, literal=False, ignore_case=False)
    with path.open("rb") as file:
        found = [hit.line for hit in matcher.lines(file, lambda: False)]
    plain = text.replace(b"\r\n", b"\n").removesuffix(b"\n").split(b"\n") if text else []
    expected = [
        number
        for number, line in enumerate(plain, start=1)
        if re.search(pattern.replace("$", r"\Z").encode(), line, re.DOTALL)
    ]
    assert found == expected
