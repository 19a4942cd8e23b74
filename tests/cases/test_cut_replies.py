"""Replies truncated by a length limit (F23), and call fragments in odd forms (F25)."""

import json
from typing import Any

import pytest

from tests.cases.playing import both_ways, play
from tests.fakes.provider import RecordedRequest
from tests.fakes.replies import (
    Answer,
    Script,
    body,
    call_delta,
    delta,
    sse,
    usage_chunk,
    whole,
)
from treadle.events.types import StopReason, ToolCallRequested

DONE = Answer("Done.")
A, B = '{"text": "a"}', '{"text": "b"}'


def cut(*arguments: str, reason: str = "length", text: str | None = None) -> Any:
    """A reply with calls of `echo` with those arguments, truncated after the last character."""

    def reply(request: RecordedRequest) -> Script:
        if request.body["stream"]:
            chunks = [delta(content=text)] if text else []
            for index, each in enumerate(arguments):
                chunks.append(call_delta(index, id=f"c{index}", name="echo", arguments=""))
                chunks.append(call_delta(index, arguments=each))
            return sse(*chunks, delta(finish_reason=reason), usage_chunk())
        calls = [
            {"id": f"c{n}", "type": "function", "function": {"name": "echo", "arguments": each}}
            for n, each in enumerate(arguments)
        ]
        return body(whole(content=text, tool_calls=calls, finish_reason=reason))

    return reply


@both_ways
@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
async def test_f23_a_truncated_call_does_not_run_and_the_model_learns_why(
    stream: bool, reason: str
) -> None:
    async with play(cut('{"text": "a', reason=reason), DONE, stream=stream) as at:
        outcome = await at.ask()
        assert (outcome.text, outcome.stop_reason) == ("Done.", StopReason.COMPLETED)
        (answer,) = at.answers()
        assert (answer["ok"], answer["kind"]) == (False, "limit")
        assert "maximum length" in answer["error"]
        assert "Send less" in answer["hint"]
        assert at.at.seen(ToolCallRequested) == []


@both_ways
@pytest.mark.parametrize("half", ["", " ", "{", '{"text"', '{"text": "a"', '"', "1", '{"a": "\\'])
async def test_f23_arguments_truncated_at_any_byte_do_not_run(stream: bool, half: str) -> None:
    async with play(cut(A, half), DONE, stream=stream) as at:
        assert (await at.ask()).tool_calls == 1
        first, second = at.answers()
        assert first["text"] == "a"
        assert second["kind"] == "limit"


@both_ways
@pytest.mark.parametrize("arguments", [(A,), (A, B)])
async def test_f23_a_reply_truncated_between_two_calls(
    stream: bool, arguments: tuple[str, ...]
) -> None:
    """The calls are complete, so they run. A note about the truncation follows their results."""
    async with play(cut(*arguments), DONE, stream=stream) as at:
        assert (await at.ask()).tool_calls == len(arguments)
        assert "truncated" in str(at.sent()[-1]["content"])


@both_ways
async def test_f23_repeated_truncation_ends_after_a_few_tries(stream: bool) -> None:
    replies = [cut('{"text": "' + "a" * 5_000, text="Writing.")] * 3
    async with play(*replies, DONE, stream=stream) as at:
        outcome = await at.ask()
        assert (outcome.text, outcome.stop_reason) == ("Writing.", StopReason.LENGTH)
        assert max(len(c["function"]["arguments"]) for c in at.called()) < 1_000
        assert (await at.ask("Again")).text == "Done."


@both_ways
async def test_f23_a_truncated_text_is_the_answer(stream: bool) -> None:
    async with play(cut(text="Well, it"), stream=stream) as at:
        outcome = await at.ask()
        assert (outcome.text, outcome.stop_reason) == ("Well, it", StopReason.LENGTH)


async def test_f23_a_truncated_call_does_not_count_as_a_failure_of_the_next() -> None:
    replies = [cut("{"), cut(A, reason="tool_calls")] * 4
    async with play(*replies, DONE) as at:
        assert (await at.ask()).text == "Done."


ENDS = (delta(finish_reason="tool_calls"), usage_chunk())


@pytest.mark.parametrize(
    "fragments",
    [
        [
            call_delta(0, id="1", name="echo", arguments='{"te'),
            call_delta(1, arguments='xt": "a"}'),
        ],
        [
            call_delta(0, id="1", name="echo", arguments=""),
            call_delta(1, arguments='{"text"'),
            call_delta(2, arguments=': "a"}'),
        ],
        [
            call_delta(0, id="1", name="echo", arguments='{"text"'),
            call_delta(7, id="1", name="", arguments=': "a"}'),
        ],
        [
            call_delta(0, id="1", name="echo", arguments='{"text"'),
            call_delta(1, id="2", arguments=': "a"}'),
        ],
        [
            call_delta(None, id="1", name="echo", arguments='{"text"'),
            call_delta(1, arguments=': "a"}'),
        ],
        [
            call_delta(1, id="1", name="echo", arguments='{"text"'),
            call_delta(0, arguments=': "a"}'),
        ],
    ],
)
async def test_f25_fragments_under_another_index_without_a_name_continue_the_open_call(
    fragments: list[dict[str, object]],
) -> None:
    async with play(sse(*fragments, *ENDS), DONE) as at:
        await at.ask()
        assert [each["text"] for each in at.answers()] == ["a"]


@pytest.mark.parametrize("indexes", [(5, 6), (1, 0)])
async def test_f25_ids_distinguish_fragments_of_two_open_calls(
    indexes: tuple[int, int],
) -> None:
    first, second = indexes
    fragments = [
        call_delta(0, id="1", name="echo", arguments='{"text":'),
        call_delta(1, id="2", name="echo", arguments='{"text":'),
        call_delta(first, id="1", arguments=' "a"}'),
        call_delta(second, id="2", arguments=' "b"}'),
    ]
    async with play(sse(*fragments, *ENDS), DONE) as at:
        await at.ask()
        assert [each["text"] for each in at.answers()] == ["a", "b"]


async def test_f25_arguments_of_an_ambiguous_call_are_dropped() -> None:
    fragments = [
        call_delta(0, id="1", name="echo", arguments='{"text":'),
        call_delta(1, id="2", name="echo", arguments='{"text":'),
        call_delta(5, arguments=' "a"}'),
        call_delta(6, arguments=' "b"}'),
    ]
    async with play(sse(*fragments, *ENDS), DONE) as at:
        await at.ask()
        assert [each["ok"] for each in at.answers()] == [False, False]


async def test_f25_a_late_name_under_a_new_index_is_a_separate_call() -> None:
    fragments = [
        call_delta(0, id="1", name="echo", arguments=A),
        call_delta(1, id="2", arguments='{"text"'),
        call_delta(1, name="echo", arguments=': "b"}'),
    ]
    async with play(sse(*fragments, *ENDS), DONE) as at:
        await at.ask()
        assert [each["text"] for each in at.answers()] == ["a", "b"]


TEXT = (
    '{"choices": [{"index": 0,\n "delta": {"content": "Grüße "},\n "finish_reason": null}]}',
    '{"choices": [{"index": 0, "delta": {"content": "👋"}, "finish_reason": "stop"}]}',
)


def stream_of(end: str, *, mark: bool = False, named: bool = False) -> bytes:
    """Two events with that line end, the first with several data lines."""
    events = []
    for number, event in enumerate(TEXT):
        lines = [f"data: {line}" for line in event.split("\n")]
        head = [f"id: {number}", "event: message", "retry: 10"] if named else []
        events.append(end.join([*head, *lines]))
    text = (end * 2).join([": begin", *events, "data: [DONE]", ""])
    return (b"\xef\xbb\xbf" if mark else b"") + text.encode()


@pytest.mark.parametrize("split", [1, 2, 3, 7, None])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("mark", "named"), [(False, False), (True, True)])
async def test_f25_events_follow_the_specification(
    end: str, mark: bool, named: bool, split: int | None
) -> None:
    steps = (stream_of(end, mark=mark, named=named),)
    script = Script(steps, headers={"content-type": "text/event-stream"}, split=split)
    async with play(script) as at:
        assert (await at.ask()).text == "Grüße 👋"


async def test_f25_keep_alive_events_are_skipped() -> None:
    life = 'event: ping\ndata: {"type": "ping"}\n\nevent: keepalive\ndata: still here\n\n'
    async with play(sse(life, delta(content="Done."), delta(finish_reason="stop"))) as at:
        assert (await at.ask()).text == "Done."


async def test_f25_a_stream_with_a_json_content_type_is_read_as_a_stream() -> None:
    script = Script((stream_of("\n", mark=True),), headers={"content-type": "application/json"})
    async with play(script) as at:
        assert (await at.ask()).text == "Grüße 👋"


async def test_f25_an_error_in_a_list_is_an_error() -> None:
    listed = [{"error": {"code": 400, "message": "Bad turn", "status": "INVALID_ARGUMENT"}}]
    async with play(sse("data: " + json.dumps(listed) + "\n\n", done=False)) as at:
        refused = await at.refused()
    assert (refused.status, refused.message) == (400, "fake refused the request (400): Bad turn.")
