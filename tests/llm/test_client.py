import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from email.utils import formatdate

import pytest

from tests.fakes.clock import FakeClock, HastyClock
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import (
    Answer,
    Call,
    Cut,
    Pause,
    Script,
    body,
    call_delta,
    comment,
    delta,
    error,
    sse,
    usage,
    usage_chunk,
)
from tests.llm.asking import HISTORY, REQUEST, Asked, ask, fail
from tests.llm.recording import RecordingObserver
from treadle.config.model import ProviderSettings
from treadle.events.types import CallKey, Usage
from treadle.llm.endpoint import Endpoint
from treadle.llm.provider_errors import FaultKind, ProviderError
from treadle.llm.reply_assembler import DeltaAssembler
from treadle.llm.reply_stream import IdleWatchdog, ReplyReader

NO_TOOLS = error(404, "No endpoints found that support tool use.", code=404)


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as provider:
        yield provider


@pytest.mark.parametrize("stream", [True, False])
async def test_a_reply_with_text_calls_and_usage(provider: FakeProvider, stream: bool) -> None:
    answer = Answer(
        "Let me look.",
        calls=[Call("grep", {"pattern": "x"}), Call("grep", {"pattern": "y"})],
        reasoning="hm",
        usage=usage(20, 7, cost=0.5),
        split=3,
    )
    reply, asked = await ask(provider, answer, request=replace(REQUEST, stream=stream))
    assert reply.message.text == asked.observer.text == "Let me look."
    assert reply.message.reasoning == asked.observer.reasoning == "hm"
    assert [(c.key, c.call_id, json.loads(c.arguments)) for c in reply.message.calls] == [
        (CallKey(2, 0), "call_0", {"pattern": "x"}),
        (CallKey(2, 1), "call_1", {"pattern": "y"}),
    ]
    assert (reply.message.provider, reply.message.model) == ("fake", "m")
    assert (reply.usage, reply.cost) == (Usage(input=20, output=7), 0.5)
    assert reply.finish_reason == "tool_calls"
    assert reply.time_to_first_token is not None
    (started,), (finished,) = asked.observer.started, asked.observer.finished
    assert (started.attempt, started.messages, started.tools) == (1, 2, 1)
    assert json.loads(started.input_text) == provider.requests[0].messages
    assert (finished.operation_id, finished.reply) == (started.operation_id, reply)


async def test_what_is_sent(provider: FakeProvider) -> None:
    await ask(provider, Answer("Hi"), preferences={"order": ["a"]}, max_output_tokens=99)
    sent = provider.requests[0]
    assert sent.headers["authorization"] == "Bearer sk-secret-key-of-mine"
    assert sent.body["stream_options"] == {"include_usage": True}
    assert sent.body["provider"] == {"order": ["a"]}
    assert sent.body["max_tokens"] == 99
    assert sent.tool_names == ["grep"]


async def test_preferences_go_only_with_tools(provider: FakeProvider) -> None:
    request = replace(REQUEST, tools=())
    await ask(provider, Answer("Hi"), request=request, preferences={"order": ["a"]})
    assert "provider" not in provider.requests[0].body
    assert "tools" not in provider.requests[0].body


async def test_an_unknown_price_is_none(provider: FakeProvider) -> None:
    reply, _ = await ask(provider, Answer("Hi"))
    assert reply.cost is None


@pytest.mark.parametrize("streamed_unasked", [True, False])
async def test_a_server_may_stream_unasked_or_not_when_asked(
    provider: FakeProvider, streamed_unasked: bool
) -> None:
    script = Answer("Hi").script(stream=streamed_unasked)
    reply, _ = await ask(provider, script, request=replace(REQUEST, stream=not streamed_unasked))
    assert reply.message.text == "Hi"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "content",
    [
        {"error": {"message": "upstream", "code": 502}},
        {"id": "x", "choices": None},
        {"id": "x"},
        {"choices": []},
    ],
)
async def test_t12_a_200_that_holds_an_error_is_retried(
    provider: FakeProvider, stream: bool, content: object
) -> None:
    provider.add(body(content), Answer("Hi"))
    asked = Asked(provider, HastyClock())
    reply = await asked(replace(REQUEST, stream=stream))
    assert reply.message.text == "Hi"
    assert [retry[0] for retry in asked.observer.retries] == [2]
    await asked.model.close()


async def test_t12_a_200_with_a_final_error_is_final(provider: FakeProvider) -> None:
    caught, _ = await fail(
        provider, body({"error": {"message": "bad", "code": 400}}), max_retries=3
    )
    assert (caught.status, caught.kind) == (400, FaultKind.BAD_REQUEST)


async def test_t13_a_model_without_tools_is_remembered(provider: FakeProvider) -> None:
    provider.add(NO_TOOLS, Answer("Hi"), Answer("Again"))
    asked = Asked(provider, FakeClock())
    reply = await asked(HISTORY)
    assert reply.message.text == "Hi"
    assert [change for _, change in asked.observer.fallbacks] == [
        "trying without tools; earlier results are sent as text"
    ]
    assert asked.observer.retries == []
    flat = provider.requests[1]
    assert "tools" not in flat.body
    assert [message["role"] for message in flat.messages] == ["system", "user"]
    assert "found it" in str(flat.messages[-1]["content"])
    await asked(REQUEST)
    assert "tools" not in provider.requests[2].body
    assert len(asked.observer.fallbacks) == 1
    await asked.model.close()


async def test_t13_a_second_404_is_final(provider: FakeProvider) -> None:
    caught, asked = await fail(provider, NO_TOOLS, NO_TOOLS, max_retries=3)
    assert (caught.kind, caught.status) == (FaultKind.NO_TOOLS, 404)
    assert len(provider.requests) == 2
    assert asked.observer.retries == []


async def test_t13_strict_fails_at_once(provider: FakeProvider) -> None:
    caught, _ = await fail(provider, NO_TOOLS, tools_fallback="strict")
    assert caught.kind is FaultKind.NO_TOOLS
    assert caught.hint is not None
    assert "--no-tools" in caught.hint


async def test_any_other_404_is_final(provider: FakeProvider) -> None:
    caught, asked = await fail(provider, error(404, "no such model"), max_retries=3)
    assert caught.kind is FaultKind.UNKNOWN_MODEL
    assert asked.observer.fallbacks == []


@pytest.mark.parametrize(("setting", "first", "second"), [("null", None, ""), ("empty", "", None)])
async def test_t15_the_form_of_missing_text_is_learned_once(
    provider: FakeProvider, setting: str, first: str | None, second: str | None
) -> None:
    provider.add(error(400, "messages[2].content: invalid"), Answer("Hi"), Answer("Again"))
    asked = Asked(provider, FakeClock(), empty_content=setting)
    await asked(HISTORY)
    await asked(HISTORY)
    contents = [request.messages[2]["content"] for request in provider.requests]
    assert contents == [first, second, second]
    assert len(asked.observer.fallbacks) == 1
    await asked.model.close()


async def test_t15_a_second_400_is_final(provider: FakeProvider) -> None:
    refusal = error(400, "content is invalid")
    caught, _ = await fail(provider, refusal, refusal, request=HISTORY, max_retries=3)
    assert caught.status == 400


async def test_t16_comments_are_skipped(provider: FakeProvider) -> None:
    script = sse(comment(), ":\n\n", delta(content="Hi"), comment(), delta(finish_reason="stop"))
    reply, _ = await ask(provider, script)
    assert reply.message.text == "Hi"


async def test_t16_a_data_line_with_invalid_json_is_a_protocol_error(
    provider: FakeProvider,
) -> None:
    caught, _ = await fail(provider, sse("data: : PROCESSING\n\n", delta(content="Hi")))
    assert caught.kind is FaultKind.PROTOCOL
    assert "PROCESSING" in caught.message


async def test_t17_only_data_keeps_a_stream_alive(provider: FakeProvider) -> None:
    provider.add(sse(delta(content="Hi"), *(comment(), Pause(0.005)) * 400))
    clock = FakeClock()
    asked = Asked(provider, clock, idle_timeout=60, max_retries=0)
    task = asyncio.ensure_future(asked())
    await asked.observer.until(lambda: asked.observer.text)
    await clock.advance(1.5)
    assert asked.observer.waits == []
    await clock.advance(1)
    assert ["still queues" in text for text in asked.observer.waits] == [True]
    await clock.advance(53.5)
    assert not task.done()
    await clock.advance(5)
    with pytest.raises(ProviderError, match="no data for 60 s") as caught:
        await task
    assert caught.value.kind is FaultKind.STALLED
    assert caught.value.retryable
    await asyncio.wait_for(provider.requests[0].hung_up.wait(), 5)
    await asked.model.close()


class _Drip:
    """A response of 200 chunks, 30 seconds apart."""

    def __init__(self, clock: FakeClock, chunk: str) -> None:
        self.headers = {"content-type": "text/event-stream"}
        self._clock = clock
        self._chunk = f"data: {chunk}\n\n".encode()

    async def iter_bytes(self) -> AsyncIterator[bytes]:
        for _ in range(200):
            await self._clock.advance(30)
            yield self._chunk


@pytest.mark.parametrize(
    "chunk",
    [
        '{"choices": []}',
        '{"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}',
        '{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": ""}}]}}]}',
        '{"choices": [{"delta": {}, "finish_reason": null}], "usage": {"prompt_tokens": 9}}',
    ],
)
async def test_data_that_adds_nothing_keeps_a_stream_alive_for_a_bounded_time(chunk: str) -> None:
    clock = FakeClock()
    started = clock.monotonic()
    reader, watchdog = reader_and_watchdog(clock)
    with pytest.raises(TimeoutError):
        async for _ in reader.read(_Drip(clock, chunk), streamed=True):
            pass
    assert 570 <= clock.monotonic() - started <= 660
    assert watchdog.empty_seconds == 600


async def test_a_slow_reply_is_not_cut_off_while_it_grows() -> None:
    clock = FakeClock()
    reader, _ = reader_and_watchdog(clock)
    drip = _Drip(clock, '{"choices": [{"delta": {"content": "a"}}]}')
    shown = reader.read(drip, streamed=True)
    assert [(await anext(shown)).text for _ in range(100)] == ["a"] * 100


def reader_and_watchdog(clock: FakeClock) -> tuple[ReplyReader, IdleWatchdog]:
    observer = RecordingObserver()
    watchdog = IdleWatchdog(60, clock, lambda seconds: observer.waiting(seconds, ""))
    endpoint = Endpoint("fake", "m", "http://127.0.0.1:9/v1", settings=ProviderSettings())
    assembler = DeltaAssembler(endpoint, turn=0, tools=frozenset())
    return ReplyReader(endpoint, assembler, watchdog), watchdog


async def test_t17_silence_before_the_head_counts_and_is_retried(provider: FakeProvider) -> None:
    provider.add(Script(before=(Pause(),)), Answer("Hi"))
    clock = FakeClock()
    asked = Asked(provider, clock, idle_timeout=60)
    task = asyncio.ensure_future(asked())
    await provider.wait_for_requests(1)
    while not asked.observer.retries:
        await clock.advance(10)
    await clock.advance(1)
    assert (await task).message.text == "Hi"
    await asked.model.close()


NOW = FakeClock().now_us() / 1e6


@pytest.mark.parametrize("status", [429, 503, 402])
@pytest.mark.parametrize(
    ("header", "delay"),
    [("7", 7.0), (formatdate(NOW + 12, usegmt=True), 12.0), ("86400", 300.0), ("0", 0.0)],
)
async def test_t18_retry_after_is_honoured_announced_and_clamped(
    provider: FakeProvider, status: int, header: str, delay: float
) -> None:
    provider.add(error(status, "slow down", retry_after=header), Answer("Hi"))
    clock = FakeClock(NOW)
    asked = Asked(provider, clock)
    task = asyncio.ensure_future(asked())
    await asked.observer.until(lambda: asked.observer.retries)
    assert [(attempt, wait) for attempt, wait, _ in asked.observer.retries] == [(2, delay)]
    await clock.advance(delay)
    assert (await task).message.text == "Hi"
    await asked.model.close()


@pytest.mark.parametrize("header", ["soon", "-5", "1e400", "", "١٢"])
async def test_t18_garbage_falls_back_to_backoff(provider: FakeProvider, header: str) -> None:
    raw = body({"error": {"message": "slow"}}, status=429)
    headers = {**raw.headers, "retry-after": header.encode().decode("latin-1")}
    provider.add(replace(raw, headers=headers), Answer("Hi"))
    asked = Asked(provider, HastyClock())
    assert (await asked()).message.text == "Hi"
    assert 0.5 <= asked.observer.retries[0][1] <= 1.0
    await asked.model.close()


async def test_t18_the_last_error_keeps_status_and_body(provider: FakeProvider) -> None:
    provider.add(error(503, "first"), error(429, "quota of today is used", retry_after="1"))
    asked = Asked(provider, HastyClock(), max_retries=1)
    with pytest.raises(ProviderError) as caught:
        await asked()
    assert (caught.value.status, caught.value.body) == (429, "quota of today is used")
    assert caught.value.retry_after == 1.0
    await asked.model.close()


async def test_t18_the_wait_can_be_cancelled(provider: FakeProvider) -> None:
    provider.add(error(429, retry_after="300"))
    asked = Asked(provider, FakeClock())
    task = asyncio.ensure_future(asked())
    await asked.observer.until(lambda: asked.observer.retries)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(provider.requests) == 1
    await asked.model.close()


async def test_t19_an_error_in_mid_stream_keeps_what_was_shown(provider: FakeProvider) -> None:
    script = sse(
        delta(content="Half"),
        call_delta(0, id="a", name="grep", arguments="{}"),
        {"error": {"message": "lost the upstream", "code": 502}},
    )
    caught, asked = await fail(provider, script, max_retries=3)
    assert (caught.status, asked.observer.text) == (502, "Half")
    assert asked.observer.finished[0].reply is None
    assert asked.observer.retries == []


async def test_t19_before_anything_was_shown_it_is_retried(provider: FakeProvider) -> None:
    provider.add(sse(delta(finish_reason="error")), Answer("Hi"))
    asked = Asked(provider, HastyClock())
    assert (await asked()).message.text == "Hi"
    await asked.model.close()


HALF_CALL = (call_delta(0, id="a", name="grep", arguments='{"pat'),)


@pytest.mark.parametrize(
    "script",
    [sse(*HALF_CALL, done=False), sse(*HALF_CALL, Cut()), sse(*HALF_CALL, Cut(reset=True))],
)
async def test_t21_a_stream_that_breaks_off_is_retried_if_nothing_was_shown(
    provider: FakeProvider, script: Script
) -> None:
    provider.add(script, Answer("Hi"))
    asked = Asked(provider, HastyClock())
    reply = await asked()
    assert (reply.message.text, reply.message.calls) == ("Hi", ())
    await asked.model.close()


async def test_t21_it_is_final_after_text_was_shown(provider: FakeProvider) -> None:
    script = sse(delta(content="Half"), *HALF_CALL, done=False)
    caught, asked = await fail(provider, script, max_retries=3)
    assert caught.kind is FaultKind.INCOMPLETE
    assert (asked.observer.text, len(provider.requests)) == ("Half", 1)


async def test_t21_a_missing_end_mark_after_a_finish_reason_is_fine(provider: FakeProvider) -> None:
    script = sse(delta(content="Hi"), delta(finish_reason="stop"), done=False)
    reply, _ = await ask(provider, script)
    assert reply.message.text == "Hi"


@pytest.mark.parametrize("end", [Cut(), Cut(reset=True)])
async def test_t21_any_end_after_a_finish_reason_is_fine(provider: FakeProvider, end: Cut) -> None:
    script = sse(delta(content="Hi"), delta(finish_reason="stop"), Pause(0.05), end)
    reply, _ = await ask(provider, script)
    assert (reply.message.text, reply.finish_reason) == ("Hi", "stop")


async def test_t21_a_connection_left_open_after_a_finish_reason_is_not_waited_for(
    provider: FakeProvider,
) -> None:
    provider.add(sse(delta(content="Hi"), delta(finish_reason="stop"), Pause()))
    clock = FakeClock()
    asked = Asked(provider, clock)
    task = asyncio.ensure_future(asked())
    await asked.observer.until(lambda: asked.observer.text)
    while not task.done():
        await clock.advance(0.5)
    assert task.result().message.text == "Hi"
    assert clock.monotonic() < 1_030
    await asked.model.close()


async def test_events_without_a_blank_line_between_them_are_read(provider: FakeProvider) -> None:
    chunks = (delta(content="Hi"), delta(finish_reason="stop"))
    lines = "".join(f"data: {json.dumps(chunk)}\n" for chunk in chunks)
    reply, _ = await ask(provider, sse(lines, "data: [DONE]\n", done=False))
    assert reply.message.text == "Hi"


async def test_t25_usage_comes_with_a_chunk_without_choices(provider: FakeProvider) -> None:
    script = sse(
        {"choices": []}, delta(content="Hi"), delta(finish_reason="stop"), usage_chunk(usage(8, 3))
    )
    reply, _ = await ask(provider, script)
    assert reply.usage == Usage(input=8, output=3)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
async def test_t37_a_final_failure_is_not_retried(provider: FakeProvider, status: int) -> None:
    caught, asked = await fail(provider, error(status, "no"), max_retries=3)
    assert caught.status == status
    assert not caught.retryable
    assert (len(provider.requests), asked.observer.retries) == (1, [])


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_a_temporary_failure_is_retried(provider: FakeProvider, status: int) -> None:
    provider.add(error(status, "busy"), error(status, "busy"), Answer("Hi"))
    asked = Asked(provider, HastyClock())
    assert (await asked()).message.text == "Hi"
    assert [attempt.attempt for attempt in asked.observer.started] == [1, 2, 3]
    assert len({attempt.operation_id for attempt in asked.observer.started}) == 3
    assert [attempt.error is None for attempt in asked.observer.finished] == [False, False, True]
    await asked.model.close()


async def test_retries_end(provider: FakeProvider) -> None:
    provider.add(*[error(500, "busy")] * 3)
    asked = Asked(provider, HastyClock(), max_retries=2)
    with pytest.raises(ProviderError, match="busy"):
        await asked()
    assert len(provider.requests) == 3
    await asked.model.close()


async def test_the_error_of_an_unreachable_server_states_what_to_do() -> None:
    async with FakeProvider() as gone:
        asked = Asked(gone, HastyClock(), max_retries=1)
    with pytest.raises(ProviderError, match="cannot be reached") as caught:
        await asked()
    assert caught.value.kind is FaultKind.CONNECTION
    assert caught.value.exit_status == 4
    assert "Start the server" in str(caught.value)
    assert len(asked.observer.retries) == 1
    await asked.model.close()


async def test_the_error_of_an_html_page_states_what_to_check(provider: FakeProvider) -> None:
    script = Script((b"<html>Hello</html>",), headers={"content-type": "text/html"})
    caught, _ = await fail(provider, script)
    assert caught.kind is FaultKind.PROTOCOL
    assert "including the version" in str(caught)


@pytest.mark.parametrize(
    ("status", "message", "kind", "words"),
    [
        (
            401,
            "Incorrect API key provided: sk-secret-key-of-mine",
            "authentication",
            "FAKE_API_KEY",
        ),
        (404, "The model `m` does not exist", "unknown_model", "models list"),
        (400, "maximum context length is 8192 tokens", "context_length", "context_window"),
        (429, "slow down", "rate_limit", "Wait"),
        (402, "Insufficient credits", "payment", "credit"),
    ],
)
async def test_errors_state_what_to_do_and_contain_no_key(
    provider: FakeProvider, status: int, message: str, kind: str, words: str
) -> None:
    caught, asked = await fail(provider, error(status, message))
    assert caught.kind == kind
    assert words in str(caught)
    told = [str(caught), caught.body, str(asked.observer.finished)]
    assert not any("secret-key-of-mine" in text for text in told)


async def test_cancelling_ends_the_request_and_reports_it(provider: FakeProvider) -> None:
    provider.add(sse(delta(content="Hi"), Pause()), Answer("Again"))
    asked = Asked(provider, FakeClock())
    task = asyncio.ensure_future(asked())
    await asked.observer.until(lambda: asked.observer.text)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [attempt.error for attempt in asked.observer.finished] == ["cancelled"]
    await asyncio.wait_for(provider.requests[0].hung_up.wait(), 5)
    assert (await asked()).message.text == "Again"
    await asked.model.close()
