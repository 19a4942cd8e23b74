"""Replies that a limit of length cuts off (F23), and fragments of calls in odd forms (F25)."""

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
    """A reply with calls of `echo` with those arguments, cut off behind the last character."""

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
async def test_f23_a_call_that_was_cut_off_is_not_run_and_the_model_is_told(
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
async def test_f23_wherever_the_arguments_are_cut(stream: bool, half: str) -> None:
    async with play(cut(A, half), DONE, stream=stream) as at:
        assert (await at.ask()).tool_calls == 1
        first, second = at.answers()
        assert first["text"] == "a"
        assert second["kind"] == "limit"


@both_ways
@pytest.mark.parametrize("arguments", [(A,), (A, B)])
async def test_f23_cut_between_two_calls(stream: bool, arguments: tuple[str, ...]) -> None:
    """The calls are whole, so they run; that the reply was cut is said after their results."""
    async with play(cut(*arguments), DONE, stream=stream) as at:
        assert (await at.ask()).tool_calls == len(arguments)
        assert "truncated" in str(at.sent()[-1]["content"])


@both_ways
async def test_f23_a_model_that_does_not_learn_is_asked_a_few_times_only(stream: bool) -> None:
    replies = [cut('{"text": "' + "a" * 5_000, text="Writing.")] * 3
    async with play(*replies, DONE, stream=stream) as at:
        outcome = await at.ask()
        assert (outcome.text, outcome.stop_reason) == ("Writing.", StopReason.LENGTH)
        assert max(len(c["function"]["arguments"]) for c in at.called()) < 1_000
        assert (await at.ask("Again")).text == "Done."


@both_ways
async def test_f23_a_text_that_was_cut_off_is_the_answer(stream: bool) -> None:
    async with play(cut(text="Well, it"), stream=stream) as at:
        outcome = await at.ask()
        assert (outcome.text, outcome.stop_reason) == ("Well, it", StopReason.LENGTH)


async def test_f23_a_call_that_was_cut_off_counts_towards_no_failure_of_the_next() -> None:
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
async def test_f25_fragments_of_two_open_calls_are_told_apart_by_their_ids(
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


async def test_f25_arguments_of_nobody_knows_which_open_call_are_given_to_none() -> None:
    fragments = [
        call_delta(0, id="1", name="echo", arguments='{"text":'),
        call_delta(1, id="2", name="echo", arguments='{"text":'),
        call_delta(5, arguments=' "a"}'),
        call_delta(6, arguments=' "b"}'),
    ]
    async with play(sse(*fragments, *ENDS), DONE) as at:
        await at.ask()
        assert [each["ok"] for each in at.answers()] == [False, False]


async def test_f25_a_late_name_under_a_new_index_is_a_call_of_its_own() -> None:
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
    """Two events, the first of several data lines, with that line end."""
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
async def test_f25_events_as_the_specification_has_them(
    end: str, mark: bool, named: bool, split: int | None
) -> None:
    steps = (stream_of(end, mark=mark, named=named),)
    script = Script(steps, headers={"content-type": "text/event-stream"}, split=split)
    async with play(script) as at:
        assert (await at.ask()).text == "Grüße 👋"


async def test_f25_events_that_only_show_life_are_skipped() -> None:
    life = 'event: ping\ndata: {"type": "ping"}\n\nevent: keepalive\ndata: still here\n\n'
    async with play(sse(life, delta(content="Done."), delta(finish_reason="stop"))) as at:
        assert (await at.ask()).text == "Done."


async def test_f25_a_stream_under_the_type_of_json_is_read_as_a_stream() -> None:
    script = Script((stream_of("\n", mark=True),), headers={"content-type": "application/json"})
    async with play(script) as at:
        assert (await at.ask()).text == "Grüße 👋"


async def test_f25_an_error_in_a_list_is_an_error() -> None:
    listed = [{"error": {"code": 400, "message": "Bad turn", "status": "INVALID_ARGUMENT"}}]
    async with play(sse("data: " + json.dumps(listed) + "\n\n", done=False)) as at:
        refused = await at.refused()
    assert (refused.status, refused.message) == (400, "fake refused the request (400): Bad turn.")
