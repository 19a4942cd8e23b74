"""The clients of Anthropic and Gemini are answered through the gateway, and recorded exactly."""

import asyncio
import base64
import json
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from bench.native_clients.__main__ import CLIENTS, RECORDED, Client, lines_of_page
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Cut, Script, body, sse
from tests.gateway.native_replies import (
    ANSWER,
    ANTHROPIC_STREAM,
    CITY,
    GEMINI_STREAM,
    THOUGHT,
    anthropic_events,
    anthropic_replies,
    gemini_replies,
)
from tests.gateway.running import Running, running, settings
from treadle.config.model import Settings
from treadle.events.types import Usage
from treadle.spans.span import CostSource, Span

TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather of a city."},
}
QUESTION = {"role": "user", "content": "How is the weather in Zürich?"}
GEMINI = "/v1beta/models/gemini-3.5-flash:generateContent"


def native(provider: FakeProvider, api: str, **gateway: Any) -> Settings:
    """Settings with one provider that offers `api`."""
    table = {"base_url": provider.base_url, "max_retries": 0, "native_api": api}
    return Settings.model_validate({"providers": {"fake": table}, "gateway": gateway})


async def post(gateway: Running, path: str, values: Any, **headers: str) -> httpx2.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    url = gateway.url.removesuffix("/v1") + path
    return await gateway.http.post(url, json=values, headers=named)


async def replayed(folder: Path, name: str, replies: Sequence[Script]) -> list[Span]:
    """The spans of the recorded requests of a client, in order."""
    client = next(each for each in CLIENTS if each.name == name)
    recording = json.loads((RECORDED / f"{name}.json").read_text("utf-8"))
    async with (
        FakeProvider(replies, strict=False) as provider,
        running(folder, native(provider, client.api)) as gateway,
    ):
        spans = []
        for request in recording["requests"]:
            answer = await post(gateway, request["path"], request["body"], **request["headers"])
            spans.append(await gateway.span(answer))
        assert [each.body for each in provider.requests] == [
            each["body"] for each in recording["requests"]
        ]
    return spans


@pytest.mark.parametrize("client", CLIENTS, ids=lambda each: each.name)
def test_recording_was_made_with_the_lines_of_the_page(client: Client) -> None:
    recording = json.loads((RECORDED / f"{client.name}.json").read_text("utf-8"))
    assert recording["lines"] == lines_of_page(client.name)
    assert recording["package"] == client.package


def called(call_id: str, arguments: str, **more: object) -> dict[str, Any]:
    call = {"name": "get_weather", "arguments": arguments}
    calls = [{"id": call_id, "type": "function", "function": call}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return {**message, "reasoning_content": THOUGHT, **more}


async def test_calls_of_the_anthropic_client_are_recorded(tmp_path: Path) -> None:
    hello, call, answer, stream, count, refused = await replayed(
        tmp_path, "anthropic", anthropic_replies()
    )
    assert json.loads(hello.output or "") == [{"role": "assistant", "content": "Hello"}]
    assert (call.kind, call.name, call.provider) == ("model", "chat claude-haiku-5-5", "fake")
    assert call.model == "claude-haiku-5-5-20260301"
    assert call.tokens == stream.tokens == Usage(input=100, output=20, cached=64, cache_write=6)
    assert (call.user, call.thread_id) == ("alice", "thread-1")
    assert json.loads(call.input or "") == [{"role": "system", "content": "Be brief."}, QUESTION]
    (tool,) = json.loads(str(call.attributes["gen_ai.tool.definitions"]))
    assert tool["function"]["name"] == TOOL["function"]["name"]  # type: ignore[index]  # JSON
    assert "city" in tool["function"]["parameters"]["properties"]
    said = json.loads(call.output or "")
    assert said == [called("toolu_1", json.dumps({"city": CITY}, ensure_ascii=False),
                           content="I look.")]  # fmt: skip
    assert json.loads(stream.output or "") == said
    assert stream.attributes["gen_ai.response.finish_reasons"] == ["tool_use"]
    assert stream.time_to_first_token_us is not None
    assert json.loads(answer.output or "") == [{"role": "assistant", "content": ANSWER}]
    roles = [message["role"] for message in json.loads(answer.input or "")]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert (count.operation, count.kind, count.tokens) == ("count_tokens", "other", Usage())
    assert json.loads(count.output or "") == {"input_tokens": 7}
    assert (refused.status, refused.attributes["error.type"]) == ("error", "rate_limit")


async def test_calls_of_the_gemini_client_are_recorded(tmp_path: Path) -> None:
    hello, call, answer, stream, vectors, count, refused = await replayed(
        tmp_path, "google_genai", gemini_replies()
    )
    assert hello.tokens == Usage(input=8, output=3)
    assert (call.kind, call.operation, call.model) == (
        "model", "generate_content", "gemini-3.5-flash"
    )  # fmt: skip
    assert call.tokens == stream.tokens == Usage(input=100, output=20, cached=64, reasoning=7)
    assert call.thread_id == "thread-1"
    assert json.loads(call.input or "") == [{"role": "system", "content": "Be brief."}, QUESTION]
    assert call.attributes["gen_ai.request.temperature"] == 0.2
    assert call.attributes["gen_ai.request.max_tokens"] == 2_000
    (tool,) = json.loads(str(call.attributes["gen_ai.tool.definitions"]))
    assert tool["function"]["description"] == "The weather of a city."
    arguments = json.dumps({"city": CITY}, ensure_ascii=False)
    assert json.loads(call.output or "") == [called("get_weather", arguments)]
    roles = [message["role"] for message in json.loads(answer.input or "")]
    assert roles == ["system", "user", "assistant", "tool"]
    assert json.loads(stream.output or "") == [
        {"role": "assistant", "content": ANSWER, "reasoning_content": THOUGHT}
    ]
    assert stream.time_to_first_token_us is not None
    assert (vectors.kind, vectors.input) == ("embedding", '["a text"]')
    assert json.loads(vectors.output or "") == {"embeddings": 1, "dimensions": 3}
    assert json.loads(count.output or "") == {"totalTokens": 7}
    assert (refused.status, refused.attributes["error.type"]) == ("error", "rate_limit")


@asynccontextmanager
async def keyed(
    folder: Path, api: str, replies: Sequence[Script], **gateway: Any
) -> AsyncIterator[tuple[FakeProvider, Running]]:
    async with FakeProvider(replies, strict=False) as provider:
        config = native(provider, api, **gateway)
        table = config.providers["fake"].model_copy(update={"api_key_env": "FAKE_KEY"})
        config = config.model_copy(update={"providers": {"fake": table}})
        env = {"FAKE_KEY": "provider-key-1234"}
        async with running(folder, config, env=env) as running_gateway:
            yield provider, running_gateway


KEYS = {
    "anthropic": ("x-api-key", "/v1/messages", anthropic_replies),
    "gemini": ("x-goog-api-key", GEMINI, gemini_replies),
}


@pytest.mark.parametrize("api", KEYS)
async def test_provider_gets_its_own_key_in_the_header_of_its_api(tmp_path: Path, api: str) -> None:
    header, path, replies = KEYS[api]
    async with keyed(tmp_path, api, replies()) as (provider, gateway):
        values = {"model": "m", "messages": [QUESTION], "contents": []}
        url = f"{path}?key=client-key-5678" if api == "gemini" else path
        answer = await post(gateway, url, values, **{header: "client-key-5678"})
        span = await gateway.span(answer)
    (request,) = provider.requests
    assert request.headers[header] == "provider-key-1234"
    assert "authorization" not in request.headers
    assert "client-key" not in request.path + str(request.headers) + json.dumps(span.to_json())


@pytest.mark.parametrize(
    ("api", "sent", "received"),
    [
        ("anthropic", {"x-api-key": "client-key-5678"}, ("x-api-key", "client-key-5678")),
        (
            "anthropic",
            {"authorization": "Bearer client-key-5678"},
            ("authorization", "Bearer client-key-5678"),
        ),
        ("gemini", {"x-goog-api-key": "client-key-5678"}, ("x-goog-api-key", "client-key-5678")),
    ],
)
async def test_key_of_the_client_is_forwarded_if_the_settings_say_so(
    tmp_path: Path, api: str, sent: dict[str, str], received: tuple[str, str]
) -> None:
    _, path, replies = KEYS[api]
    async with keyed(tmp_path, api, replies(), pass_client_keys=True) as (provider, gateway):
        await post(gateway, path, {"model": "m", "messages": [QUESTION], "contents": []}, **sent)
    name, value = received
    assert provider.requests[0].headers[name] == value


async def test_model_names_the_provider(tmp_path: Path) -> None:
    async with FakeProvider(anthropic_replies(), strict=False) as one:
        config = settings(one, one, names=("first", "second"), models=())
        tables = {
            name: table.model_copy(update={"native_api": "anthropic"})
            for name, table in config.providers.items()
        }
        config = config.model_copy(update={"providers": tables})
        async with running(tmp_path, config) as gateway:
            values = {"messages": [QUESTION], "max_tokens": 10}
            spans = [
                await gateway.span(await post(gateway, "/v1/messages", {**values, "model": model}))
                for model in ("second/claude-haiku-5-5", "claude-haiku-5-5")
            ]
    assert [each.provider for each in spans] == ["second", "first"]
    assert [each.body["model"] for each in one.requests] == ["claude-haiku-5-5"] * 2


async def test_provider_without_the_api_is_refused_in_the_form_of_the_client(
    tmp_path: Path,
) -> None:
    async with FakeProvider() as provider, running(tmp_path, settings(provider)) as gateway:
        values = {"model": "fake/m", "messages": [QUESTION], "contents": []}
        anthropic = await post(gateway, "/v1/messages", values)
        gemini = await post(gateway, "/v1beta/models/fake/m:generateContent", values)
        missing = await post(gateway, "/v1beta/models/m:noSuchMethod", values)
        openai = await gateway.chat(model="unknown/m")
    error = anthropic.json()
    assert (anthropic.status_code, error["type"]) == (400, "error")
    assert error["error"]["type"] == "invalid_request_error"
    assert "native_api" in error["error"]["message"]
    assert gemini.json()["error"]["status"] == "INVALID_ARGUMENT"
    assert missing.json()["error"]["status"] == "NOT_FOUND"
    assert openai.json()["error"]["code"] == "model_not_found"


async def test_known_providers_have_prices_for_calls_of_their_own_api(tmp_path: Path) -> None:
    reply = anthropic_replies()[1]
    async with FakeProvider([reply, gemini_replies()[1]], strict=False) as provider:
        config = settings(provider, provider, names=("anthropic", "gemini"), models=())
        env = {"ANTHROPIC_API_KEY": "sk-test-0123456789", "GEMINI_API_KEY": "test-0123456789"}
        async with running(tmp_path, config, env=env) as gateway:
            messages = {"model": "claude-haiku-4-5", "messages": [QUESTION]}
            one = await gateway.span(await post(gateway, "/v1/messages", messages))
            path = "/v1/models/gemini-2.5-flash:generateContent"
            other = await gateway.span(await post(gateway, path, {"contents": []}))
    # $0.10 and $0.50 for a million tokens; reads of the cache cost $0.01, writes $0.125
    assert one.cost == pytest.approx((30 * 0.1 + 64 * 0.01 + 6 * 0.125 + 20 * 0.5) / 1e6)
    assert one.cost_source is CostSource.PRICES
    assert other.cost is not None


async def test_cut_and_failed_streams_keep_what_arrived(tmp_path: Path) -> None:
    head, *events = ANTHROPIC_STREAM
    failure = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    cut = anthropic_events(head, *events[:10])
    cut = Script((*cut.steps, Cut()), headers=cut.headers)
    async with (
        FakeProvider([cut, anthropic_events(head, *events[:6], failure)], strict=False) as provider,
        running(tmp_path, native(provider, "anthropic")) as gateway,
    ):
        values = {"model": "m", "messages": [QUESTION], "stream": True}
        with pytest.raises(httpx2.HTTPError):
            await post(gateway, "/v1/messages", values)
        failed = await gateway.span(await post(gateway, "/v1/messages", values))
        listed = gateway.store.spans().data[-1]
        (broken,) = gateway.store.trace(listed.trace_id).spans
    (message,) = json.loads(failed.output or "")
    assert message["reasoning_content"] == THOUGHT
    assert (failed.status, failed.error is not None) == ("error", True)
    assert broken.status == "error"
    # The count in the first event is not final.
    assert broken.tokens == Usage(input=100, cached=64, cache_write=6)
    estimate = broken.attributes["treadle.estimate.output_tokens"]
    assert isinstance(estimate, int)
    assert estimate > 0
    assert "treadle.estimate.input_tokens" not in broken.attributes


@pytest.mark.parametrize(
    "content",
    [
        b"[]", b"7", b"{}", b"", b"{" * 9_000, b'{"content": 7}', b'{"content": [7, {"type": 7}]}',
        b'{"candidates": [{"content": {"parts": [7]}}]}', b'{"usage": 7, "usageMetadata": 7}',
        b'{"type": "content_block_delta", "index": 0, "delta": {}}', b'{"embeddings": [7]}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("api", KEYS)
async def test_malformed_requests_and_answers_are_forwarded_and_recorded(
    tmp_path: Path, content: bytes, api: str
) -> None:
    _, path, _ = KEYS[api]
    scripts = [
        Script((content,), headers={"content-type": "application/json"}),
        Script((b"data: " + content + b"\n\n",), headers={"content-type": "text/event-stream"}),
    ]
    values = {
        "model": "m", "messages": [7, {"role": 7, "content": [7]}], "system": 7, "tools": [7],
        "contents": [7, {"parts": 7}, {"parts": [7, {"functionCall": {}}]}],
        "generationConfig": {"topP": 7, "maxOutputTokens": "x"}, "metadata": 7,
    }  # fmt: skip
    async with (
        FakeProvider(scripts, strict=False) as provider,
        running(tmp_path, native(provider, api)) as gateway,
    ):
        for sent in (content, b"data: " + content + b"\n\n"):
            answer = await post(gateway, path, values)
            await gateway.span(answer)
            assert answer.content == sent
        assert gateway.gateway.health().unrecorded == 0


async def test_media_are_recorded_as_a_note(tmp_path: Path) -> None:
    data = "QUJD" * 100
    document = {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": data},
    }
    image = {"inlineData": {"mimeType": "image/png", "data": data}}
    reply = {"candidates": [{"content": {"role": "model", "parts": [image]}}]}
    async with FakeProvider([anthropic_replies()[0], body(reply)], strict=False) as provider:
        config = native(provider, "anthropic")
        table = config.providers["fake"]
        tables = {"fake": table, "other": table.model_copy(update={"native_api": "gemini"})}
        config = config.model_copy(update={"providers": tables})
        async with running(tmp_path, config) as gateway:
            values = {"model": "m", "messages": [{"role": "user", "content": [document]}]}
            one = await gateway.span(await post(gateway, "/v1/messages", values))
            parts = [{"inlineData": {"mimeType": "audio/wav", "data": data}}]
            asked = {"contents": [{"role": "user", "parts": parts}]}
            other = await gateway.span(await post(gateway, GEMINI, asked))
    assert provider.requests[0].body["messages"] == values["messages"]
    assert "[application/pdf, 300 bytes, not recorded]" in (one.input or "")
    assert "[audio/wav, 300 bytes, not recorded]" in (other.input or "")
    assert "[image/png, 300 bytes, not recorded]" in (other.output or "")
    assert data not in json.dumps([one.to_json(), other.to_json()])


async def test_breakpoints_budgets_and_the_cache_apply(tmp_path: Path) -> None:
    config: dict[str, Any] = {
        "cache": {"enabled": True},
        "budgets": {"all": {"tokens": 700}},
    }
    asked = {"contents": [], "generationConfig": {"maxOutputTokens": 500}}
    async with (
        FakeProvider(gemini_replies(), strict=False) as provider,
        running(tmp_path, native(provider, "gemini", **config)) as gateway,
    ):
        first = await post(gateway, GEMINI, asked)
        again = await post(gateway, GEMINI, asked)
        large = {**asked, "generationConfig": {"maxOutputTokens": 900}}
        refused = await post(gateway, GEMINI, large)
        await gateway.gateway.breakpoints.add(model="gemini-*", timeout=0.01, on_expiry="refuse")
        held = await post(gateway, GEMINI, asked)
    assert (first.headers["x-treadle-cache"], again.headers["x-treadle-cache"]) == ("miss", "hit")
    assert (refused.status_code, refused.json()["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert held.status_code == 403


async def test_list_of_a_stream_without_events_is_read(tmp_path: Path) -> None:
    path = "/v1beta/models/m:streamGenerateContent"
    async with (
        FakeProvider([body(list(GEMINI_STREAM)), sse(*GEMINI_STREAM)], strict=False) as provider,
        running(tmp_path, native(provider, "gemini")) as gateway,
    ):
        span = await gateway.span(await post(gateway, path, {"contents": []}))
    assert span.tokens == Usage(input=100, output=20, cached=64, reasoning=7)


async def test_openai_calls_still_reach_a_provider_with_a_native_api(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("a")]) as provider,
        running(tmp_path, native(provider, "anthropic")) as gateway,
    ):
        answer = await gateway.chat()
    assert answer.json()["choices"][0]["message"]["content"] == "a"


async def test_lines_of_the_page_for_the_openai_client_work(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("Hello")]) as provider,
        running(tmp_path, settings(provider, names=("openai",)), env={"OPENAI_API_KEY": "k" * 20})
        as gateway,
    ):  # fmt: skip
        lines = lines_of_page("openai").replace("http://127.0.0.1:7070/v1", gateway.url)
        names: dict[str, Any] = {}
        await asyncio.to_thread(exec, lines, names)
    assert names["reply"].choices[0].message.content == "Hello"


async def test_embeddings_in_base64_are_recorded_like_other_embeddings(tmp_path: Path) -> None:
    def answer(vector: object) -> Script:
        return body({
            "object": "list", "model": "m", "usage": {"prompt_tokens": 4, "total_tokens": 4},
            "data": [{"object": "embedding", "index": 0, "embedding": vector}],
        })  # fmt: skip

    vector = base64.b64encode(struct.pack("<4f", 1, 2, 3, 4)).decode()
    async with (
        FakeProvider([answer([1.0, 2.0, 3.0, 4.0]), answer(vector)]) as provider,
        running(tmp_path, settings(provider)) as gateway,
        openai.AsyncOpenAI(base_url=gateway.url, api_key="any", max_retries=0) as client,
    ):
        asked: Any = {"model": "m", "input": "a text"}
        plain = await gateway.http.post("/embeddings", json=asked)
        packed = await client.embeddings.with_raw_response.create(**asked, encoding_format="base64")
        one = await gateway.span(plain)
        other = (await gateway.spans(packed.headers["x-trace-id"]))[0]
    assert json.loads(packed.content)["data"][0]["embedding"] == vector
    assert other.attributes["gen_ai.embeddings.dimension.count"] == 4
    assert (one.output, one.tokens, one.input) == (other.output, other.tokens, other.input)
