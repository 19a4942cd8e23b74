"""`treadle experiment` from the first call to the comparison."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Ran, ended, start, treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Pause, Script, usage


async def run(*arguments: str, home: Path, repo: Path, **env: str) -> Ran:
    return await ended(await start(*arguments, home=home, repo=repo, **env))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    return folder


async def test_experiment_is_changed_run_cancelled_resumed_and_compared(
    tmp_path: Path, repo: Path
) -> None:
    home = tmp_path / "home"
    replies = [Answer("It adds."), *[Answer("old", usage=usage(20, 10))] * 2]
    async with FakeProvider([*replies, Script(before=(Pause(),))]) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "k" * 12}

        async def command(*words: str) -> Ran:
            return await run("experiment", *words, home=home, repo=repo, **env)

        await run("ask", "What is it?", "--no-tools", home=home, repo=repo, **env)
        made = await command("new", "LAST", "--name", "mine")
        reference = made.out.split()[0]
        wrong = await command("edit", reference, "--set", "temperature=7")
        dry = await command("edit", reference, "--model", "custom/x", "--dry-run")
        edited = await command("edit", reference, "--system", "Be brief.", "--set", "top_p=0.5")
        process = await start(
            "experiment", "run", reference, "--n", "2", home=home, repo=repo, **env
        )
        await provider.wait_for_requests(4)
        process.send_signal(signal.SIGINT)
        cancelled = await ended(process)
        provider.add(*[Answer("new", usage=usage(10, 5))] * 2)
        batch = cancelled.err.split()[1].rstrip(";")
        resumed = await command("run", "--resume", batch)
        compared = await command("compare", reference, "--json")
        shown = await command("show", reference)
        listed = await command("list", "--json")
        lines = await command("export", reference, "--format", "jsonl")
        stopped = await command("cancel", batch)
    assert "mine" in made.out
    assert (wrong.status, wrong.out) == (2, "")
    assert wrong.err == "parameters.temperature: Input should be less than or equal to 2.\n"
    assert dry.err == "The change is valid.\n"
    assert edited.out.split() == [reference, "v1"]
    assert cancelled.status == 130
    assert "2 of 4 runs" in cancelled.err
    assert "It is" not in resumed.err
    assert (resumed.status, "v1: not enough runs." in resumed.out) == (0, True)
    # Of each pair the first is original: (20 + 10), (10 + 5) against (20 + 10), (10 + 5).
    (variant,) = json.loads(compared.out)["variants"]
    assert variant["tokens"]["base"] == variant["tokens"]["new"] == 22.5
    assert f"batch {batch}: finished, 4 of 4 runs, 0 failed (original, v1)." in shown.out
    assert json.loads(listed.out)["pagination"]["total"] == 1
    runs: list[dict[str, Any]] = [json.loads(line) for line in lines.out.splitlines()]
    assert [each["content"] for each in runs] == ["old", "old", "new", "new"]
    assert stopped.out == f"Batch {batch} is not running: its state is finished.\n"


@pytest.mark.slow
async def test_json_output_contains_the_progress(tmp_path: Path, repo: Path) -> None:
    home = tmp_path / "home"
    async with FakeProvider([Answer("x")] * 3) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, "TREADLE_API_KEY": "k" * 12}
        await run("ask", "What?", "--no-tools", home=home, repo=repo, **env)
        made = await run("experiment", "new", "LAST", "--json", home=home, repo=repo, **env)
        reference = json.loads(made.out)["id"]
        ran = await run(
            "experiment", "run", reference, "--n", "2", "--json", home=home, repo=repo, **env
        )
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["type"] for line in lines] == ["batch", *["progress"] * 3, "final"]
    assert [line["done"] for line in lines[1:-1]] == [0, 1, 2]
    assert lines[-1]["batch"]["id"] == lines[0]["id"]
    assert len(lines[-1]["batch"]["runs"]) == 2


def test_missing_arguments_are_reported(tmp_path: Path, repo: Path) -> None:
    home = tmp_path / "home"
    for words, told in (
        (["new"], "Pass recorded calls, or a query that finds them."),
        (["new", "LAST"], "No trace has been recorded yet."),
        (["run"], "Pass an experiment, or a batch to resume."),
        (["show", "x"], "There is no experiment 'x'."),
        (["edit", "x"], "No change is given."),
        (["edit", "x", "--data", "[1]"], "--data is not a JSON object."),
        (["edit", "x", "--set", "y"], "'y' is not in the form NAME=VALUE."),
        (["cancel", "x"], "There is no batch 'x'."),
    ):
        ran = treadle("experiment", *words, home=home, repo=repo)
        assert ran.err.startswith(told)
        assert ran.out == ""
