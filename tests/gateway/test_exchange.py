"""The gateway forwards both directions byte for byte."""

import asyncio
import contextlib
import gzip
import json
import zlib
from base64 import b64encode
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import httpx2
import openai
import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call, Cut, Pause, Script, delta, error, sse
from tests.gateway.running import MESSAGES, Running, running, settings
from treadle.config.model import Settings
from treadle.gateway import upstream
from treadle.gateway.answers import UsageFilter

TOOL: Any = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": {}}},
}
TWO = [Call("add", {"a": 1}, id="one"), Call("add", {"a": 2}, id="two")]


def client(gateway: Running, key: str = "any") -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=gateway.url, api_key=key, max_retries=0)


async def test_the_openai_client_is_answered(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("Hello", calls=TWO)]) as provider,
        running(tmp_path, settings(provider)) as gateway,
        client(gateway) as own,
    ):
        reply = await own.chat.completions.create(
            model="fake/m", messages=[{"role": "user", "content": "Hi"}], tools=[TOOL]
        )
    assert reply.choices[0].message.content == "Hello"
    calls = reply.choices[0].message.tool_calls or []
    assert [(c.id, c.function.arguments) for c in calls if c.type == "function"] == [
        ("one", '{"a": 1}'),
        ("two", '{"a": 2}'),
    ]
    assert reply.usage
    assert reply.usage.total_tokens == 15
    assert provider.requests[0].body["model"] == "m"
    assert "authorization" not in provider.requests[0].headers


async def test_the_openai_client_streams_tools(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("Hello", calls=TWO, split=7)]) as provider,
        running(tmp_path, settings(provider)) as gateway,
        client(gateway) as own,
    ):
        stream = await own.chat.completions.create(
            model="fake/m",
            messages=[{"role": "user", "content": "Hi"}],
            tools=[TOOL],
            stream=True,
        )
        chunks = [chunk async for chunk in stream]
    # no chunk with the usage, which it did not request
    assert all(chunk.choices for chunk in chunks)
    calls = [call for c in chunks for call in c.choices[0].delta.tool_calls or ()]
    texts = ["".join(c.function.arguments or "" for c in calls if c.function and c.index == i)
             for i in (0, 1)]  # fmt: skip
    assert texts == ['{"a": 1}', '{"a": 2}']
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello"


async def test_a_client_that_requests_usage_gets_it(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("Hello")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
        client(gateway) as own,
    ):
        stream = await own.chat.completions.create(
            model="fake/m",
            messages=[{"role": "user", "content": "Hi"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [chunk async for chunk in stream]
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == [15]


async def test_the_synchronous_client_is_answered(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("Hello"), Answer("Hello")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):

        def ask() -> list[str]:
            with openai.OpenAI(base_url=gateway.url, api_key="any", max_retries=0) as own:
                whole = own.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "Hi"}]
                )
                stream = own.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
                )
                text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
                return [whole.choices[0].message.content or "", text]

        assert await asyncio.to_thread(ask) == ["Hello", "Hello"]


ODD = (
    b'{ "model" : "fake/m" ,\n "messages":[{"role":"user","content":'
    b'"\\ud83d\\ude00 \\u0000 \xc3\xa9"}],"x": 1.50e3, "unknown": {"deep": [null, 1]}, "t":0.10 }  '
)
REPLY = (
    b'{"id":"x", "choices" : [], "unknown": 1.0e2, "e": "\\u00e9", "usage":{"total_tokens":1}}\n'
)


async def test_bytes_of_both_sides_are_kept(tmp_path: Path) -> None:
    raw = RawProvider(REPLY, "content-type: application/json; charset=utf-8\r\nx-own: 1")
    async with raw, running(tmp_path, raw.settings()) as gateway:
        answer = await gateway.http.post(
            "/chat/completions?api-version=1&token=secret", content=ODD, headers={"x-mine": "2"}
        )
    assert answer.content == REPLY
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.headers["x-own"] == "1"
    assert answer.headers["content-length"] == str(len(REPLY))
    head, _, sent = raw.received.partition(b"\r\n\r\n")
    assert sent == ODD.replace(b'"fake/m"', b'"m"')
    assert head.splitlines()[0] == b"POST /v1/chat/completions?api-version=1 HTTP/1.1"
    assert b"x-mine: 2" in head.lower()


async def test_a_model_that_keeps_its_name_changes_nothing(tmp_path: Path) -> None:
    raw = RawProvider(REPLY)
    content = ODD.replace(b"fake/m", b"m")
    async with raw, running(tmp_path, raw.settings()) as gateway:
        await gateway.http.post("/chat/completions", content=content)
    assert raw.received.endswith(b"\r\n\r\n" + content)


async def test_headers_for_the_gateway_are_not_forwarded(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("a")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        await gateway.chat(
            headers={
                "authorization": "Bearer client-key-1234",
                "cookie": "a=b",
                "x-thread-id": "t",
                "x-run-id": "r",
                "x-label": "l",
                "origin": "http://x",
                "x-forwarded-for": "10.0.0.1",
                "connection": "keep-alive, x-hop",
                "x-hop": "1",
                "openai-organization": "org",
                "accept-encoding": "br, gzip;q=0.5, zstd",
            }
        )
    sent = provider.requests[0].headers
    assert sent["openai-organization"] == "org"
    assert sent["accept-encoding"] == "gzip;q=0.5"
    left = {"authorization", "cookie", "x-thread-id", "x-run-id", "x-label", "origin", "x-hop",
            "x-forwarded-for", "traceparent"}  # fmt: skip
    assert left.isdisjoint(sent)


async def test_the_configured_key_is_used_unless_clients_bring_theirs(
    tmp_path: Path,
) -> None:
    async with FakeProvider([Answer("a")] * 4) as provider:
        own = {"base_url": provider.base_url, "api_key_env": "FAKE_KEY", "models": ["m"]}
        mine = {"authorization": "Bearer client-key-1234"}
        env = {"FAKE_KEY": "profile-key-5678"}
        config = settings().model_validate({"providers": {"fake": own}})
        async with running(tmp_path / "a", config, env=env) as gateway:
            await gateway.chat(headers=mine)
        config = config.model_validate(
            {"providers": {"fake": own}, "gateway": {"pass_client_keys": True}}
        )
        async with running(tmp_path / "b", config) as gateway:
            await gateway.chat(headers=mine)
            refused = await gateway.chat()
        async with running(tmp_path / "c", config, env=env) as gateway:
            await gateway.chat()
    keys = [request.headers.get("authorization") for request in provider.requests]
    assert keys == ["Bearer profile-key-5678", "Bearer client-key-1234", "Bearer profile-key-5678"]
    assert refused.status_code == 401
    assert "FAKE_KEY" in refused.json()["error"]["message"]
    assert provider.remaining == 1


@pytest.mark.parametrize(
    ("status", "raised"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (404, openai.NotFoundError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
    ],
)
async def test_errors_of_the_provider_are_forwarded_unchanged(
    tmp_path: Path, status: int, raised: type[openai.APIStatusError]
) -> None:
    script = error(status, "no such luck", code="odd", retry_after="7", x_request_id="req-1")
    async with (
        FakeProvider([script]) as provider,
        running(tmp_path, settings(provider)) as gateway,
        client(gateway) as own,
    ):
        with pytest.raises(raised) as caught:
            await own.chat.completions.create(
                model="fake/m", messages=[{"role": "user", "content": "Hi"}]
            )
    assert caught.value.status_code == status
    assert caught.value.response.json()["error"]["message"] == "no such luck"
    assert caught.value.code == "odd"
    assert caught.value.response.headers["retry-after"] == "7"
    assert caught.value.response.headers["x-request-id"] == "req-1"
    assert len(caught.value.response.headers["x-span-id"]) == 16


async def test_answers_that_are_not_json_are_forwarded(tmp_path: Path) -> None:
    page = Script((b"<html>busy</html>",), headers={"content-type": "text/html"})
    binary = Script((b"\x00\xff\xfe",), status=418, headers={"content-type": "image/png"})
    async with (
        FakeProvider([page, binary]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        answers = [await gateway.chat() for _ in range(2)]
        spans = [await gateway.span(answer) for answer in answers]
    assert [(a.status_code, a.content) for a in answers] == [
        (200, b"<html>busy</html>"),
        (418, b"\x00\xff\xfe"),
    ]
    assert answers[1].headers["content-type"] == "image/png"
    assert all(span.tokens.input is None for span in spans)


@pytest.mark.parametrize("split", [None, 3])
async def test_a_huge_decompressed_answer_is_recorded_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split: int | None
) -> None:
    monkeypatch.setattr("treadle.gateway.answers.COPY_LIMIT", 1_000)
    squeezed = gzip.compress(b"a" * 100_000)
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    script = Script((squeezed,), status=500, headers=headers, split=split)
    async with (
        FakeProvider([script]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        answer = await gateway.chat()
        span = await gateway.span(answer)
    assert answer.text == "a" * 100_000
    assert span.output == "a" * 1_000


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
@pytest.mark.parametrize("stream", [False, True])
async def test_compressed_answers_are_forwarded_unchanged_and_recorded(
    tmp_path: Path, encoding: str, stream: bool
) -> None:
    script = Answer("Hello").script(stream=stream)
    plain = b"".join(step for step in script.steps if isinstance(step, bytes))
    squeezed = gzip.compress(plain) if encoding == "gzip" else zlib.compress(plain)
    headers = {**script.headers, "content-encoding": encoding}
    async with (
        FakeProvider([Script((squeezed,), headers=headers, split=11)]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        request = gateway.http.build_request(
            "POST",
            "/chat/completions",
            json={"model": "m", "messages": MESSAGES, "stream": stream},
        )
        answer = await gateway.http.send(request, stream=True)
        raw = b"".join([piece async for piece in answer.aiter_raw()])
        span = await gateway.span(answer)
    assert raw == squeezed
    assert answer.headers["content-encoding"] == encoding
    assert json.loads(span.output or "") == [{"role": "assistant", "content": "Hello"}]
    assert span.tokens.output == 5


async def test_parts_are_forwarded_immediately(tmp_path: Path) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    script = sse(delta(content="one"), Pause(event=first), ": note\n", Pause(event=second),
                 delta(content="two"))  # fmt: skip
    async with FakeProvider([script]) as provider, running(tmp_path, settings(provider)) as gateway:
        values = {"model": "m", "messages": MESSAGES, "stream": True}
        request = gateway.http.build_request("POST", "/chat/completions", json=values)
        answer = await gateway.http.send(request, stream=True)
        pieces = answer.aiter_raw()
        assert b"one" in await anext(pieces)
        first.set()
        assert await anext(pieces) == b": note\n"
        second.set()
        rest = b"".join([piece async for piece in pieces])
    assert b"two" in rest


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_cut_answer_is_cut_for_the_client(
    tmp_path: Path, reset: bool, stream: bool
) -> None:
    script = sse(delta(content="one"), delta(content="two"), Pause(0.05), Cut(reset=reset))
    if not stream:
        script = Script((b'{"choices": [', Pause(0.05), Cut(reset=reset)))
    async with FakeProvider([script]) as provider, running(tmp_path, settings(provider)) as gateway:
        received = list[bytes]()
        answer = await gateway.http.send(
            gateway.http.build_request(
                "POST",
                "/chat/completions",
                json={"model": "m", "messages": MESSAGES, "stream": stream},
            ),
            stream=True,
        )
        with pytest.raises(httpx2.RemoteProtocolError):
            await _read(answer, received)
        span = await gateway.span(answer)
    assert (b"two" if stream else b'{"choices": [') in b"".join(received)
    assert span.status == "error"
    assert span.error
    assert "incomplete" in span.error
    if stream:
        assert json.loads(span.output or "")[0]["content"] == "onetwo"


async def _read(answer: httpx2.Response, received: list[bytes]) -> None:
    async for piece in answer.aiter_raw():
        received.append(piece)  # noqa: PERF401  (what came before it is cut counts)


async def test_a_client_that_leaves_ends_the_request_to_the_provider(tmp_path: Path) -> None:
    script = sse(delta(content="one"), Pause())
    async with (
        FakeProvider([script]) as provider,
        running(tmp_path, settings(provider)) as gateway,
        client(gateway) as own,
    ):
        stream = await own.chat.completions.create(
            model="fake/m", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        assert (await anext(aiter(stream))).choices[0].delta.content == "one"
        await stream.close()
        await asyncio.wait_for(provider.requests[0].hung_up.wait(), 10)
        span = (await gateway.spans(stream.response.headers["x-trace-id"]))[0]
    assert span.status == "cancelled"
    assert json.loads(span.output or "")[0]["content"] == "one"
    assert span.tokens.input is None


async def test_a_client_that_leaves_before_the_answer_ends_the_request(tmp_path: Path) -> None:
    async with (
        FakeProvider([Script(before=(Pause(),))]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        task = asyncio.create_task(gateway.chat())
        await provider.wait_for_requests(1)
        task.cancel()
        await asyncio.wait_for(provider.requests[0].hung_up.wait(), 10)


async def test_concurrent_calls_do_not_mix(tmp_path: Path) -> None:
    def echo(request: Any) -> Answer:
        return Answer(str(request.messages[0]["content"]) * 20, split=13)

    async with (
        FakeProvider([echo] * 60) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):

        async def one(number: int) -> None:
            text = f"<{number}>"
            answer = await gateway.chat(
                messages=[{"role": "user", "content": text}],
                stream=bool(number % 2),
                headers={"x-label": f"n{number}"},
            )
            span = await gateway.span(answer)
            assert json.loads(span.output or "")[0]["content"] == text * 20
            assert json.loads(span.input or "")[0]["content"] == text
            assert span.labels == (f"n{number}",)

        await asyncio.gather(*(one(number) for number in range(60)))


async def test_invalid_requests_are_refused_in_openais_format(tmp_path: Path) -> None:
    async with FakeProvider() as provider:
        config = settings(provider, max_body="10KB")
        async with running(tmp_path, config) as gateway:
            answers = [
                await gateway.http.post("/chat/completions", content=b"{"),
                await gateway.http.post("/chat/completions", json={"messages": []}),
                await gateway.http.post("/chat/completions", content=b"x" * 10_001),
                await gateway.http.post(
                    "/chat/completions", content=b"{}", headers={"content-encoding": "gzip"}
                ),
                await gateway.http.get("/chat/completions"),
                await gateway.http.post("/completions", content=b"{}"),
            ]
    codes = [(a.status_code, a.json()["error"]["code"]) for a in answers]
    assert codes == [
        (400, "invalid_json"),
        (400, "missing_model"),
        (413, "body_too_large"),
        (415, "unsupported_encoding"),
        (404, "not_found"),
        (404, "not_found"),
    ]
    assert provider.requests == []


async def test_an_unreachable_provider_is_a_502(tmp_path: Path) -> None:
    async with FakeProvider() as provider:
        config = settings(provider)
    async with running(tmp_path, config) as gateway:
        answer = await gateway.chat()
        span = await gateway.span(answer)
    assert answer.status_code == 502
    assert answer.json()["error"]["code"] == "connection"
    assert "cannot be reached" in answer.json()["error"]["message"]
    assert span.status == "error"


async def test_a_large_body_is_forwarded_completely(tmp_path: Path) -> None:
    text = "a\n" * 1_000_000
    async with (
        FakeProvider([Answer(text[:3_000_000])]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        answer = await gateway.chat(messages=[{"role": "user", "content": text}])
    assert provider.requests[0].messages[0]["content"] == text
    assert answer.json()["choices"][0]["message"]["content"] == text


async def test_a_provider_without_stream_options_is_called_without(
    tmp_path: Path,
) -> None:
    refusal = error(400, "Unrecognized request argument: stream_options")
    async with (
        FakeProvider([refusal, Answer("a"), Answer("b")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        first = await gateway.chat(stream=True)
        second = await gateway.chat(stream=True)
    assert (first.status_code, second.status_code) == (200, 200)
    has_options = ["stream_options" in request.body for request in provider.requests]
    assert has_options == [True, False, False]


async def test_usage_is_not_requested_if_switched_off(tmp_path: Path) -> None:
    script = sse(delta(content="a"), delta(finish_reason="stop"))
    async with (
        FakeProvider([script]) as provider,
        running(tmp_path, settings(provider, ask_for_usage=False)) as gateway,
    ):
        answer = await gateway.chat(stream=True)
        span = await gateway.span(answer)
    assert "stream_options" not in provider.requests[0].body
    assert answer.content == b"".join(step for step in script.steps if isinstance(step, bytes))
    assert (span.tokens.input, span.tokens.output, span.cost) == (None, None, None)


KEY = "kY7+secret/Q1w2e3r4t5y6"


def with_key(provider: FakeProvider) -> Settings:
    own = {"base_url": provider.base_url, "api_key_env": "OWN", "models": ["m"], "max_retries": 0}
    return settings().model_validate({"providers": {"fake": own}})


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_of_a_provider_is_refused(tmp_path: Path, status: int) -> None:
    elsewhere = f"http://127.0.0.1:1/v1?key={KEY}"
    moved = Script((b"{}",), status, {"location": elsewhere})
    async with (
        FakeProvider([moved]) as provider,
        running(tmp_path, with_key(provider), env={"OWN": KEY}) as gateway,
    ):
        answer = await gateway.chat()
    assert answer.status_code == 502
    assert "redirects requests to 'http://127.0.0.1:1'" in answer.json()["error"]["message"]
    assert "location" not in answer.headers
    assert KEY not in answer.text


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
async def test_the_providers_key_is_removed_from_errors(tmp_path: Path, encoding: str) -> None:
    spelled = [
        KEY, quote(KEY, safe=""), KEY.encode().hex(), b64encode(f"Bearer {KEY}".encode()).decode()
    ]  # fmt: skip
    said = json.dumps({"error": {"message": f"Incorrect key: {' '.join(spelled)}"}}).encode()
    packed = {"": said, "gzip": gzip.compress(said), "deflate": zlib.compress(said)}[encoding]
    headers = {"content-type": "application/json", "x-key": KEY}
    if encoding:
        headers["content-encoding"] = encoding
    half = len(packed) // 2
    failed = Script((packed[:half], packed[half:]), 401, headers)
    async with (
        FakeProvider([failed]) as provider,
        running(tmp_path, with_key(provider), env={"OWN": KEY}) as gateway,
    ):
        answer = await gateway.chat(headers={"accept-encoding": "gzip, deflate"})
    assert answer.status_code == 401
    message = answer.json()["error"]["message"]
    assert message.startswith("Incorrect key: [redacted")
    assert not [each for each in spelled if each[8:-4] in message]
    assert KEY not in str(answer.headers)


async def test_an_endless_line_is_forwarded_as_it_arrives(tmp_path: Path) -> None:
    part = b"x" * 100_000
    endless = Script(
        (b"data: ", *[part] * 20, Pause()),
        headers={"content-type": "text/event-stream"},
    )
    body = {"model": "fake/m", "messages": MESSAGES, "stream": True}
    seen = 0
    async with (
        FakeProvider([endless]) as provider,
        running(tmp_path, settings(provider)) as gateway,
        gateway.http.stream("POST", "/chat/completions", json=body) as answer,
    ):
        async for piece in answer.aiter_raw():
            seen += len(piece)
            if seen >= 20 * len(part):
                break
    assert seen == 20 * len(part) + len("data: ")


def test_the_usage_after_a_long_line_is_removed() -> None:
    usage = b'data: {"choices": [], "usage": {"total_tokens": 1}}\n\n'
    for long in (b"x" * 70_000, b"x" * 200_000):
        for size in (1_000, 65_000, 70_001, 1_000_000):
            stream = b"data: " + long + b"\n\n" + usage + b"data: [DONE]\n\n"
            filtering = UsageFilter()
            parts = [filtering.feed(stream[at : at + size]) for at in range(0, len(stream), size)]
            assert b"".join([*parts, filtering.end()]) == stream.replace(usage, b"")


async def test_interim_answers_without_end_are_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hint(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"HTTP/1.1 103 Early Hints\r\nx: y\r\n\r\n")
                await writer.drain()
                await asyncio.sleep(0)

    monkeypatch.setattr(upstream, "_WHOLE_FACTOR", 1)
    async with await asyncio.start_server(hint, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        own = {
            "base_url": f"http://127.0.0.1:{port}/v1", "models": ["m"], "max_retries": 0,
            "idle_timeout": 0.1, "connect_timeout": 0.1,
        }  # fmt: skip
        config = settings().model_validate({"providers": {"fake": own}})
        async with running(tmp_path, config) as gateway:
            answer = await gateway.chat(stream=True)
    assert answer.status_code == 504


class RawProvider:
    """Answers one request with given bytes, and records the bytes that it received."""

    def __init__(self, content: bytes, headers: str = "content-type: application/json") -> None:
        self._content = content
        self._headers = headers
        self.received = b""

    def settings(self) -> Any:
        port = self._server.sockets[0].getsockname()[1]
        own = {"base_url": f"http://127.0.0.1:{port}/v1", "models": ["m"], "max_retries": 0}
        return settings().model_validate({"providers": {"fake": own}})

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = dict(
            line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line
        )
        self.received = head + await reader.readexactly(int(lines[b"content-length"]))
        length = f"content-length: {len(self._content)}"
        answer = f"HTTP/1.1 200 OK\r\n{self._headers}\r\n{length}\r\n\r\n".encode()
        writer.write(answer + self._content)
        await writer.drain()
        writer.close()
