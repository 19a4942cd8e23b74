"""Calls about images, sound, moderations, files and batches pass through and are recorded."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Script, body, error
from tests.gateway.running import Running, running, settings
from treadle.events.types import Usage
from treadle.gateway.media_filter import MediaFilter
from treadle.llm.provider_states import save_key

SOUND = os.urandom(600_000)
ENCODED = base64.b64encode(SOUND[:90_000]).decode()
IMAGE = {
    "created": 1, "data": [{"b64_json": ENCODED, "revised_prompt": "A red dot."}],
    "usage": {"input_tokens": 9, "output_tokens": 272, "total_tokens": 281},
}  # fmt: skip


def client(gateway: Running, headers: dict[str, str] | None = None) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=gateway.url, api_key="any", max_retries=0, default_headers=headers
    )


async def test_image_is_answered_and_recorded_without_its_bytes(tmp_path: Path) -> None:
    async with (
        FakeProvider([body(IMAGE, split=1_000)]) as provider,
        running(tmp_path, settings(provider)) as gateway,
        client(gateway) as own,
    ):
        raw = await own.images.with_raw_response.generate(
            model="fake/gpt-image-1", prompt="A dot", user="alice"
        )
        (span,) = await gateway.spans(raw.headers["x-trace-id"])
        totals = gateway.store.summary().sums.totals
    assert (totals.unpriced, totals.cost) == (1, None)
    assert json.loads(raw.content) == IMAGE
    assert provider.requests[0].body["model"] == "gpt-image-1"
    assert (span.kind, span.name, span.user) == ("model", "images gpt-image-1", "alice")
    assert span.tokens == Usage(input=9, output=272)
    assert span.cost is None
    assert json.loads(span.input or "") == [{"role": "user", "content": "A dot"}]
    assert "A red dot." in (span.output or "")
    assert "90,000 bytes, not recorded" in (span.output or "")
    assert ENCODED[:100] not in json.dumps(span.to_json())


@pytest.mark.parametrize("file_first", [False, True])
async def test_upload_of_sound_is_forwarded_with_the_name_of_the_model(
    tmp_path: Path, file_first: bool
) -> None:
    reply = body({"text": "Hello", "usage": {"type": "duration", "seconds": 3}})
    form = [
        b'Content-Disposition: form-data; name="model"\r\n\r\nfake/whisper-1',
        b'Content-Disposition: form-data; name="file"; filename="a.wav"\r\n'
        b"Content-Type: audio/wav\r\n\r\n" + SOUND,
    ]
    parts = form[::-1] if file_first else form
    content = b"".join(b"--b\r\n" + part + b"\r\n" for part in parts) + b"--b--\r\n"
    trace_id = ""
    async with (
        FakeProvider([reply, error(500), reply]) as provider,
        running(tmp_path, settings(provider, max_retries=1)) as gateway,
    ):
        headers = {"content-type": "multipart/form-data; boundary=b"}
        for _ in range(2):  # the second upload is sent again after an error
            answer = await gateway.http.post(
                "/audio/transcriptions", content=content, headers=headers
            )
            assert answer.json()["text"] == "Hello"
            trace_id = answer.headers["x-trace-id"]
        spans = await gateway.spans(trace_id, 3)
    assert [each.content for each in provider.requests] == [
        content.replace(b"fake/whisper-1", b"whisper-1")
    ] * 3
    span = next(each for each in spans if each.status == "ok" and each.kind == "model")
    assert (span.model, span.tokens) == ("whisper-1", Usage())
    assert json.loads(span.output or "") == [{"role": "assistant", "content": "Hello"}]
    assert "[audio/wav, 600,000 bytes, not recorded]" in (span.input or "")


async def test_sound_of_an_answer_is_recorded_as_a_note(tmp_path: Path) -> None:
    reply = Script((SOUND,), headers={"content-type": "audio/mpeg"}, split=50_000)
    async with (
        FakeProvider([reply]) as provider,
        running(tmp_path, settings(provider)) as gateway,
        client(gateway) as own,
    ):
        raw = await own.audio.speech.with_raw_response.create(
            model="fake/tts-1", voice="alloy", input="Hello"
        )
        (span,) = await gateway.spans(raw.headers["x-trace-id"])
    assert raw.content == SOUND
    note = "[audio/mpeg, 600,000 bytes, not recorded]"
    assert json.loads(span.output or "") == [{"role": "assistant", "content": note}]
    assert json.loads(span.input or "") == [{"role": "user", "content": "Hello"}]
    assert span.attributes["treadle.request.voice"] == "alloy"


async def test_files_batches_and_moderations_are_forwarded(tmp_path: Path) -> None:
    lines = b'{"custom_id": "a secret line"}\n'
    replies = [
        body({"id": "file-1", "object": "file"}), body({"id": "batch_1", "object": "batch"}),
        body({"id": "batch_1", "object": "batch"}),
        Script((lines,), headers={"content-type": "application/json"}),
        body({"id": "file-1", "deleted": True}),
        body({"id": "modr-1", "model": "omni-moderation", "results": [{"flagged": True}]}),
    ]  # fmt: skip
    async with (
        FakeProvider(replies) as one,
        FakeProvider() as other,
        running(tmp_path, settings(other, one)) as gateway,
        client(gateway, {"x-treadle-provider": "other"}) as own,
    ):
        file = await own.files.create(file=("a.jsonl", lines), purpose="batch")
        window: Any = "24h"
        await own.batches.create(
            input_file_id=file.id, endpoint="/v1/embeddings", completion_window=window
        )
        assert (await own.batches.retrieve("batch_1")).id == "batch_1"
        raw = await own.files.with_raw_response.content("file-1")
        assert raw.content == lines
        await own.files.delete("file-1")
        moderated = await own.moderations.create(input="text")
        (span,) = await gateway.spans(raw.headers["x-trace-id"])
        refused = await gateway.http.get("/files", headers={"x-treadle-provider": "unknown"})
    assert moderated.results[0].flagged
    methods = [(each.method, each.path) for each in one.requests]
    assert methods[2:5] == [
        ("GET", "/v1/batches/batch_1"), ("GET", "/v1/files/file-1/content"),
        ("DELETE", "/v1/files/file-1"),
    ]  # fmt: skip
    assert (span.kind, span.name, span.provider) == ("other", "files", "other")
    assert span.output == f"[application/json, {len(lines)} bytes, not recorded]"
    assert refused.status_code == 404
    assert other.requests == []


async def test_budget_refuses_a_batch_and_counts_images(tmp_path: Path) -> None:
    budgets = {"all": {"tokens": 300}}
    async with (
        FakeProvider([body(IMAGE)]) as provider,
        running(tmp_path, settings(provider, budgets=budgets, provider="fake")) as gateway,
    ):
        batch = await gateway.http.post("/batches", json={"input_file_id": "file-1"})
        image = {"model": "fake/gpt-image-1", "prompt": "A dot"}
        first = await gateway.http.post("/images/generations", json=image)
        await gateway.span(first)
        used = gateway.gateway.budgets.used()["all"]
    assert (batch.status_code, batch.json()["error"]["code"]) == (403, "batch_uncounted")
    assert used.tokens == 281


@pytest.mark.parametrize("size", [1, 7, 5_000, 10**9])
def test_filter_keeps_text_and_removes_media(size: int) -> None:
    text = 'A long text with spaces and "quotes" and é. ' * 500
    value = {"text": text, "short": "QUJD", "b64": ENCODED, "end": [1, "\\"]}
    data = json.dumps(value).encode()
    kept = MediaFilter()
    blocks = [kept.feed(data[start : start + size]) for start in range(0, len(data), size)]
    note = "[media, 90,000 bytes, not recorded]"
    assert json.loads(b"".join(blocks)) == {**value, "b64": note}


async def test_malformed_form_is_refused(tmp_path: Path) -> None:
    async with FakeProvider() as provider, running(tmp_path, settings(provider)) as gateway:
        for kind, content in (("", b"x"), ("; boundary=b", b"no form")):
            headers = {"content-type": f"multipart/form-data{kind}"}
            answer = await gateway.http.post("/images/edits", content=content, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_form")


async def test_project_uses_stored_files_only_with_an_account_of_its_own(tmp_path: Path) -> None:
    answer = body({"object": "list", "data": []})
    earlier = {"model": "fake/m", "input": "x", "previous_response_id": "resp_1"}
    async with FakeProvider([answer] * 3, strict=False) as provider:
        shared = settings(provider, provider="fake").of_project(tmp_path / "project")
        async with running(tmp_path / "shared", shared) as gateway:
            refused = [
                await gateway.http.get("/files"),
                await gateway.http.get("/batches/batch_1"),
                await gateway.http.post("/responses", json=earlier),
            ]
        own = shared.of_project(tmp_path / "project", frozenset({"fake"}))
        async with running(tmp_path / "own", own) as gateway:
            assert (await gateway.http.get("/files")).status_code == 200
        save_key(shared, {}, "fake", "sk-of-the-project")
        async with running(tmp_path / "saved", shared) as gateway:
            assert (await gateway.http.get("/files")).status_code == 200
    assert [each.status_code for each in refused] == [403] * 3
    assert {each.json()["error"]["code"] for each in refused} == {"shared_account"}
    assert len(provider.requests) == 2
