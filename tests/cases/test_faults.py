"""Cases about failing providers: what is retried, what is final, and what the user sees."""

import asyncio
from email.utils import formatdate
from typing import Any

import pytest

from tests.cases.playing import Play, both_ways, call, play, raw
from tests.fakes.clock import FakeClock
from tests.fakes.provider import Reply
from tests.fakes.replies import (
    Answer,
    Call,
    Cut,
    Pause,
    Script,
    Step,
    body,
    call_delta,
    comment,
    delta,
    error,
    sse,
    usage,
    usage_chunk,
    whole,
)
from tests.session.parts import until
from treadle.events.types import (
    FallbackApplied,
    ModelDelta,
    ModelWaiting,
    RetryScheduled,
    SessionFailed,
    ToolCallRequested,
)
from treadle.llm.provider_errors import FaultKind

DONE = Answer("Done.")
CALLING = Answer("", [Call("echo", {"text": "a"})])
HALF = call_delta(0, id="c", name="echo", arguments='{"text": "a')
NO_TOOLS = error(404, "No endpoints found that support tool use. Try disabling 'echo'.", code=404)


async def usable(at: Play) -> None:
    """The conversation continues, and the strict provider checks it."""
    at.provider.add(DONE)
    assert (await at.ask("Again")).text == "Done."


@both_ways
@pytest.mark.parametrize(
    "value",
    [
        {"error": {"message": "upstream", "code": 502}},
        {"error": {"message": "upstream", "code": "502"}},
        {"error": {"message": "slow down", "type": "rate_limit_exceeded"}},
        {"error": "overloaded", "code": 503},
        {"error": {"message": "no words"}},
        {"id": "x", "choices": None, "error": {"message": "upstream", "code": 500}},
        {"id": "x", "choices": None},
        {"id": "x", "object": "chat.completion"},
        {"choices": []},
        {},
    ],
)
async def test_t12_a_200_with_an_error_or_without_choices(stream: bool, value: object) -> None:
    async with play(body(value), DONE, stream=stream) as at:
        assert (await at.ask()).text == "Done."
        assert [event.attempt for event in at.at.seen(RetryScheduled)] == [2]


@both_ways
@pytest.mark.parametrize("code", [400, 401, 403, 422, "invalid_request_error"])
async def test_t12_a_final_code_is_final(stream: bool, code: object) -> None:
    async with play(body({"error": {"message": "no", "code": code}}), stream=stream) as at:
        caught = await at.refused()
        assert not caught.retryable
        assert caught.status == (400 if isinstance(code, str) else code)
        await usable(at)


async def test_t12_an_error_as_the_first_event_of_a_stream() -> None:
    fault = {"error": {"message": "upstream", "code": 502}}
    async with play(sse(fault), sse({**fault, "choices": []}), DONE) as at:
        assert (await at.ask()).text == "Done."


@both_ways
async def test_t12_a_null_error_is_not_an_error(stream: bool) -> None:
    good = sse({**delta(content="Done."), "error": None}, delta(finish_reason="stop"))
    script = good if stream else body({**whole(content="Done."), "error": None})
    async with play(script, stream=stream) as at:
        assert (await at.ask()).text == "Done."


@both_ways
async def test_t13_once_more_without_tools_and_remembered(stream: bool) -> None:
    async with play(CALLING, NO_TOOLS, DONE, DONE, stream=stream) as at:
        assert (await at.ask()).text == "Done."
        assert (await at.ask("Again")).text == "Done."
        offered = [bool(request.tool_names) for request in at.provider.requests]
        assert offered == [True, True, False, False]
        assert [m["role"] for m in at.sent(2)] == ["system", "user"]
        assert "Result of echo" in str(at.sent(2)[1]["content"])
        assert len(at.at.seen(FallbackApplied)) == 1


@both_ways
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (404, "No endpoints found that support tool use"),
        (404, "No endpoint found that supports tools."),
        (400, "registry.ollama.ai/library/gemma3:1b does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser'),
        (400, "`tool calling` is not supported with this model"),
        (400, "This model does not support function calling."),
        (400, "Tool use is not supported by this model"),
        (400, "tools is not supported in this model. For a list of supported models, see"),
        (500, "tools param requires --jinja flag"),
        (501, "This server does not support tools."),
    ],
)
async def test_t13_messages_of_other_servers(stream: bool, status: int, words: str) -> None:
    async with play(error(status, words), DONE, stream=stream) as at:
        assert (await at.ask()).text == "Done."
        assert len(at.at.seen(FallbackApplied)) == 1
        assert at.at.seen(RetryScheduled) == []


@both_ways
async def test_t13_in_a_200_body(stream: bool) -> None:
    fault = {"error": {"message": "No endpoints found that support tool use", "code": 404}}
    async with play(body(fault), DONE, stream=stream) as at:
        assert (await at.ask()).text == "Done."
        assert at.provider.requests[1].tool_names == []


@both_ways
async def test_t13_a_second_refusal_is_final_and_so_is_strict(stream: bool) -> None:
    async with play(NO_TOOLS, NO_TOOLS, stream=stream) as at:
        assert (await at.refused()).kind is FaultKind.NO_TOOLS
        await usable(at)
    async with play(NO_TOOLS, stream=stream, tools_fallback="strict") as at:
        assert (await at.refused()).kind is FaultKind.NO_TOOLS


@pytest.mark.parametrize("line", [comment(), ":\n\n", ":\n", ": \r\n\r\n", ":data: {}\n\n", "\n"])
async def test_t16_comments_are_skipped(line: str) -> None:
    call_part = call_delta(0, id="c", name="echo", arguments='{"text": "a"}')
    script = sse(line, call_part, line, delta(finish_reason="tool_calls"), line)
    async with play(script, DONE) as at:
        await at.ask()
        assert [each["text"] for each in at.answers()] == ["a"]


@pytest.mark.parametrize("line", ["data: : PROCESSING\n\n", "data: {oops\n\n", "data: ping\n\n"])
@pytest.mark.parametrize("first", [True, False])
async def test_t16_a_data_line_without_json_is_a_protocol_error(line: str, first: bool) -> None:
    script = sse(line, HALF) if first else sse(HALF, line, delta(finish_reason="tool_calls"))
    async with play(script) as at:
        assert (await at.refused()).kind is FaultKind.PROTOCOL
        assert at.at.seen(ToolCallRequested) == []
        await usable(at)


@pytest.mark.parametrize("line", [comment(), ":\n\n", "event: ping\n\n", "data:\n\n", "\n\n"])
async def test_t17_only_data_keeps_a_stream_alive(line: str) -> None:
    clock = FakeClock()
    steps: list[str | Step] = [line, Pause(0.002)]
    idle = sse(*steps * 3_000)
    async with play(idle, DONE, clock=clock, idle_timeout=60) as at:
        running = asyncio.ensure_future(at.ask())
        await at.provider.wait_for_requests(1)
        while not at.at.seen(ModelWaiting):
            await clock.advance(1)
        assert "still queues" in at.at.seen(ModelWaiting)[0].text
        while not at.at.seen(RetryScheduled):
            await clock.advance(5)
        assert "no data for 60 s" in at.at.seen(RetryScheduled)[0].reason
        await clock.advance(1)
        assert (await running).text == "Done."


async def test_t17_after_text_was_shown_it_is_final() -> None:
    clock = FakeClock()
    async with play(sse(delta(content="Well"), Pause()), clock=clock, idle_timeout=30) as at:
        running = asyncio.ensure_future(at.refused())
        await until(lambda: at.at.seen(ModelDelta))
        while not running.done():
            await clock.advance(5)
        assert (await running).kind is FaultKind.STALLED
        await usable(at)


NOW = FakeClock().now_us() / 1e6
FUTURE = formatdate(NOW + 12, usegmt=True)
PAST = formatdate(NOW - 500, usegmt=True)


@both_ways
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("header", "delay"),
    [("7", 7.0), ("2.5", 2.5), (FUTURE, 12.0), (PAST, 0.0), ("86400", 300.0), ("0", 0.0)],
)
async def test_t18_a_requested_wait_is_kept(
    stream: bool, status: int, header: str, delay: float
) -> None:
    clock = FakeClock()
    busy = error(status, "slow down", retry_after=header)
    async with play(busy, DONE, clock=clock, stream=stream) as at:
        running = asyncio.ensure_future(at.ask())
        await until(lambda: at.at.seen(RetryScheduled))
        assert at.at.seen(RetryScheduled)[0].delay == delay
        await clock.advance(delay)
        assert (await running).text == "Done."


@both_ways
@pytest.mark.parametrize("header", ["soon", "-5", "1e400", "", "Thu, 99 Foo 2026 25:61:61 GMT"])
async def test_t18_garbage_falls_back_to_backoff(stream: bool, header: str) -> None:
    async with play(error(429, retry_after=header), DONE, stream=stream) as at:
        assert (await at.ask()).text == "Done."
        assert 0.5 <= at.at.seen(RetryScheduled)[0].delay <= 1.0


@both_ways
async def test_t18_the_last_error_is_reported_and_the_wait_can_be_cancelled(stream: bool) -> None:
    last = error(429, "the quota of today is used", retry_after="1")
    async with play(error(503, "first"), last, stream=stream, max_retries=1) as at:
        caught = await at.refused()
        assert (caught.status, caught.body) == (429, "the quota of today is used")
        await until(lambda: at.at.seen(SessionFailed))
        assert "the quota of today" in at.at.seen(SessionFailed)[0].message
        at.provider.add(error(429, retry_after="300"))
        before = len(at.at.seen(RetryScheduled))
        running = asyncio.ensure_future(at.ask())
        await until(lambda: len(at.at.seen(RetryScheduled)) > before)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await usable(at)


FAULT = {"error": {"message": "the upstream died", "code": 502}}
ENDS: list[tuple[Any, ...]] = [
    (FAULT,),
    ({**delta(), **FAULT},),
    ('event: error\ndata: {"message": "the upstream died"}\n\n',),
    ({"type": "error", "message": "the upstream died"},),
    ({"object": "error", "message": "the upstream died"},),
    ({"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]},),
    ({"choices": [{"index": 0, "delta": {}, "finish_reason": "error", **FAULT}]},),
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("whole_call", [True, False])
async def test_t19_an_error_in_mid_stream_ends_the_turn_and_runs_no_call(
    end: tuple[Any, ...], whole_call: bool
) -> None:
    parts = [HALF, call_delta(0, arguments='"}')] if whole_call else [HALF]
    async with play(sse(delta(content="Well"), *parts, *end)) as at:
        caught = await at.refused()
        assert "the upstream died" in caught.message or "ended with an error" in caught.message
        await until(lambda: at.at.seen(SessionFailed))
        assert "".join(event.text for event in at.at.seen(ModelDelta)) == "Well"
        assert at.at.seen(ToolCallRequested) == []
        assert at.at.seen(RetryScheduled) == []
        await usable(at)


@pytest.mark.parametrize("end", ENDS)
async def test_t19_before_anything_was_shown_it_is_tried_again(end: tuple[Any, ...]) -> None:
    async with play(sse(HALF, *end), DONE) as at:
        assert (await at.ask()).text == "Done."
        assert at.at.seen(ToolCallRequested) == []


async def test_t19_a_whole_reply_may_end_with_an_error_too() -> None:
    bad = raw(call("echo", arguments='{"te'), text="Well", finish_reason="error")
    async with play(bad, DONE, stream=False) as at:
        assert (await at.ask()).text == "Done."
        assert at.at.seen(ToolCallRequested) == []


CUTS: list[tuple[Step | str, ...]] = [
    (),
    (Cut(),),
    (Cut(reset=True),),
    ('data: {"choices": [{"index": 0, "del', Cut()),
    ("data: é".encode()[:-1], Cut()),
    ('data: {"choices": [{"index": 0, "del',),
    ('data: {"choices": []',),
]


@pytest.mark.parametrize("cut", CUTS[:3])
async def test_t21_a_broken_stream_is_retried_if_nothing_was_shown(
    cut: tuple[Any, ...],
) -> None:
    async with play(sse(HALF, *cut, done=False), sse(*cut, done=False), DONE) as at:
        assert (await at.ask()).text == "Done."
        assert at.at.seen(ToolCallRequested) == []


@pytest.mark.parametrize("cut", CUTS)
async def test_t21_a_break_after_text_is_final_and_no_partial_call_runs(
    cut: tuple[Any, ...],
) -> None:
    async with play(sse(delta(content="Well"), HALF, *cut, done=False)) as at:
        assert (await at.refused()).kind is FaultKind.INCOMPLETE
        assert at.at.seen(ToolCallRequested) == []
        await usable(at)


@pytest.mark.parametrize("cut", [*CUTS[3:]])
async def test_t21_a_break_within_an_event_is_a_break(cut: tuple[Any, ...]) -> None:
    async with play(sse(HALF, *cut, done=False), DONE) as at:
        assert (await at.ask()).text == "Done."


@pytest.mark.parametrize("cut", CUTS)
async def test_t21_a_missing_end_mark_after_a_finish_reason_is_fine(cut: tuple[Any, ...]) -> None:
    parts = HALF, call_delta(0, arguments='"}'), delta(finish_reason="tool_calls")
    async with play(sse(*parts, *cut, done=False), DONE) as at:
        await at.ask()
        assert [each["text"] for each in at.answers()] == ["a"]


@pytest.mark.parametrize("reset", [True, False])
async def test_t21_a_broken_body_is_retried(reset: bool) -> None:
    (content,) = body(whole(content="Well")).steps
    assert isinstance(content, bytes)
    headers = {"content-type": "application/json"}
    half = Script((content[:40], Cut(reset=reset)), headers=headers)
    async with play(half, DONE, stream=False) as at:
        assert (await at.ask()).text == "Done."


async def test_t21_an_end_mark_alone_does_not_run_a_partial_call() -> None:
    async with play(sse(HALF), DONE) as at:
        await at.ask()
        assert [each["kind"] for each in at.answers()] == ["parsing"]


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_t25_a_chunk_without_choices_is_skipped_and_its_usage_read(place: int) -> None:
    chunks: list[Any] = [delta(content="Done."), delta(finish_reason="stop")]
    filtered = {"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    chunks.insert(place, usage_chunk(usage(77, 11)))
    async with play(sse(filtered, *chunks)) as at:
        outcome = await at.ask()
        assert outcome.text == "Done."
        assert (outcome.usage.input, outcome.usage.output) == (77, 11)


@pytest.mark.parametrize("choices", [None, [], "absent"])
async def test_t25_usage_with_other_absent_choices(choices: object) -> None:
    last = {"usage": usage(77, 11)} | ({} if choices == "absent" else {"choices": choices})
    async with play(sse(delta(content="Done."), delta(finish_reason="stop"), last)) as at:
        assert (await at.ask()).usage.input == 77


@both_ways
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
async def test_t37_final_errors_are_not_retried(stream: bool, status: int) -> None:
    async with play(error(status, "no"), stream=stream, max_retries=5) as at:
        caught = await at.refused()
        assert (caught.status, caught.retryable) == (status, False)
        assert at.at.seen(RetryScheduled) == []
        await usable(at)


@both_ways
@pytest.mark.parametrize(
    "fault",
    [
        error(400, "internal server error"),
        error(400, "please retry later", retry_after="1"),
        error(400, "upstream timeout", code="timeout"),
        body({"detail": "bad"}, status=400),
        Script((b"<html>Bad Request</html>",), 400, {"content-type": "text/html"}),
        Script((), 400),
    ],
)
async def test_t37_a_400_is_final_whatever_its_message(stream: bool, fault: Reply) -> None:
    async with play(fault, stream=stream) as at:
        assert (await at.refused()).status == 400
        await usable(at)


@both_ways
@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_t37_temporary_errors_are_retried(stream: bool, status: int) -> None:
    async with play(error(status), DONE, stream=stream) as at:
        assert (await at.ask()).text == "Done."
