"""Real processes: their output, how they end, and that none of them remains."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.checks.projects import Project, is_alive, until
from tests.fakes.clock import FakeClock
from treadle.checks.diagnostics.reader import MOST
from treadle.checks.model import CheckStatus, Severity
from treadle.checks.runner import ProgramMissingError
from treadle.errors import TreadleError
from treadle.processes.output import HEAD_LINES, TAIL_LINES

STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(sys.argv[1], "w").write(str(os.getpid()))
print("ready", flush=True)
while True:
    time.sleep(1)
"""


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code, *arguments)


async def test_the_exit_status_decides(project: Project) -> None:
    passed = await project.run("true")
    assert (passed.status, passed.exit_status) == (CheckStatus.PASSED, 0)
    failed = await project.run(*python("print('no'); raise SystemExit(3)"))
    assert (failed.status, failed.exit_status) == (CheckStatus.FAILED, 3)
    assert failed.output.tail == ("no",)
    killed = await project.run(*python("import os; os.kill(os.getpid(), 11)"))
    assert (killed.status, killed.exit_status) == (CheckStatus.ERROR, None)
    assert killed.reason == "It was ended by the signal SIGSEGV."


async def test_nothing_is_read_by_a_shell(project: Project) -> None:
    odd = ["$(touch made)", "`touch made`", "a; touch made", "*", "~", "a\nb", "$HOME", "ä 'x' \""]
    ran = await project.run(*python("import sys; print(ascii(sys.argv[1:]))", *odd))
    assert ran.output.tail == (ascii(odd),)
    assert list(project.root.iterdir()) == []


async def test_a_check_has_no_input(project: Project) -> None:
    ran = await project.run(*python("import sys; print(len(sys.stdin.read()))"))
    assert ran.output.tail == ("0",)


async def test_the_beginning_and_end_of_a_million_lines_are_kept(project: Project) -> None:
    code = "for n in range(1_000_000): print(f'line {n}')"
    ran = await project.run(*python(code), parser="pytest", timeout=300)
    assert ran.status is CheckStatus.PASSED
    assert ran.output.lines == 1_000_000
    assert ran.output.head == tuple(f"line {n}" for n in range(HEAD_LINES))
    assert ran.output.tail == tuple(f"line {n}" for n in range(1_000_000 - TAIL_LINES, 1_000_000))


async def test_a_flood_of_diagnostics_is_counted_and_the_first_are_kept(project: Project) -> None:
    code = (
        "for n in range(30_000): print(f'a.c:{n + 1}:1: warning: no {n}')\nprint('a.c:1: error: x')"
    )
    ran = await project.run(*python(code), parser="lines")
    assert ran.reading.total == 30_001
    assert ran.reading.counts == {"errors": 1, "warnings": 30_000}
    assert len(ran.reading.diagnostics) == 1 + MOST
    assert ran.reading.diagnostics[0].severity is Severity.ERROR


async def test_a_line_without_an_end_is_cut(project: Project) -> None:
    ran = await project.run(*python("print('x' * 50_000_000, end=''); print('end', end='')"))
    (line,) = ran.output.tail
    assert len(line) < 1_000
    assert ran.output.lines == 1


async def test_colours_controls_and_invalid_bytes_are_removed(project: Project) -> None:
    code = r"""
import sys
sys.stdout.buffer.write(b"\x1b[1;31mred\x1b[0m\r\n\x1b]8;;x\x07link\x1b]8;;\x07\n"
                        b"10%\r55%\rdone\n\xff\xfe caf\xc3\xa9\x00\n\ttab\n")
"""
    ran = await project.run(*python(code))
    assert ran.output.tail == ("red", "link", "done", "\ufffd\ufffd café", "\ttab")


async def test_a_time_out_kills_children_that_ignore_signals(project: Project) -> None:
    pid = project.root / "pid"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STUBBORN!r}, 'pid'])"
    ran = await project.run(*python(code), timeout=2.0)
    assert ran.status is CheckStatus.TIMED_OUT
    assert ran.exit_status is None
    assert ran.reason == "It was stopped after 2 seconds."
    assert ran.output.tail == ("ready",)
    assert not is_alive(int(pid.read_text()))


async def test_cancelling_leaves_no_process(project: Project) -> None:
    pid = project.root / "pid"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {STUBBORN!r}, 'pid'])"
    task = asyncio.create_task(project.run(*python(code)))
    await until(lambda: pid.exists() and pid.read_text() != "")
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()  # an impatient caller changes nothing
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(int(pid.read_text()))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no way to find them here")
async def test_a_daemon_that_left_the_group_is_found(project: Project) -> None:
    pid = project.root / "pid"
    code = f"""
import subprocess, sys, time, pathlib
subprocess.Popen([sys.executable, "-c", {STUBBORN!r}, "pid"], start_new_session=True,
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not (pathlib.Path("pid").exists() and pathlib.Path("pid").read_text()):
    time.sleep(0.02)
print("left it behind")
"""
    ran = await project.run(*python(code))
    assert ran.status is CheckStatus.PASSED
    assert ran.output.tail == ("left it behind",)
    assert not is_alive(int(pid.read_text()))


KILLED = """
import asyncio, os
from pathlib import Path
from tests.checks.projects import Project

async def main():
    code = "sleep 1000 & echo $! > started; mv started pid; wait"
    await Project(Path(".")).run("bash", "-c", code)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_check_ends_when_its_caller_is_killed(project: Project, number: int) -> None:
    pid = project.root / "pid"
    caller = await asyncio.create_subprocess_exec(
        *python(KILLED),
        cwd=project.root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    await until(pid.exists)
    caller.send_signal(number)
    await caller.wait()
    await until(lambda: not is_alive(int(pid.read_text())))


async def test_a_child_that_holds_the_pipe_does_not_block_the_check(project: Project) -> None:
    ran = await project.run("bash", "-c", "sleep 1000 & echo $! > pid; echo started")
    assert (ran.status, ran.output.tail) == (CheckStatus.PASSED, ("started",))
    assert not is_alive(int((project.root / "pid").read_text()))


async def test_a_program_that_is_missing_is_named_with_what_to_do(project: Project) -> None:
    with pytest.raises(ProgramMissingError) as caught:
        await project.run("no-such-program-here", "--flag")
    assert "no-such-program-here, which the check check needs, is not installed" in str(
        caught.value
    )
    assert "[checks.commands.check]" in str(caught.value)


async def test_a_file_that_cannot_be_run_is_reported(project: Project) -> None:
    project.write("broken", b"\x7fELF nothing", mode=0o755)
    with pytest.raises(TreadleError, match=r"\./broken cannot be started: Exec format error"):
        await project.run("./broken")
    project.write("unmarked", "#!/bin/sh\n")
    with pytest.raises(ProgramMissingError):
        await project.run("./unmarked")


async def test_progress_reports_the_last_line(project: Project) -> None:
    code = "import time\nfor n in range(4): print('step', n, flush=True); time.sleep(0.6)"
    await project.run(*python(code))
    assert any(": step" in told and " lines" in told for told in project.told)


async def test_a_silent_check_is_reported_as_running(project: Project) -> None:
    clock = FakeClock()
    task = asyncio.create_task(project.run("sleep", "1000", clock=clock))
    await until(lambda: clock.sleeping == 2)  # the time limit and the progress
    for _ in range(25):
        await clock.advance(1.0)
    assert project.told == ["10 s, 0 lines", "20 s, 0 lines"]
    for _ in range(36):
        await clock.advance(1.0)
    while not task.done():
        await clock.advance(0.1)
        await asyncio.sleep(0.01)
    assert (await task).status is CheckStatus.TIMED_OUT


async def test_a_script_without_permission_is_not_reported_as_missing(project: Project) -> None:
    project.write("my check.sh", "#!/bin/sh\n", mode=0o644)
    with pytest.raises(ProgramMissingError, match="not executable") as caught:
        await project.run("./my check.sh")
    assert "chmod +x './my check.sh'" in (caught.value.hint or "")


async def test_a_failing_progress_receiver_is_not_swallowed(project: Project) -> None:
    async def failing(_text: str) -> None:
        raise OSError("the screen is gone")

    code = "import time\nfor n in range(3): print(n, flush=True); time.sleep(0.6)"
    with pytest.raises(OSError, match="the screen is gone"):
        await project.run(*python(code), progress=failing)


async def test_nested_checks_are_ended_by_the_outer_one(project: Project) -> None:
    ran = await project.run(
        *python("import os; print(os.environ['CHECK_OF_TREADLE'])"),
        environment={"CHECK_OF_TREADLE": "outer"},
    )
    outer, inner = ran.output.tail[0].split()
    assert outer == "outer"
    assert len(inner) == 36


async def test_the_working_folder_is_the_project(project: Project) -> None:
    ran = await project.run("bash", "-c", "pwd; echo $PWD; echo made > here")
    assert ran.output.tail == (str(project.root),) * 2
    assert os.listdir(project.root) == ["here"]  # noqa: PTH208
