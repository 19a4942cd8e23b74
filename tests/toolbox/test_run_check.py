"""run_check as a session calls it: real projects, real tools, questions and answers."""

import asyncio
import json
import os
import shutil
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.checks.projects import ENVIRONMENT, Project, is_alive, until
from treadle.checks.service import Checks
from treadle.config.model import ApprovalSettings, Settings
from treadle.errors import NotFoundError
from treadle.events import EventBus, Outcome
from treadle.events.types import (
    ApprovalRequested,
    ApprovalScope,
    Effect,
    ErrorKind,
    ToolCallCompleted,
    ToolCallFailed,
    ToolProgress,
)
from treadle.tokens import estimate
from treadle.toolbox.checks.run_check import RunCheck
from treadle.tools.approvals.gate import Approvals
from treadle.tools.contract import Registry
from treadle.tools.executor import ToolExecutor

ADD = "def add(a: int, b: int) -> int:\n"

FAILING = """
from calculator import add

def test_adds():
    assert add(1, 2) == 3
"""


@dataclass
class Desk(Project):
    """A project, and a person who answers questions."""

    answer: ApprovalScope | None = ApprovalScope.ONCE
    """None: nobody answers."""
    rules: ApprovalSettings = field(default_factory=ApprovalSettings)
    commands: dict[str, Any] = field(default_factory=dict)
    proposals: dict[str, Mapping[str, bytes | None]] = field(default_factory=dict)
    asked: list[ApprovalRequested] = field(default_factory=list)

    async def call(self, **arguments: Any) -> Outcome:
        async with self.served() as call:
            return await call(arguments)

    async def ok(self, **arguments: Any) -> dict[str, Any]:
        outcome = await self.call(**arguments)
        assert isinstance(outcome, ToolCallCompleted), outcome
        result: dict[str, Any] = json.loads(outcome.content)
        return result

    async def failed(self, **arguments: Any) -> ToolCallFailed:
        outcome = await self.call(**arguments)
        assert isinstance(outcome, ToolCallFailed), outcome
        return outcome

    @asynccontextmanager
    async def served(self) -> AsyncIterator[Callable[[dict[str, Any]], Awaitable[Outcome]]]:
        settings = Settings.model_validate({"checks": {"commands": self.commands}})
        checks = Checks(self.root, settings, ENVIRONMENT, preview=self._preview)
        bus = EventBus()
        approvals = Approvals(bus, self.root, self.rules)
        with bus.subscribe(ApprovalRequested, ToolProgress) as events:

            async def answer_questions() -> None:
                async for envelope in events:
                    match envelope.event:
                        case ApprovalRequested() as question:
                            self.asked.append(question)
                            assert self.answer is not None
                            approvals.answer(question.approval_id, self.answer, "not now")
                        case ToolProgress(text=text):
                            self.told.append(text)

            attending = asyncio.create_task(answer_questions())
            async with ToolExecutor(
                bus, Registry([RunCheck(checks)]), self.root, approvals=approvals
            ) as executor:

                async def call(arguments: dict[str, Any]) -> Outcome:
                    return await executor.call("run_check", json.dumps(arguments))

                if self.answer is None:
                    yield call
                else:
                    with approvals.allow_questions():
                        yield call
            events.close()
            await attending

    def _preview(self, proposal: str) -> Mapping[str, bytes | None]:
        if proposal not in self.proposals:
            raise NotFoundError(f"There is no proposal {proposal!r}.")
        return self.proposals[proposal]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root = tmp_path / "project"
    root.mkdir()
    return Desk(root)


@pytest.fixture
def calculator(desk: Desk) -> Desk:
    """A small project with a fault in it, under pytest, ruff and mypy."""
    desk.write(
        "pyproject.toml",
        '[tool.pytest.ini_options]\npythonpath = ["."]\naddopts = "-p no:cacheprovider"\n'
        '[tool.ruff.lint]\nselect = ["F"]\n[tool.mypy]\nstrict = true\nfiles = ["calculator.py"]\n',
    )
    desk.write(
        "calculator.py", "import os\n\n\ndef add(a: int, b: int) -> int:\n    return a - b\n"
    )
    desk.write("tests/test_calculator.py", FAILING)
    return desk


async def test_a_list_of_checks_needs_no_approval(calculator: Desk) -> None:
    calculator.commands = {"absent": {"command": ["no-such-program"], "kind": "build"}}
    calculator.answer = None
    result = await calculator.ok()
    assert [(c["name"], c["kind"], c["installed"]) for c in result["checks"]] == [
        ("absent", "build", False),
        ("pytest", "test", True),
        ("ruff", "lint", True),
        ("mypy", "types", True),
    ]
    assert result["checks"][1]["origin"] == "pyproject.toml"
    assert result["checks"][1]["command"] == "pytest --tb=short -rfE --color=no"


async def test_a_long_list_is_cut_to_its_tokens_and_counted(desk: Desk) -> None:
    desk.commands = {f"check {number}": {"command": ["true", "x" * 50]} for number in range(60)}
    for budget in (200, 1_000, 100_000):
        outcome = await desk.call(max_tokens=budget)
        assert isinstance(outcome, ToolCallCompleted)
        assert estimate(outcome.content) <= budget
        result = json.loads(outcome.content)
        shown = len(result["checks"])
        assert 0 < shown <= 60
        left_out = f"Not shown: {60 - shown} checks."
        assert (shown == 60) == (budget == 100_000)
        assert result.get("more", "").startswith(left_out if shown < 60 else "")


async def test_answer_without_checks_states_how_to_add_them(desk: Desk) -> None:
    result = await desk.ok()
    assert result["checks"] == []
    assert "[checks.commands]" in result["more"]


async def test_a_failed_test_is_a_result_with_its_location(calculator: Desk) -> None:
    result = await calculator.ok(check="pytest")
    assert result | {"seconds": 0, "tail": ""} == {
        "ok": True,
        "type": "check",
        "v": 1,
        "check": "pytest",
        "status": "failed",
        "command": "pytest --tb=short -rfE --color=no",
        "exit_status": 1,
        "seconds": 0,
        "counts": {"failed": 1},
        "diagnostics": [
            {
                "file": "tests/test_calculator.py",
                "line": 5,
                "severity": "error",
                "code": "tests/test_calculator.py::test_adds",
                "message": "assert -1 == 3 + where -1 = add(1, 2)",
            }
        ],
        "total_diagnostics": 1,
        "tail": "",
    }
    assert "1 failed in" in result["tail"]
    assert calculator.asked[0].subjects == ("pytest --tb=short -rfE --color=no",)


async def test_diagnostics_of_linters_have_their_rules(calculator: Desk) -> None:
    result = await calculator.ok(check="ruff")
    assert [(d["file"], d["line"], d["code"]) for d in result["diagnostics"]] == [
        ("calculator.py", 1, "F401")
    ]
    calculator.write("calculator.py", "def add(a: int, b: int) -> str:\n    return a + b\n")
    result = await calculator.ok(check="mypy")
    assert [(d["file"], d["line"], d["code"]) for d in result["diagnostics"]] == [
        ("calculator.py", 2, "return-value")
    ]


async def test_a_proposal_is_checked_in_a_copy(calculator: Desk) -> None:
    before = {path: path.read_bytes() for path in calculator.root.rglob("*") if path.is_file()}
    calculator.proposals = {
        "p1": {"calculator.py": f"{ADD}    return a + b\n".encode()},
        "p2": {"calculator.py": None},
    }
    passed = await calculator.ok(check="pytest", proposal="p1")
    assert (passed["status"], passed["counts"], passed["scratch"]) == (
        "passed",
        {"passed": 1},
        True,
    )
    assert str(calculator.root) in passed["tail"] or "treadle-check-" not in passed["tail"]
    failed = await calculator.ok(check="pytest", proposal="p2")
    assert failed["status"] == "failed"
    assert failed["diagnostics"][0]["file"] == "tests/test_calculator.py"
    assert "ModuleNotFoundError" in failed["diagnostics"][0]["message"]
    after = {path: path.read_bytes() for path in calculator.root.rglob("*") if path.is_file()}
    assert after == before
    assert (
        await calculator.failed(check="pytest", proposal="p9")
    ).error.kind is ErrorKind.NOT_FOUND
    assert "with the proposal p1, in a copy" in calculator.asked[0].summary


async def test_paths_are_checked_and_nothing_else(calculator: Desk) -> None:
    calculator.write("tests/test_other.py", "def test_fine():\n    pass\n")
    calculator.write("tests/odd $(name) 'x'.py", "import os\n")
    one = await calculator.ok(check="pytest", paths=["tests/test_other.py"])
    assert one["counts"] == {"passed": 1}
    test = await calculator.ok(check="pytest", paths=["tests/test_calculator.py::test_adds"])
    assert test["counts"] == {"failed": 1}
    odd = await calculator.ok(check="ruff", paths=["tests/odd $(name) 'x'.py"])
    assert odd["diagnostics"][0]["file"] == "tests/odd $(name) 'x'.py"
    assert odd["command"].endswith(""" 'tests/odd $(name) '"'"'x'"'"'.py'""")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("--pdb", ErrorKind.VALIDATION),
        ("-x", ErrorKind.VALIDATION),
        ("", ErrorKind.VALIDATION),
        ("../other", ErrorKind.PERMISSION),
        ("/etc/passwd", ErrorKind.PERMISSION),
        ("tests/missing.py", ErrorKind.NOT_FOUND),
        ("a\0b", ErrorKind.PERMISSION),
    ],
)
async def test_paths_outside_of_the_project_are_refused(
    calculator: Desk, path: str, kind: ErrorKind
) -> None:
    assert (await calculator.failed(check="pytest", paths=[path])).error.kind is kind


async def test_paths_for_a_check_without_paths_are_refused(desk: Desk) -> None:
    desk.write("Makefile", "test:\n\ttrue\n")
    failure = await desk.failed(check="make test", paths=["Makefile"])
    assert failure.error.message == "The check make test takes no paths."


async def test_unknown_check_is_refused_with_the_nearest_names(calculator: Desk) -> None:
    failure = await calculator.failed(check="pytset")
    assert failure.error.kind is ErrorKind.NOT_FOUND
    assert str(failure.error.hint).startswith("The nearest: pytest")
    assert (failure.error.field, failure.error.effect) == ("check", Effect.NONE)
    assert calculator.asked == []
    failure = await calculator.failed(check="rm -rf /; pytest")
    assert failure.error.kind is ErrorKind.NOT_FOUND


@pytest.mark.parametrize(
    ("rules", "answer", "allowed"),
    [
        ({}, None, False),
        ({}, ApprovalScope.ONCE, True),
        ({}, ApprovalScope.DENIED, False),
        ({"allow": ["run_check command=pytest *"]}, None, True),
        ({"allow": ["run_check"], "deny": ["run_check command=pytest*"]}, None, False),
        ({"allow": ["run_check"], "deny": ["* path=tests/"]}, None, False),
        ({"ask": ["run_check"]}, ApprovalScope.ONCE, True),
    ],
)
async def test_rules_match_the_exact_command(
    calculator: Desk, rules: dict[str, list[str]], answer: ApprovalScope | None, allowed: bool
) -> None:
    calculator.rules = ApprovalSettings.model_validate(rules)
    calculator.answer = answer
    outcome = await calculator.call(check="pytest", paths=["tests/test_calculator.py"])
    assert isinstance(outcome, ToolCallCompleted) == allowed
    if isinstance(outcome, ToolCallFailed):
        assert outcome.error.kind is ErrorKind.DENIED
    assert len(calculator.asked) == (0 if answer is None else 1)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no C compiler")
async def test_make_reports_errors_of_the_compiler(desk: Desk) -> None:
    desk.write("Makefile", "check:\n\tgcc -Wall -o program main.c\n")
    desk.write("main.c", "int main(void) {\n  int unused;\n  return y;\n}\n")
    result = await desk.ok(check="make check")
    assert result["status"] == "failed"
    told = [(d["file"], d["line"], d["severity"]) for d in result["diagnostics"]]
    assert told[0] == ("main.c", 3, "error")
    assert ("main.c", 2, "warning") in told
    assert result["counts"]["errors"] == 1


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm")
async def test_npm_reports_failed_tests(desk: Desk) -> None:
    desk.write("package.json", '{"name": "x", "scripts": {"test": "node --test"}}')
    desk.write(
        "a.test.mjs",
        "import test from 'node:test';\nimport assert from 'node:assert';\n"
        "test('adds', () => { assert.equal(1, 2); });\n",
    )
    result = await desk.ok(check="npm test")
    assert result["counts"]["failed"] == 1
    assert [(d["file"], d["line"], d["code"]) for d in result["diagnostics"]] == [
        ("a.test.mjs", 3, "adds")
    ]


async def test_output_in_an_unknown_format_shows_its_beginning_and_end(desk: Desk) -> None:
    desk.write("Makefile", "test:\n\t@seq -f 'odd %g' 5000; exit 1\n")
    outcome = await desk.call(check="make test", max_tokens=1000)
    assert isinstance(outcome, ToolCallCompleted)
    assert estimate(outcome.content) <= 1000
    result = json.loads(outcome.content)
    assert (result["status"], result["total_diagnostics"]) == ("failed", 0)
    assert result["head"].startswith("odd 1\nodd 2\n")
    assert "odd 5000\nmake: ***" in result["tail"]
    assert result["more"].startswith("Not shown: 4,")


async def test_many_diagnostics_are_cut_to_the_budget_and_counted(desk: Desk) -> None:
    desk.commands = {"many": {"command": ["seq", "-f", "a.c:%.0f:1: error: no %.0f", "1000"]}}
    desk.commands["many"]["command"] = [
        "bash",
        "-c",
        "seq -f 'a.c:%.0f:1: error: bad' 1000; exit 1",
    ]
    for budget in (200, 500, 4_000, 20_000):
        outcome = await desk.call(check="many", max_tokens=budget)
        assert isinstance(outcome, ToolCallCompleted)
        assert estimate(outcome.content) <= budget
        result = json.loads(outcome.content)
        assert result["total_diagnostics"] == 1000
        assert len(result["diagnostics"]) > budget // 200
        assert "diagnostics" in result["more"]


async def test_a_time_out_is_a_result_with_its_output(desk: Desk) -> None:
    desk.commands = {"slow": {"command": ["bash", "-c", "echo a.c:1: error: x; sleep 100"],
                              "timeout": 1}}  # fmt: skip
    result = await desk.ok(check="slow")
    assert (result["status"], result["reason"]) == ("timed_out", "It was stopped after 1 seconds.")
    assert result["diagnostics"][0]["file"] == "a.c"


async def test_no_rule_allows_a_proposal_to_choose_what_a_check_runs(desk: Desk) -> None:
    """Nobody has approved the proposal yet, and the check runs its Makefile."""
    desk.write("Makefile", "test:\n\ttrue\n")
    desk.write("tools/lint.sh", "#!/bin/sh\n", mode=0o755)
    desk.commands = {"lint": {"command": ["sh", "tools/lint.sh"]}}
    desk.rules = ApprovalSettings(allow=("run_check command=*", "* path=**"))
    desk.answer = None
    evil = b"test:\n\ttouch " + os.fsencode(desk.root / "pwned") + b"\n"
    desk.proposals = {
        "evil": {"Makefile": evil, "tools/lint.sh": evil},
        "plain": {"docs/a.md": b"a\n"},
    }
    for check in ("make test", "lint"):
        refused = await desk.failed(check=check, proposal="evil")
        assert refused.error.kind is ErrorKind.DENIED
        assert "the proposal changes" in refused.error.message
        assert (await desk.ok(check=check, proposal="plain"))["status"] == "passed"
    assert not (desk.root / "pwned").exists()


async def test_a_program_that_changed_after_the_question_is_not_run(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = desk.write(".venv/bin/lint", "#!/bin/sh\n", mode=0o755)
    desk.commands = {"lint": {"command": ["lint"]}}
    answer = Approvals.answer

    def swapping(approvals: Approvals, *given: Any) -> bool:
        own.write_text(f"#!/bin/sh\ntouch {desk.root}/pwned\n")
        return answer(approvals, *given)

    monkeypatch.setattr(Approvals, "answer", swapping)
    refused = await desk.failed(check="lint")
    assert "changed after it was allowed" in refused.error.message
    assert not (desk.root / "pwned").exists()


@pytest.mark.parametrize("proposal", [None, "p1"])
async def test_cancelled_call_leaves_no_processes_or_copies(
    desk: Desk, tmp_path: Path, proposal: str | None
) -> None:
    desk.proposals = {"p1": {"new": b"x"}}
    pid = tmp_path / "pid"
    desk.commands = {"slow": {"command": ["bash", "-c", f"pwd; echo $$ > {pid}; sleep 1000"]}}
    async with desk.served() as call:
        running = asyncio.ensure_future(
            call({"check": "slow", **({"proposal": proposal} if proposal else {})})
        )
        await until(lambda: pid.exists() and pid.read_text() != "")
        process = int(pid.read_text())
        folder = os.readlink(f"/proc/{process}/cwd")  # noqa: PTH115
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert not is_alive(process)
    assert os.path.exists(folder) == (proposal is None)  # noqa: ASYNC240, PTH110


async def test_progress_is_reported(desk: Desk) -> None:
    code = "for n in 1 2 3; do echo step $n; sleep 0.6; done"
    desk.commands = {"steps": {"command": ["bash", "-c", code]}}
    await desk.ok(check="steps")
    assert any("step" in told for told in desk.told)


async def test_keys_do_not_reach_a_check(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "OPENAI_API_KEY", "sk-secret")
    desk.commands = {"env": {"command": ["bash", "-c", "env; exit 1"]}}
    result = await desk.ok(check="env", max_tokens=10_000)
    assert "HOME=" in result["tail"]
    assert "sk-secret" not in json.dumps(result)


async def test_a_missing_program_is_reported_with_advice(desk: Desk) -> None:
    desk.commands = {"absent": {"command": ["no-such-program"]}}
    failure = await desk.failed(check="absent")
    assert failure.error.kind is ErrorKind.NOT_FOUND
    assert "[checks.commands.absent]" in str(failure.error.hint)


async def test_an_editable_installation_is_checked_in_the_copy(desk: Desk) -> None:
    desk.write("src/package.py", "VALUE = 1\n")
    desk.write(".gitignore", ".venv\n")
    site = ".venv/lib/python3.11/site-packages/editable.pth"
    desk.write(site, f"{desk.root}/src\n")
    desk.write(".venv/bin/here", "#!/bin/sh\n", mode=stat.S_IRWXU)
    code = "import package; print(package.VALUE, package.__file__)"
    desk.commands = {"value": {"command": ["python3", "-c", code]}}
    desk.proposals = {"p1": {"src/package.py": b"VALUE = 2\n"}}
    result = await desk.ok(check="value", proposal="p1")
    assert result["tail"] == f"2 {desk.root}/src/package.py"


async def test_a_person_sees_one_line(calculator: Desk) -> None:
    outcome = await calculator.call(check="pytest")
    assert isinstance(outcome, ToolCallCompleted)
    assert outcome.ui.summary.startswith("pytest: failed (1 failed), ")
    assert outcome.ui.details is not None
    assert outcome.ui.details.startswith("tests/test_calculator.py:5: error: assert -1 == 3")
