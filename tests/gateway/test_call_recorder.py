"""Every call becomes a span with its request, its answer and its use."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call, Cut, Pause, Script, body, delta, error, sse, usage
from tests.gateway.running import MESSAGES, eventually, running, settings
from treadle.errors import StoreError
from treadle.events.types import Notice, Usage
from treadle.spans.raw_span import RawSpan
from treadle.spans.span import CostSource, Span
from treadle.spans.span_writer import StoreBusyError
from treadle.spans.vocabularies.mapper import to_span
from treadle.traces.query import GroupBy

KEY = {"OPENAI_API_KEY": "sk-test-of-embeddings"}
TOOL: Any = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}


async def test_a_complete_answer_is_recorded(tmp_path: Path) -> None:
    reply = Answer("Hello", usage=usage(100, 20, prompt_tokens_details={"cached_tokens": 60}))
    async with FakeProvider([reply]) as provider, running(tmp_path, settings(provider)) as gateway:
        answer = await gateway.chat(
            temperature=0.2,
            max_tokens=99,
            stop="x",
            vendor_thing={"a": 1},
            headers={"x-thread-id": "thread 1", "x-run-id": "run/1", "x-label": "b, a,,b"},
        )
        span = await gateway.span(answer)
    assert (span.kind, span.operation, span.name) == ("model", "chat", "chat m")
    assert (span.status, span.error, span.provider) == ("ok", None, "fake")
    assert json.loads(span.input or "") == MESSAGES
    assert json.loads(span.output or "") == [{"role": "assistant", "content": "Hello"}]
    assert span.tokens == Usage(input=100, output=20, cached=60)
    assert (span.thread_id, span.run_id, span.labels) == ("thread 1", "run/1", ("a", "b"))
    assert span.parent_id is None
    said = span.attributes
    assert said["gen_ai.request.temperature"] == 0.2
    assert said["gen_ai.request.max_tokens"] == 99
    assert said["gen_ai.request.stop_sequences"] == ["x"]
    assert said["treadle.request.vendor_thing"] == '{"a": 1}'
    assert said["gen_ai.request.model"] == "m"
    assert said["gen_ai.response.model"] == "fake-model"
    assert said["gen_ai.response.id"] == "chatcmpl-1"
    assert said["gen_ai.response.finish_reasons"] == ["stop"]
    assert span.end_us is not None
    assert span.end_us >= span.start_us


async def test_a_stream_with_tools_shows_tools_usage_and_time_to_first_token(
    tmp_path: Path,
) -> None:
    calls = [Call("add", {"a": 1}, id="one"), Call("add", {"a": 2}, id="two")]
    reply = Answer("Hi", calls=calls, reasoning="Hm", usage=usage(7, 3), split=5)
    async with FakeProvider([reply]) as provider, running(tmp_path, settings(provider)) as gateway:
        answer = await gateway.chat(stream=True, tools=[TOOL])
        span = await gateway.span(answer)
    (message,) = json.loads(span.output or "")
    assert message["content"] == "Hi"
    assert message["reasoning_content"] == "Hm"
    assert [(c["id"], c["function"]) for c in message["tool_calls"]] == [
        ("one", {"name": "add", "arguments": '{"a": 1}'}),
        ("two", {"name": "add", "arguments": '{"a": 2}'}),
    ]
    assert span.tokens == Usage(input=7, output=3)
    assert json.loads(str(span.attributes["gen_ai.tool.definitions"])) == [TOOL]
    assert span.attributes["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert span.time_to_first_token_us is not None
    assert 0 < span.time_to_first_token_us <= (span.duration_us or 0)


async def test_several_choices_are_recorded_separately(tmp_path: Path) -> None:
    def chunk(index: int, text: str) -> dict[str, Any]:
        made: Any = delta(content=text)
        made["choices"][0]["index"] = index
        return made  # type: ignore[no-any-return]  # a chunk is JSON

    script = sse(chunk(0, "a"), chunk(1, "x"), chunk(0, "b"), chunk(1, "y"))
    async with FakeProvider([script]) as provider, running(tmp_path, settings(provider)) as gateway:
        span = await gateway.span(await gateway.chat(stream=True, n=2))
    assert [m["content"] for m in json.loads(span.output or "")] == ["ab", "xy"]


async def test_unknown_usage_is_not_recorded_as_zero(tmp_path: Path) -> None:
    script = sse(delta(content="a"), delta(finish_reason="stop"))
    async with FakeProvider([script]) as provider, running(tmp_path, settings(provider)) as gateway:
        span = await gateway.span(await gateway.chat(stream=True))
    assert span.tokens == Usage()
    assert (span.cost, span.cost_source) == (None, None)


async def test_costs_are_exact(tmp_path: Path) -> None:
    cached = {"cached_tokens": 400_000}
    reply = Answer("a", usage=usage(1_000_000, 100_000, prompt_tokens_details=cached))
    told = Answer("a", usage=usage(1, 1, cost=0.25))
    async with FakeProvider([reply, told, reply, reply]) as provider:
        config = settings(provider, provider, names=("openai", "fake"))
        config = config.model_validate(config.model_dump(exclude_unset=True))
        async with running(tmp_path, config, env={"OPENAI_API_KEY": "sk-test-0123456789"}) as own:
            spans = [
                await own.span(await own.chat(model=model))
                for model in ("openai/gpt-4o", "fake/m", "openai/no-such", "fake/gpt-4o")
            ]
    # $2.50 and $10 for a million in and out, $1.25 for cached ones.
    assert spans[0].cost == pytest.approx(0.6 * 2.5 + 0.4 * 1.25 + 0.1 * 10)
    assert spans[0].cost_source is CostSource.PRICES
    assert (spans[1].cost, spans[1].cost_source) == (0.25, CostSource.REPORTED)
    assert (spans[2].cost, spans[3].cost) == (None, None)


async def test_the_responses_api_is_recorded_whole_and_streamed(tmp_path: Path) -> None:
    message = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hello"}],
    }
    called = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}
    whole = {
        "id": "resp_1",
        "object": "response",
        "model": "m-1",
        "status": "completed",
        "output": [thought, message, called],
        "usage": {
            "input_tokens": 30,
            "output_tokens": 12,
            "input_tokens_details": {"cached_tokens": 10},
            "output_tokens_details": {"reasoning_tokens": 5},
        },
    }
    streamed = sse(
        {"type": "response.created", "response": {"id": "resp_1", "model": "m-1", "output": []}},
        {"type": "response.output_text.delta", "delta": "Hel"},
        {"type": "response.output_text.delta", "delta": "lo"},
        {"type": "response.completed", "response": whole},
        done=False,
    )
    cut = sse(
        {"type": "response.created", "response": {"id": "resp_1", "model": "m-1", "output": []}},
        {"type": "response.output_text.delta", "delta": "Hel"},
        done=False,
    )
    request = {
        "model": "fake/m",
        "instructions": "Be kind.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "function_call", "call_id": "c0", "name": "add", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c0", "output": "3"},
        ],
        "tools": [{"type": "function", "name": "add", "parameters": {}}],
        "conversation": {"id": "conv_1"},
    }
    async with (
        FakeProvider([body(whole), streamed, cut]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        spans = []
        for stream in (False, True, True):
            answer = await gateway.http.post("/responses", json={**request, "stream": stream})
            spans.append(await gateway.span(answer))
    for span in spans[:2]:
        assert (span.kind, span.operation, span.model) == ("model", "chat", "m-1")
        assert span.attributes["openai.api.type"] == "responses"
        assert span.tokens == Usage(input=30, output=12, cached=10, reasoning=5)
        assert json.loads(span.input or "") == [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c0", "type": "function", "function": {"name": "add", "arguments": "{}"}}
                ],
            },
            {"role": "tool", "tool_call_id": "c0", "content": "3"},
        ]
        assert json.loads(span.output or "") == [
            {
                "role": "assistant",
                "content": "Hello",
                "reasoning_content": "Hm",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
                ],
            }
        ]
        assert span.thread_id == "conv_1"
        assert span.attributes["gen_ai.response.finish_reasons"] == ["completed"]
    assert spans[0].time_to_first_token_us is None
    assert spans[1].time_to_first_token_us is not None
    assert json.loads(spans[2].output or "")[0]["content"] == "Hel"
    assert spans[2].tokens == Usage()


async def test_embeddings_are_recorded(tmp_path: Path) -> None:
    vectors = [{"index": i, "embedding": [0.1] * 8} for i in range(2)]
    reply = {"data": vectors, "model": "e-1", "usage": {"prompt_tokens": 9, "total_tokens": 9}}
    async with (
        FakeProvider([body(reply)]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        answer = await gateway.http.post(
            "/embeddings", json={"model": "fake/m", "input": ["one", "two"]}
        )
        span = await gateway.span(answer)
    assert answer.json() == reply
    assert (span.kind, span.operation) == ("embedding", "embeddings")
    assert json.loads(span.input or "") == ["one", "two"]
    assert json.loads(span.output or "") == {"embeddings": 2, "dimensions": 8}
    assert span.tokens == Usage(input=9, output=0)


async def test_embedding_has_a_cost_in_every_sum(tmp_path: Path) -> None:
    reply = {
        "data": [{"index": 0, "embedding": [0.1]}],
        "model": "text-embedding-3-small",
        "usage": {"prompt_tokens": 1_000_000, "total_tokens": 1_000_000},
    }
    async with (
        FakeProvider([body(reply)]) as provider,
        running(tmp_path, settings(provider, names=("openai",)), env=KEY) as gateway,
    ):
        answer = await gateway.http.post(
            "/embeddings", json={"model": "openai/text-embedding-3-small", "input": "a text"}
        )
        span = await gateway.span(answer)
        groups = gateway.store.groups(GroupBy.MODEL).data
    assert (span.cost, span.cost_source) == (0.02, CostSource.PRICES)
    assert [(group.value, group.sums.totals.cost) for group in groups] == [
        ("text-embedding-3-small", 0.02)
    ]


@pytest.mark.parametrize(
    ("header", "taken"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", True),
        ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-more", True),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", False),
        ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", False),
        ("00-00000000000000000000000000000000-b7ad6b7169203331-01", False),
        ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", False),
        ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", False),
        ("nonsense", False),
    ],
)
async def test_the_trace_of_the_client_is_continued(
    tmp_path: Path, header: str, taken: bool
) -> None:
    async with (
        FakeProvider([Answer("a")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        answer = await gateway.chat(headers={"traceparent": header})
        span = await gateway.span(answer)
    sent = provider.requests[0].headers.get("traceparent")
    if taken:
        assert (span.trace_id, span.parent_id) == tuple(header.split("-")[1:3])
        assert sent == f"00-{span.trace_id}-{span.span_id}-01"
    else:
        assert span.parent_id is None
        assert span.trace_id != header[3:35]
        assert sent is None


async def test_failures_are_recorded_with_their_reason(tmp_path: Path) -> None:
    broken = sse(delta(content="a"), {"error": {"message": "overloaded", "code": 503}})
    async with (
        FakeProvider([error(429, "slow down"), broken]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        refused = await gateway.span(await gateway.chat())
        within = await gateway.span(await gateway.chat(stream=True))
    assert refused.status == "error"
    assert refused.error == "fake limits the rate (429): slow down."
    assert refused.attributes["error.type"] == "rate_limit"
    assert refused.attributes["http.response.status_code"] == 429
    assert within.status == "error"
    assert within.error
    assert "overloaded" in within.error
    assert json.loads(within.output or "")[0]["content"] == "a"


async def test_refusals_of_our_own_are_recorded(tmp_path: Path) -> None:
    async with FakeProvider() as provider, running(tmp_path, settings(provider)) as gateway:
        answer = await gateway.chat(model="no-such", headers={"x-label": "l"})
        span = await gateway.span(answer)
    assert (span.status, span.labels) == ("error", ("l",))
    assert span.error == "There is no model 'no-such'."


def _all_bytes(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())


async def test_no_key_is_recorded(tmp_path: Path) -> None:
    key, other = "client-key-without-shape", "sk-proj-" + "Ab1" * 14
    said = error(401, f"Incorrect API key provided: {key}")
    answer_ = Answer(f"your key is {other}")
    async with FakeProvider([said, answer_]) as provider:
        config = settings(provider, pass_client_keys=True)
        async with running(tmp_path, config) as gateway:
            for _ in range(2):
                answer = await gateway.chat(headers={"authorization": f"Bearer {key}"})
                await gateway.span(answer)
            counts = gateway.store.redactions()
    files = await asyncio.to_thread(_all_bytes, tmp_path)
    assert key.encode() not in files
    assert other.encode() not in files
    assert sum(counts.values()) >= 1


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({"authorization": "client-key"}, ""),
        ({"x-api-key": "client-key"}, ""),
        ({"x-goog-api-key": "client-key"}, ""),
        ({"api-key": "client-key"}, ""),
        ({}, "?key=client-key"),
        ({}, "?alt=sse&API_KEY=client-key"),
        ({}, "?api-key=client%2Dkey"),
        ({}, "?k%65y=client-key"),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/chat/completions", "/embeddings", "/images/generations"])
async def test_key_in_any_place_is_neither_recorded_nor_sent_in_the_url(
    tmp_path: Path, headers: dict[str, str], query: str, path: str
) -> None:
    values = {"model": "fake/m", "messages": MESSAGES, "input": "Hi", "prompt": "Hi"}
    said = error(401, "Incorrect API key provided: client-key")
    async with (
        FakeProvider([said], strict=False) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        answer = await gateway.http.post(path + query, json=values, headers=headers)
        await gateway.span(answer)
    assert b"client-key" not in await asyncio.to_thread(_all_bytes, tmp_path)
    assert "client" not in provider.requests[0].path


class BrokenStore:
    """A store that fails to write."""

    def __init__(self, problem: Exception) -> None:
        self.problem: Exception | None = problem
        self.raises = False

    def write(
        self, spans: Sequence[Span], *, redacted: Mapping[str, int] | None = None
    ) -> Future[None]:
        done: Future[None] = Future()
        if self.problem is None:
            done.set_result(None)
            return done
        if self.raises:
            raise self.problem
        done.set_exception(self.problem)
        return done


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("problem", [StoreError("The disk is full."), StoreBusyError("Too much.")])
async def test_calls_are_answered_if_nothing_can_be_recorded(
    tmp_path: Path, problem: StoreError, raises: bool
) -> None:
    async with (
        FakeProvider([Answer("a")] * 6) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        store = BrokenStore(problem)
        store.raises = raises
        gateway.gateway._recorder._store = store  # the store fails from now on
        notices = gateway.bus.subscribe(Notice)
        for _ in range(3):
            assert (await gateway.chat()).json()["choices"][0]["message"]["content"] == "a"
        envelope = await asyncio.wait_for(anext(notices), 10)
        await eventually(lambda: gateway.gateway.health().unrecorded == 3)
        health = gateway.gateway.health()
        notices.close()
    assert health.calls == 3
    assert health.unrecorded == 3
    assert health.reason == problem.message
    assert isinstance(envelope.event, Notice)
    assert problem.message in envelope.event.text


async def test_without_a_store_the_loss_is_counted(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("a")]) as provider,
        running(tmp_path, settings(provider), recording=False) as gateway,
    ):
        assert (await gateway.chat()).status_code == 200
        await eventually(lambda: gateway.gateway.health().unrecorded == 1)


async def test_recording_never_delays_an_answer(tmp_path: Path) -> None:
    """The recorder is blocked; calls are answered nevertheless."""
    async with (
        FakeProvider([Answer("a")] * 3) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        recorder = gateway.gateway._recorder
        with recorder._lock:
            recorder._waiting = 10**12
        answers = [await gateway.chat() for _ in range(3)]
        loss = recorder.loss
    assert [answer.status_code for answer in answers] == [200] * 3
    assert loss is not None
    assert loss.count == 3


async def test_numbers_outside_json_are_recorded_as_text(tmp_path: Path) -> None:
    content = b'{"model": "m", "messages": [], "temperature": NaN, "top_p": 1e999}'
    async with (
        FakeProvider([Answer("a")], strict=False) as provider,
        running(tmp_path, settings(provider)) as on,
    ):
        span = await on.span(await on.http.post("/chat/completions", content=content))
    assert span.attributes["gen_ai.request.temperature"] == "NaN"
    assert span.attributes["gen_ai.request.top_p"] == "Infinity"


@pytest.mark.parametrize(
    "content",
    [
        b'{"choices": 7}', b'{"choices": [null, {"message": 5}]}',
        b'{"usage": "x", "choices": []}',
        b"[1, 2]", b'"text"', b"{" * 50_000,
        b'{"choices": [{"message": {"tool_calls": {"a": 1}}}]}',
        b'{"usage": {"prompt_tokens": -5, "completion_tokens": 1e400}, "choices": [{}]}', b"",
        b'{"usage": {"prompt_tokens": 1%b, "cost": 1%b}}' % (b"0" * 40, b"0" * 400),
        b'{"usage": {"cost": 1e300}, "choices": [{}]}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/chat/completions", "/responses", "/embeddings"])
@pytest.mark.parametrize("stream", [False, True])
async def test_unusual_answers_are_forwarded_and_recorded(
    tmp_path: Path, content: bytes, path: str, stream: bool
) -> None:
    kind = "text/event-stream" if stream else "application/json"
    sent = b"data: " + content + b"\n\n" if stream else content
    script = Script((sent,), headers={"content-type": kind})
    async with (
        FakeProvider([script]) as provider,
        running(tmp_path, settings(provider, ask_for_usage=False)) as gateway,
    ):
        answer = await gateway.http.post(
            path, json={"model": "m", "messages": MESSAGES, "input": "a", "stream": stream}
        )
        span = await gateway.span(answer)
        health = gateway.gateway.health()
    assert answer.content == sent
    assert span.cost is None
    assert health.unrecorded == 0


async def test_the_columns_are_those_that_the_vocabulary_derives(tmp_path: Path) -> None:
    """An exporter that sends the same attributes gets the same columns."""
    async with (
        FakeProvider([Answer("a")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        span = await gateway.span(await gateway.chat())
    assert span.start_ns is not None
    raw = RawSpan(
        trace_id=span.trace_id,
        span_id=span.span_id,
        name=span.name,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        attributes=dict(span.attributes),
        resource=span.resource,
    )
    assert replace(to_span(raw), input=span.input, output=span.output) == span


async def test_running_calls_are_recorded_as_interrupted_at_the_end(tmp_path: Path) -> None:
    async with (
        FakeProvider([Script(before=(Pause(),))]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        task = asyncio.create_task(gateway.chat())
        await provider.wait_for_requests(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await eventually(
            lambda: [each.status for each in gateway.store.spans().data] == ["cancelled"]
        )


async def test_usage_in_a_choice_of_a_stream_is_recorded(tmp_path: Path) -> None:
    """earendil-works/pi#2017: Moonshot reports usage there and nowhere else."""
    last = delta(finish_reason="stop")
    last["choices"] = [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage(100, 20)}]
    script = sse(delta(content="Hi"), last)
    async with FakeProvider([script]) as provider, running(tmp_path, settings(provider)) as gateway:
        span = await gateway.span(await gateway.chat(stream=True))
    assert span.tokens == Usage(input=100, output=20)


METADATA = {"session_id": "session 1", "tenant": "acme", "release": "1.4"}


async def test_user_thread_and_metadata_of_a_request_are_recorded(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("a")] * 4) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        named = await gateway.span(await gateway.chat(user="alice", metadata=METADATA))
        header = await gateway.span(
            await gateway.chat(metadata=METADATA, headers={"x-thread-id": "thread 1"})
        )
        safety = await gateway.span(
            await gateway.chat(safety_identifier="hash 1", prompt_cache_key="not a user")
        )
        cached = await gateway.span(await gateway.chat(prompt_cache_key="not a user"))
    assert (named.user, named.thread_id, named.release) == ("alice", "session 1", "1.4")
    assert named.metadata == {"tenant": "acme"}
    assert (header.thread_id, header.user) == ("thread 1", None)
    assert (safety.user, cached.user, cached.release) == ("hash 1", None, None)


async def test_user_of_a_refused_call_is_recorded(tmp_path: Path) -> None:
    async with FakeProvider() as provider, running(tmp_path, settings(provider)) as gateway:
        answer = await gateway.chat(model="unknown", user="alice", metadata=METADATA)
        span = await gateway.span(answer)
    assert answer.status_code == 404
    assert (span.user, span.thread_id, span.metadata) == ("alice", "session 1", {"tenant": "acme"})


@pytest.mark.parametrize(
    ("user_id", "user", "thread"),
    [
        ("customer 7", "customer 7", None),
        ("user_0a1b_account_11-22_session_33-44", "user_0a1b_account_11-22", "33-44"),
        ('{"device_id": "d", "account_uuid": "", "session_id": "s"}', "d", "s"),
        ('{"broken', '{"broken', None),
    ],
)
async def test_user_id_of_anthropic_is_the_user(
    tmp_path: Path, user_id: str, user: str, thread: str | None
) -> None:
    async with (
        FakeProvider([Answer("a")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        span = await gateway.span(await gateway.chat(metadata={"user_id": user_id}))
    assert (span.user, span.thread_id) == (user, thread)


async def test_breakpoint_holds_the_thread_that_the_metadata_names(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("a")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        await gateway.gateway.breakpoints.add(
            thread_id="session 1", timeout=0.01, on_expiry="refuse"
        )
        held = await gateway.chat(metadata=METADATA)
        passed = await gateway.chat(metadata={"session_id": "session 2"})
    assert (held.status_code, passed.status_code) == (403, 200)


async def test_key_of_the_client_is_not_recorded_as_user_or_metadata(tmp_path: Path) -> None:
    key = "client-key-of-nobody"
    async with (
        FakeProvider([Answer("a")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        answer = await gateway.chat(
            user=key,
            metadata={"key": f"it is {key}"},
            headers={"authorization": f"Bearer {key}"},
        )
        span = await gateway.span(answer)
    assert (span.user, span.metadata) == ("[redacted:key]", {"key": "it is [redacted:key]"})


async def test_cut_stream_has_marked_estimates_instead_of_tokens(tmp_path: Path) -> None:
    words = delta(content="a few words of an answer")
    cut = sse(words, Cut(), done=False)
    left = sse(words, Pause(), done=False)
    async with (
        FakeProvider([cut, left, Answer("a")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        with pytest.raises(httpx2.HTTPError):
            await gateway.chat(stream=True, user="cut")
        body = {"model": "m", "messages": MESSAGES, "stream": True, "user": "left"}
        async with gateway.http.stream("POST", "/chat/completions", json=body) as answer:
            async for _ in answer.aiter_bytes():
                break
        await gateway.span(await gateway.chat(stream=True, user="whole"))
        await eventually(lambda: len(gateway.store.spans().data) == 3)
        found = {}
        for short in gateway.store.spans().data:
            (span,) = gateway.store.trace(short.trace_id).spans
            found[span.user] = span
        totals = gateway.store.groups(GroupBy.MODEL).data
    assert (found["cut"].status, found["left"].status) == ("error", "cancelled")
    for user in ("cut", "left"):
        assert found[user].tokens == Usage()
        assert found[user].cost is None
        assert 5 <= int(str(found[user].attributes["treadle.estimate.output_tokens"])) <= 40
        assert int(str(found[user].attributes["treadle.estimate.input_tokens"])) > 0
    assert not [name for name in found["whole"].attributes if "estimate" in name]
    assert sum(group.sums.totals.tokens.output or 0 for group in totals) == 5
