"""A call is visible while it runs, and a killed gateway leaves interrupted calls."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Pause, Script, delta, error, sse, usage
from tests.gateway.running import MESSAGES, Running, eventually, running, settings
from treadle.config.model import Settings
from treadle.spans.span import Span

FORM = b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nfake/whisper-1\r\n--b--\r\n'
ASKED = {"model": "fake/m", "metadata": {"session_id": "s1", "user_id": "alice"}}
CALLS: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "chat": ("/v1/chat/completions", {"json": {**ASKED, "messages": MESSAGES}}, "m"),
    "stream": (
        "/v1/chat/completions",
        {"json": {**ASKED, "messages": MESSAGES, "stream": True}},
        "m",
    ),
    "responses": ("/v1/responses", {"json": {**ASKED, "input": "Hi"}}, "m"),
    "embeddings": ("/v1/embeddings", {"json": {**ASKED, "input": "Hi"}}, "m"),
    "messages": (
        "/v1/messages",
        {"json": {**ASKED, "model": "other/m", "messages": MESSAGES, "max_tokens": 9}},
        "m",
    ),
    "gemini": (
        "/v1beta/models/g:generateContent",
        {"json": {"contents": [{"parts": [{"text": "Hi"}]}]}},
        "g",
    ),
    "images": ("/v1/images/generations", {"json": {**ASKED, "prompt": "Hi"}}, "m"),
    "batches": ("/v1/batches", {"json": {"input_file_id": "file-1"}}, ""),
    "audio": (
        "/v1/audio/transcriptions",
        {"content": FORM, "headers": {"content-type": "multipart/form-data; boundary=b"}},
        "whisper-1",
    ),
}


def every_api(provider: FakeProvider) -> Settings:
    """Settings in which one fake provider offers all three APIs."""
    given = settings(provider, provider, provider)
    fake, other, third = given.providers.values()
    tables = {
        "fake": fake,
        "other": other.model_copy(update={"native_api": "anthropic"}),
        "third": third.model_copy(update={"native_api": "gemini", "models": ["g"]}),
    }
    return given.model_copy(update={"providers": tables})


async def unfinished(gateway: Running) -> Span:
    """The only span of the store, once a call runs."""
    await eventually(lambda: bool(gateway.store.spans().data))
    (listed,) = gateway.store.spans().data
    span = gateway.store.span(listed.trace_id, listed.span_id)
    assert span is not None
    assert (span.status, span.end_us) == ("unfinished", None)
    return span


@pytest.mark.parametrize("name", CALLS)
async def test_call_is_an_unfinished_span_until_it_ends(tmp_path: Path, name: str) -> None:
    path, request, model = CALLS[name]
    answer = asyncio.Event()
    reply = Script((Pause(event=answer), b"{}"), headers={"content-type": "application/json"})
    async with (
        FakeProvider([reply], strict=False) as provider,
        running(tmp_path, every_api(provider)) as gateway,
    ):
        url = gateway.url.removesuffix("/v1") + path
        calling = asyncio.create_task(gateway.http.post(url, **request))
        span = await unfinished(gateway)
        runs = gateway.store.runs().data[0]
        totals = gateway.store.summary().sums.totals
        answer.set()
        (ended,) = await gateway.spans((await calling).headers["x-trace-id"])
    assert span.span_id == ended.span_id
    assert (span.model or "", span.input, span.kind) == (model, ended.input, ended.kind)
    assert (span.name, span.start_us, span.labels) == (ended.name, ended.start_us, ended.labels)
    if "metadata" in request.get("json", {}):
        assert (span.user, span.thread_id) == ("alice", "s1")
    assert (runs.status, runs.sums.unfinished) == ("unfinished", 1)
    assert (totals.unmetered, totals.unpriced, totals.failed) == (0, 0, 0)


async def test_call_with_several_attempts_is_completed_in_place(tmp_path: Path) -> None:
    answer = asyncio.Event()
    late = Script(error(500).steps, before=(Pause(event=answer),), status=500)
    async with (
        FakeProvider([late, Answer("Hi", usage=usage(7, 3))]) as provider,
        running(tmp_path, settings(provider, max_retries=1)) as gateway,
    ):
        calling = asyncio.create_task(gateway.chat())
        span = await unfinished(gateway)
        answer.set()
        spans = await gateway.spans((await calling).headers["x-trace-id"], 3)
        sums = gateway.store.summary().sums
    step = next(each for each in spans if each.operation == "gateway")
    first = next(each for each in spans if each.span_id == span.span_id)
    assert (first.status, first.parent_id) == ("error", step.span_id)
    assert (sums.unfinished, sums.totals.spans, sums.totals.model_calls) == (0, 3, 2)
    assert sums.totals.tokens.input == 7


async def test_refused_call_replaces_its_unfinished_span(tmp_path: Path) -> None:
    async with FakeProvider([]) as provider, running(tmp_path, settings(provider)) as gateway:
        point = await gateway.gateway.breakpoints.add()
        calling = asyncio.create_task(gateway.chat())
        span = await unfinished(gateway)
        (held,) = gateway.gateway.breakpoints.held()
        assert held.breakpoint_id == point.id
        await gateway.gateway.breakpoints.refuse(held.id)
        spans = await gateway.spans((await calling).headers["x-trace-id"], 2)
    step = next(each for each in spans if each.span_id == span.span_id)
    assert (step.kind, step.status) == ("agent", "denied")


async def test_short_call_is_written_once(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("Hi")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        before = gateway.store.changes(None).newest
        await gateway.span(await gateway.chat())
        after = gateway.store.changes(None).newest
    assert after == before + 1


async def test_secrets_of_a_running_call_are_removed_and_counted_once(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    answer = asyncio.Event()
    reply = sse(Pause(event=answer), delta(content="Hi"))
    async with FakeProvider([reply]) as provider, running(tmp_path, settings(provider)) as gateway:
        asked = [{"role": "user", "content": f"My key is {key}."}]
        calling = asyncio.create_task(gateway.chat(messages=asked, stream=True))
        span = await unfinished(gateway)
        assert gateway.store.redactions() == {}
        answer.set()
        await gateway.span(await calling)
        assert sum(gateway.store.redactions().values()) == 1
    assert key not in json.dumps(span.to_json())


KILLED = """
import asyncio, os, sys
from pathlib import Path
from tests.gateway.running import running
from treadle.config.model import Settings

async def main(folder, config):
    async with running(Path(folder), Settings.model_validate_json(config)) as gateway:
        calling = asyncio.create_task(gateway.chat())
        while not gateway.store.spans().data:
            await asyncio.sleep(0.02)
        os._exit(9)  # like kill -9: no code of the gateway runs

asyncio.run(main(*sys.argv[1:]))
"""


async def test_call_of_a_killed_gateway_is_marked_by_the_next_one(tmp_path: Path) -> None:
    async with FakeProvider([Script((Pause(),)), Script((Pause(),))]) as provider:
        own = settings(provider)
        command = [sys.executable, "-c", KILLED, str(tmp_path / "data"), own.model_dump_json()]
        await asyncio.to_thread(subprocess.run, command, check=False, timeout=60)
        async with running(tmp_path / "data", own) as gateway:
            await eventually(lambda: "cancelled" in statuses(gateway))
            calling = asyncio.create_task(gateway.chat())
            await eventually(lambda: "unfinished" in statuses(gateway))
            async with running(tmp_path / "data", own):  # a second program, while the first runs
                pass
            assert sorted(statuses(gateway)) == ["cancelled", "unfinished"]
            listed = gateway.store.spans().data[-1]
            span = gateway.store.span(listed.trace_id, listed.span_id)
            sums = gateway.store.summary().sums
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
    assert span is not None
    assert "Treadle ended before" in (span.error or "")
    assert (span.end_us, span.duration_us) == (None, None)
    assert (sums.totals.unmetered, sums.unfinished) == (1, 1)


def statuses(gateway: Running) -> list[str]:
    return [each.status for each in gateway.store.spans().data]
