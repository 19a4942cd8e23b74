"""run_command as a session calls it: real processes, rules, questions and answers."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.checks.projects import is_alive, until
from treadle.clock import Clock, SystemClock
from treadle.commands.service import Commands
from treadle.config.commands import CommandSettings
from treadle.config.model import ApprovalSettings, Settings
from treadle.events import EventBus, Outcome
from treadle.events.types import (
    ApprovalRequested,
    ApprovalScope,
    ErrorKind,
    ToolCallCompleted,
    ToolCallFailed,
    ToolProgress,
)
from treadle.tokens import estimate
from treadle.toolbox.commands import command_tools
from treadle.tools.approvals.gate import Approvals
from treadle.tools.contract import Registry
from treadle.tools.executor import ToolExecutor

CANARY = "sk-ant-api03-" + "Zx8" * 31 + "AA"


class FastClock(SystemClock):
    """A clock on which long waits pass at once."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.3) if seconds > 1 else seconds)


@dataclass
class Shell:
    """A repository, its command tools, and a person who answers questions."""

    root: Path
    home: Path
    answer: ApprovalScope | None = ApprovalScope.ONCE
    rules: tuple[str, ...] = ()
    settings: CommandSettings = field(default_factory=CommandSettings)
    clock: Clock = field(default_factory=SystemClock)
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    asked: list[ApprovalRequested] = field(default_factory=list)
    progress: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[..., Awaitable[Outcome]]]:
        bus = EventBus(self.clock)
        allow = tuple(f"run_command command={each}" for each in self.rules)
        approvals = Approvals(bus, self.root, ApprovalSettings(allow=allow), clock=self.clock)
        commands = Commands(
            self.root,
            Settings(commands=self.settings),
            self.environment,
            self.home / "outputs",
        )
        registry = Registry(command_tools(commands))
        async with ToolExecutor(
            bus, registry, self.root, clock=self.clock, approvals=approvals
        ) as executor:
            with bus.subscribe(ApprovalRequested, ToolProgress) as subscription:
                answering = asyncio.create_task(self._answer(subscription, approvals))
                try:
                    if self.answer is None:
                        yield lambda name="run_command", **words: executor.call(
                            name, json.dumps(words)
                        )
                    else:
                        with approvals.allow_questions():
                            yield lambda name="run_command", **words: executor.call(
                                name, json.dumps(words)
                            )
                finally:
                    answering.cancel()
                    await commands.close()

    async def _answer(self, events: Any, approvals: Approvals) -> None:
        async for envelope in events:
            event = envelope.event
            if isinstance(event, ToolProgress):
                self.progress.append(event.text)
            if isinstance(event, ApprovalRequested) and self.answer is not None:
                self.asked.append(event)
                approvals.answer(event.approval_id, self.answer)

    async def call(self, **arguments: Any) -> Outcome:
        async with self.open() as call:
            return await call(**arguments)

    async def ok(self, **arguments: Any) -> dict[str, Any]:
        return result_of(await self.call(**arguments))


def result_of(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome, ToolCallCompleted), outcome
    found: dict[str, Any] = json.loads(outcome.content)
    return found


def command_lines() -> list[bytes]:
    """The words of all running processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process has just ended
            found.append(path.read_bytes())
    return found


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    root = tmp_path.resolve() / "repo"
    (root / "pkg").mkdir(parents=True)
    (root / "a.txt").write_text("one\ntwo\n")
    return Shell(root, tmp_path / "home")


async def test_result_has_the_status_the_output_and_the_time(shell: Shell) -> None:
    found = await shell.ok(command="echo out; echo err >&2; exit 3")
    assert found["state"] == "exited"
    assert found["exit_status"] == 3
    assert found["output"] == "out\nerr"
    assert found["sandbox"] == "none"
    (question,) = shell.asked
    assert question.reason.startswith("No rule allows this part: echo out")
    assert "without a sandbox" in (question.preview or "")


async def test_command_runs_in_the_given_folder(shell: Shell) -> None:
    assert (await shell.ok(command="pwd", folder="pkg"))["output"] == str(shell.root / "pkg")


@pytest.mark.parametrize("folder", ["..", "/", "/tmp", "missing", "a.txt"])
async def test_folder_outside_the_repository_is_refused(shell: Shell, folder: str) -> None:
    outcome = await shell.call(command="pwd", folder=folder)
    assert isinstance(outcome, ToolCallFailed)
    assert shell.asked == []


async def test_allowed_parts_run_without_a_question(shell: Shell) -> None:
    shell.answer, shell.rules = None, ("cat", "tail")
    found = await shell.ok(command="cat a.txt 2>&1 | tail -1")
    assert found["output"] == "two"


@pytest.mark.parametrize(
    "command",
    [
        "cat a.txt; touch marker",
        "cat a.txt > marker",
        "cat $(touch marker)",
        "cat <(touch marker)",
        "cat a.txt `touch marker`",
        "cat <<E\n$(touch marker)\nE",
        'cat "$\\\n(touch marker)"',
        "touch() { cat; }; touch marker",
        "PATH=. cat a.txt",
        "env touch marker",
        "timeout 5 touch marker",
        "bash -c 'touch marker'",
        "ls | xargs touch marker",
        "find . -fprint marker",
        "git -c alias.x='!touch marker' x",
        "git log --output=marker",
        "sort --output=marker a.txt",
        "cat a.txt\ntouch marker",
        "cat ../outside",
        "./cat a.txt",
    ],
)
async def test_uncovered_part_does_not_run_and_is_named(shell: Shell, command: str) -> None:
    shell.answer, shell.rules = None, ("cat", "git", "find", "ls", "sort", "true")
    (shell.root / "cat").write_text("#!/bin/sh\ntouch marker\n")
    (shell.root / "cat").chmod(0o755)
    outcome = await shell.call(command=command)
    assert isinstance(outcome, ToolCallFailed)
    assert outcome.error.kind is ErrorKind.DENIED
    assert "No person can be asked here." in outcome.error.message
    assert not (shell.root / "marker").exists()


async def test_program_of_the_repository_asks_though_a_rule_names_it(shell: Shell) -> None:
    folder = shell.root / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "cat").write_text("#!/bin/sh\necho own\n")
    (folder / "cat").chmod(0o755)
    shell.rules = ("cat",)
    found = await shell.ok(command="cat a.txt")
    assert found["output"] == "own"
    (question,) = shell.asked
    assert "covers only programs outside the repository" in question.reason


async def test_answer_for_the_session_covers_the_leading_words(shell: Shell) -> None:
    shell.answer = ApprovalScope.SESSION
    async with shell.open() as call:
        await call(command="cat a.txt")
        await call(command="rm -f b.txt")
    assert [each.name for each in shell.asked] == ["run_command"] * 2


async def test_secrets_are_in_no_output(shell: Shell) -> None:
    shell.environment |= {"SOME_API_KEY": CANARY, "HARMLESS": CANARY}
    found = await shell.ok(command=f"env; echo {CANARY}; echo {CANARY} > a.txt; cat a.txt")
    assert CANARY not in json.dumps(found)
    assert "HOME" in found["output"] or "PATH" in found["output"]
    (question,) = shell.asked
    assert CANARY not in question.summary
    assert CANARY not in (question.preview or "")


async def test_input_is_empty_and_there_is_no_terminal(shell: Shell) -> None:
    found = await shell.ok(
        command="cat; read x; echo read=$?; (exec 3</dev/tty) 2>/dev/null || echo no terminal"
    )
    assert found["output"] == "read=1\nno terminal"


async def test_time_limit_ends_the_command_and_its_children(shell: Shell) -> None:
    shell.clock = FastClock()
    found = await shell.ok(
        command="trap '' TERM HUP INT; sleep 600 & setsid sleep 601 & echo $! > pids; sleep 602",
        seconds=100,
    )
    assert found["state"] == "timed_out"
    assert "exit_status" not in found
    assert not is_alive(int((shell.root / "pids").read_text()))


@pytest.mark.parametrize(
    "start",
    ["sleep 600 &", "setsid sleep 600 &", "nohup sleep 600 >/dev/null 2>&1 &",
     "setsid sh -c 'sleep 600 & sleep 600' >/dev/null 2>&1 </dev/null &"],
)  # fmt: skip
async def test_process_that_a_command_leaves_ends_with_it(shell: Shell, start: str) -> None:
    found = await shell.ok(command=f"{start} echo $! > pids; echo done")
    assert found["state"] == "exited"
    assert found["output"].endswith("done")
    pid = (shell.root / "pids").read_text().strip()
    assert not pid or not is_alive(int(pid))


async def test_command_that_kills_its_group_is_reported_as_killed(shell: Shell) -> None:
    found = await shell.ok(command="kill -9 -- -$$")
    assert found["state"] == "killed"
    assert found["signal"] == 9


async def test_many_processes_end_with_the_command(shell: Shell) -> None:
    found = await shell.ok(
        command="for n in $(seq 60); do setsid sleep 600 & echo $! >> pids; done"
    )
    assert found["state"] == "exited"
    pids = (shell.root / "pids").read_text().split()
    assert len(pids) == 60
    assert not any(is_alive(int(pid)) for pid in pids)


async def test_process_that_always_starts_another_ends(shell: Shell) -> None:
    shell.clock = FastClock()
    seconds = "0.0213"
    found = await shell.ok(command=f"f() {{ sleep {seconds}; f & }}; f; sleep 600", seconds=100)
    assert found["state"] == "timed_out"
    assert not any(seconds.encode() in command for command in command_lines())


async def test_flood_is_cut_and_ended(shell: Shell) -> None:
    shell.settings = CommandSettings(output_limit="1MB")
    found = await shell.ok(command="yes 0123456789", max_tokens=400)
    assert found["state"] == "output_limit"
    assert found["bytes"] == 1_000_000
    assert estimate(json.dumps(found)) <= 500
    assert "lines left out" in found["output"]


async def test_long_line_and_binary_output_are_shown(shell: Shell) -> None:
    found = await shell.ok(
        command="head -c 3000000 /dev/zero | tr '\\0' x; echo;"
        " printf 'a\\xff\\x00\\x1b[31mb\\rc\\n'"
    )
    assert found["state"] == "exited"
    assert found["bytes"] > 3_000_000
    assert found["output"].endswith("c")
    assert "\x1b" not in found["output"]


async def test_whole_output_is_read_by_offset(shell: Shell) -> None:
    async with shell.open() as call:
        ran = result_of(await call(command="seq 1 20000", max_tokens=300))
        assert ran["lines"] == 20_000
        text, offset = "", 0
        while offset < ran["bytes"]:
            part = result_of(
                await call("read_output", id=ran["id"], offset=offset, max_tokens=20_000)
            )
            assert part["start"] == offset
            text, offset = text + part["output"], part["end"]
        assert text == "".join(f"{n}\n" for n in range(1, 20_001))
        last = result_of(await call("read_output", id=ran["id"], max_tokens=200))
        assert last["output"].endswith("19999\n20000\n")
        missing = await call("read_output", id="c99")
    assert isinstance(missing, ToolCallFailed)
    assert missing.error.kind is ErrorKind.NOT_FOUND


async def test_output_is_in_a_private_file_that_is_removed(shell: Shell) -> None:
    async with shell.open() as call:
        await call(command="echo text")
        (file,) = (shell.home / "outputs").glob("run-*/*.out")
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700
    assert not file.exists()


async def test_background_command_is_read_and_stopped(shell: Shell) -> None:
    async with shell.open() as call:
        command = "echo $$ > pid; echo ready; sleep 600"
        ran = result_of(await call(command=command, background=True))
        assert ran["state"] == "running"
        await until((shell.root / "pid").exists)
        read = result_of(await call("read_output", id=ran["id"]))
        assert read["state"] == "running"
        stopped = result_of(await call("stop_command", id=ran["id"]))
        assert stopped["state"] == "stopped"
        assert not is_alive(int((shell.root / "pid").read_text()))
        again = result_of(await call("read_output", id=ran["id"]))
    assert again["output"] == "ready\n"
    assert again["state"] == "stopped"


async def test_background_commands_end_with_their_owner(shell: Shell) -> None:
    async with shell.open() as call:
        await call(command="setsid sleep 600 & echo $! > pid; sleep 600", background=True)
        await until((shell.root / "pid").exists)
    assert not is_alive(int((shell.root / "pid").read_text()))


async def test_number_of_background_commands_is_limited(shell: Shell) -> None:
    shell.settings = CommandSettings(max_background=1)
    async with shell.open() as call:
        await call(command="sleep 600", background=True)
        outcome = await call(command="sleep 600", background=True)
    assert isinstance(outcome, ToolCallFailed)
    assert "1 commands run in the background already" in outcome.error.message


async def test_folder_that_a_command_removes_is_an_error_once(shell: Shell) -> None:
    async with shell.open() as call:
        await call(command="rm -r ../pkg", folder="pkg")
        outcome = await call(command="pwd", folder="pkg")
        assert isinstance(outcome, ToolCallFailed)
        assert result_of(await call(command="pwd"))["output"] == str(shell.root)


async def test_hidden_characters_of_a_command_are_shown(shell: Shell) -> None:
    await shell.call(command="echo a\u202eb\necho second")
    (question,) = shell.asked
    assert "\u202e" not in (question.preview or "")
    assert "echo second" in (question.preview or "")
