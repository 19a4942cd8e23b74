"""The terminal reports a stall, a rate limit, a cut, a refusal and a fallback at once.

The tests check the order, not the clock: the message arrives while the provider still waits for
the test. tests/llm/test_client.py checks the message after two seconds of silence.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.cli.command import Ran, ended, start
from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, Cut, Pause, Script, body, delta, error, sse, whole

ways = pytest.mark.parametrize(
    "options",
    [[], ["--no-stream"], ["--json"], ["--json", "--no-stream"]],
    ids=["stream", "whole", "json", "json whole"],
)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(left, right):\n    return left + right\n")
    return folder


class Watched:
    """A running `treadle ask`, whose lines are read as they come."""

    def __init__(self, process: asyncio.subprocess.Process, *, json_lines: bool) -> None:
        self.process = process
        stream = process.stdout if json_lines else process.stderr
        assert stream is not None
        self._stream = stream

    async def says(self, *words: str) -> None:
        """Return when a line has come that holds all of `words`."""
        while line := await asyncio.wait_for(self._stream.readline(), 60):
            if all(word in line.decode() for word in words):
                return
        raise AssertionError(f"it never said {words}")


@asynccontextmanager
async def asking(
    repo: Path, options: list[str], *replies: Reply, **env: str
) -> AsyncIterator[Watched]:
    async with FakeProvider(replies) as provider:
        env = {"TREADLE_BASE_URL": provider.base_url, **env}
        home = repo.parent / "home"
        process = await start("ask", "Q?", *options, home=home, repo=repo, **env)
        try:
            yield Watched(process, json_lines="--json" in options)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


def held(script: Script, event: asyncio.Event) -> Script:
    """`script`, of which nothing comes before the event."""
    return Script(script.steps, script.status, script.headers, before=(Pause(event=event),))


def final(ran: Ran) -> tuple[str, str]:
    """Why it ended, and the error in words."""
    line = json.loads(ran.out.splitlines()[-1])
    return line["stop_reason"], line["error"]["message"]


@ways
async def test_a_stalled_provider(repo: Path, options: list[str]) -> None:
    answer = asyncio.Event()
    stalled = held(Answer("Well.").script(stream="--no-stream" not in options), answer)
    said = ("ModelWaiting", "no data for 2 s") if "--json" in options else ("waiting for custom",)
    async with asking(repo, options, stalled) as watched:
        await watched.says(*said)
        answer.set()
        assert (await ended(watched.process)).status == 0


@ways
async def test_a_rate_limit(repo: Path, options: list[str]) -> None:
    limited = error(429, "slow down", retry_after="300")
    said = ("RetryScheduled", "slow down") if "--json" in options else ("slow down. Trying again",)
    async with asking(repo, options, limited) as watched:
        await watched.says(*said)
        assert watched.process.returncode is None


@ways
async def test_a_cut_reply(repo: Path, options: list[str]) -> None:
    if "--no-stream" in options:
        half = body(whole(content="Half an ans"))
        cut = Script((half.steps[0][:40], Cut()), 200, half.headers)  # type: ignore[index]  # bytes
    else:
        cut = sse(delta(content="Half an ans"), Cut(), done=False)
    env = {"TREADLE_PROVIDERS__CUSTOM__MAX_RETRIES": "0"}
    async with asking(repo, options, cut, **env) as watched:
        ran = await ended(watched.process)
    assert ran.status == 4
    if "--json" in options:
        assert final(ran)[0] == "failed"
    said = final(ran)[1] if "--json" in options else ran.err
    assert "incomplete" in said or "broke" in said or "cannot be reached" in said


@ways
async def test_a_refusal(repo: Path, options: list[str]) -> None:
    async with asking(repo, options, error(401, "Incorrect API key provided")) as watched:
        ran = await ended(watched.process)
    assert ran.status == 4
    said = final(ran)[1] if "--json" in options else ran.err
    assert "refused the key (401): Incorrect API key provided." in said


@ways
async def test_a_fallback_to_another_model(repo: Path, options: list[str]) -> None:
    answer = asyncio.Event()
    stream = "--no-stream" not in options
    async with FakeProvider([held(Answer("Here.").script(stream=stream), answer)]) as other:
        env = {
            "TREADLE_PROVIDERS__OTHER__BASE_URL": other.base_url,
            "TREADLE_FALLBACK_MODELS": '["other/b"]',
        }
        change = "sking other/b instead"
        said = ("FallbackApplied", change) if "--json" in options else (change,)
        async with asking(repo, options, error(403, "not for you"), **env) as watched:
            await watched.says(*said)
            answer.set()
            ran = await ended(watched.process)
    assert ran.status == 0
    assert "Here." in ran.out


@ways
async def test_a_fallback_without_tools(repo: Path, options: list[str]) -> None:
    answer = asyncio.Event()
    refused = error(404, "No endpoints found that support tool use")
    plain = held(Answer("Here.").script(stream="--no-stream" not in options), answer)
    change = "rying without tools"
    said = ("FallbackApplied", change) if "--json" in options else (change,)
    async with asking(repo, options, refused, plain) as watched:
        await watched.says(*said)
        answer.set()
        assert "Here." in (await ended(watched.process)).out
