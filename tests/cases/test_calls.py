"""Cases about the calls of a reply: how they arrive, and that each runs once with its arguments."""

import json

import pytest

from tests.cases.playing import both_ways, call, play, raw
from tests.fakes.replies import Answer, Call, call_delta, delta, sse, usage_chunk
from treadle.events.types import StopReason, ToolCallRequested

DONE = Answer("Done.")
ENDS = (delta(finish_reason="tool_calls"), usage_chunk())


def taken(result: object) -> dict[str, object]:
    assert isinstance(result, dict)
    assert result["ok"], result
    fields = result["taken"]
    assert isinstance(fields, dict)
    return fields


@both_ways
@pytest.mark.parametrize("written", ["", " \n\t", "null", "{}", " {} ", '""', '"{}"', None])
async def test_t01_empty_arguments_of_a_tool_that_needs_none(
    stream: bool, written: str | None
) -> None:
    async with play(raw(call("echo", arguments=written)), DONE, stream=stream) as at:
        outcome = await at.ask("Hello")
        assert outcome.text == "Done."
        assert [each["text"] for each in at.answers()] == ["Hello"]


@both_ways
async def test_t01_missing_arguments(stream: bool) -> None:
    async with play(raw(call("echo")), DONE, stream=stream) as at:
        await at.ask("Hello")
        assert [each["text"] for each in at.answers()] == ["Hello"]


ITEM = {"name": "a", "tags": ["x"]}


@both_ways
@pytest.mark.parametrize(
    "arguments",
    [
        {"items": [ITEM], "options": {"n": 1}},
        json.dumps({"items": [ITEM], "options": {"n": 1}}),
        json.dumps(json.dumps({"items": [ITEM], "options": {"n": 1}})),
        json.dumps({"items": json.dumps([ITEM]), "options": json.dumps({"n": 1})}),
        json.dumps({"items": [json.dumps(ITEM)], "options": {"n": 1}}),
        json.dumps({"items": json.dumps([{"name": "a", "tags": '["x"]'}]), "options": '{"n": 1}'}),
    ],
    ids=["object", "once", "twice", "fields", "elements", "nested"],
)
async def test_t02_arguments_encoded_more_than_once(stream: bool, arguments: object) -> None:
    async with play(raw(call("take", arguments=arguments)), DONE, stream=stream) as at:
        await at.ask()
        fields = taken(at.answers()[0])
        assert (fields["items"], fields["options"]) == ([ITEM], {"n": 1})
        assert all(isinstance(json.loads(c["function"]["arguments"]), dict) for c in at.called())


@both_ways
@pytest.mark.parametrize("note", ["[1, 2]", '{"a": 1}', '"quoted"', "null", "{}"])
async def test_t02_a_string_stays_as_it_is(stream: bool, note: str) -> None:
    async with play(raw(call("take", arguments={"note": note})), DONE, stream=stream) as at:
        await at.ask()
        assert taken(at.answers()[0])["note"] == note


@both_ways
@pytest.mark.parametrize("id", ["same", "", None])
async def test_t03_calls_with_one_id_or_none(stream: bool, id: str | None) -> None:  # noqa: A002
    calls = [call("echo", arguments=json.dumps({"text": text}), id=id) for text in "abc"]
    async with play(raw(*calls), DONE, stream=stream) as at:
        outcome = await at.ask()
        assert outcome.tool_calls == 3
        assert [each["text"] for each in at.answers()] == ["a", "b", "c"]
        assert len({each["id"] for each in at.called()}) == 3


@both_ways
async def test_t03_twins_with_the_same_arguments_both_run(stream: bool) -> None:
    twins = [call("take", arguments="{}", id="same")] * 2
    async with play(raw(*twins), DONE, stream=stream) as at:
        assert (await at.ask()).tool_calls == 2
        assert len(at.answers()) == 2


@both_ways
async def test_t03_ids_that_no_server_accepts(stream: bool) -> None:
    calls = [call("echo", arguments="{}", id=odd) for odd in ("x" * 200, "a b", "é", "call_t1", 7)]
    async with play(raw(*calls), DONE, stream=stream) as at:
        assert (await at.ask()).tool_calls == 5


@both_ways
async def test_t04_an_id_that_is_reused_in_later_turns(stream: bool) -> None:
    replies = [raw(call("echo", arguments=json.dumps({"text": text}), id="0")) for text in "abc"]
    async with play(*replies[:2], DONE, replies[2], DONE, stream=stream) as at:
        await at.ask()
        await at.ask("And now?")
        assert [each["text"] for each in at.answers()] == ["a", "b", "c"]
        ids = [each["id"] for each in at.called()]
        assert len(set(ids)) == 3
        assert ids == [m["tool_call_id"] for m in at.sent() if m["role"] == "tool"]
        keys = [event.key for event in at.at.seen(ToolCallRequested)]
        assert len(set(keys)) == 3


A, B = '{"text": "a"}', '{"text": "b"}'


@pytest.mark.parametrize(
    "fragments",
    [
        [
            call_delta(0, id="1", name="echo", arguments=A),
            call_delta(0, id="2", name="echo"),
            call_delta(0, arguments=B),
        ],
        [
            call_delta(0, id="1", name="echo", arguments=A),
            call_delta(0, id="2", name="echo", arguments=B),
        ],
        [
            call_delta(0, id="1", name="echo"),
            call_delta(0, id="1", arguments=A),
            call_delta(0, id="2", name="echo"),
            call_delta(0, id="2", arguments=B),
        ],
        [
            call_delta(0, id="1", name="echo"),
            call_delta(0, id="2", name="echo"),
            call_delta(0, id="1", arguments=A),
            call_delta(0, id="2", arguments=B),
        ],
        [call_delta(0, name="echo", arguments=A), call_delta(0, name="echo", arguments=B)],
        [
            call_delta(0, name="echo", arguments=A[:5]),
            call_delta(0, arguments=A[5:]),
            call_delta(0, name="echo"),
            call_delta(0, arguments=B),
        ],
        [
            call_delta(None, id="1", name="echo", arguments=A),
            call_delta(None, id="2", name="echo", arguments=B),
        ],
        [delta(tool_calls=[call("echo", arguments=A, id="1"), call("echo", arguments=B, id="2")])],
        [delta(tool_calls=[call("echo", arguments=A, id=""), call("echo", arguments=B, id="")])],
    ],
    ids=[
        "new id",
        "whole at once",
        "id on each",
        "interleaved ids",
        "name after JSON",
        "name after JSON in pieces",
        "no index",
        "one delta without index",
        "one delta, nothing to tell them by",
    ],
)
async def test_t06_parallel_calls_under_one_index(fragments: list[dict[str, object]]) -> None:
    async with play(sse(*fragments, *ENDS), DONE) as at:
        await at.ask()
        assert [each["text"] for each in at.answers()] == ["a", "b"]


@pytest.mark.parametrize("indexes", [(0, 1), (1, 0), (3, 7), ("0", "1"), (0.0, 1.0)])
async def test_t07_interleaved_fragments_belong_together_by_index(
    indexes: tuple[object, object],
) -> None:
    def piece(index: object, arguments: str, **more: object) -> dict[str, object]:
        return {"index": index, "function": {"arguments": arguments, **more}}

    first, second = indexes
    chunks = [
        delta(tool_calls=[{**piece(first, "", name="echo"), "id": "1"}]),
        delta(tool_calls=[{**piece(second, "", name="echo"), "id": "2"}]),
    ]
    for one, two in zip(A, B, strict=True):
        chunks.append(delta(tool_calls=[piece(second, two), piece(first, one)]))
    async with play(sse(*chunks, *ENDS), DONE) as at:
        await at.ask()
        assert [each["text"] for each in at.answers()] == ["a", "b"]


@pytest.mark.parametrize(
    "fragments",
    [
        [{"id": "1", "name": "echo", "a": '{"text"'}, {"id": "", "name": "", "a": ': "a"}'}],
        [{"id": "1", "name": "echo", "a": '{"text"'}, {"id": None, "name": None, "a": ': "a"}'}],
        [{"id": "1", "name": "", "a": ""}, {"id": "", "name": "echo", "a": A}],
        [{"id": "", "name": "", "a": A}, {"id": "1", "name": "echo", "a": ""}],
        [{"id": "1", "name": "ec", "a": ""}, {"name": "ho", "a": ""}, {"name": None, "a": A}],
        [{"id": "1", "name": "ec", "a": ""}, {"name": "echo", "a": ""}, {"name": "", "a": A}],
        [{"id": "1", "name": "echo", "a": each} for each in A],
        [{"id": "1", "name": "echo", "a": ""}, {"name": "echo", "a": A}, {"name": "echo", "a": ""}],
        [{"id": None, "name": "echo", "a": A}, {"id": "1", "name": None, "a": None}],
        [{"id": "1", "name": "echo", "a": A}, {"id": "1", "name": "echo", "a": None}],
    ],
)
async def test_t09_names_and_ids_that_are_empty_late_fragmented_or_repeated(
    fragments: list[dict[str, object]],
) -> None:
    chunks = []
    for each in fragments:
        function = {"name": each.get("name"), "arguments": each["a"]}
        chunks.append(delta(tool_calls=[{"index": 0, "id": each.get("id"), "function": function}]))
    async with play(sse(*chunks, *ENDS), DONE) as at:
        await at.ask()
        assert [each["text"] for each in at.answers()] == ["a"]


@both_ways
@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call", "eos", "", None])
async def test_t23_calls_run_whatever_the_finish_reason(stream: bool, reason: str | None) -> None:
    reply = raw(call("echo", arguments=A), finish_reason=reason)
    async with play(reply, DONE, stream=stream) as at:
        outcome = await at.ask()
        assert (outcome.text, outcome.stop_reason) == ("Done.", StopReason.COMPLETED)
        assert [each["text"] for each in at.answers()] == ["a"]


@both_ways
@pytest.mark.parametrize("reason", ["tool_calls", "stop", "eos"])
async def test_t23_a_reply_without_calls_is_the_answer(stream: bool, reason: str) -> None:
    async with play(raw(text="Done.", finish_reason=reason), stream=stream) as at:
        assert (await at.ask()).text == "Done."


@both_ways
@pytest.mark.parametrize(
    "name", ["invent", "Echo", "functions.echo", "echo<|channel|>json", "", " ", "é" * 90, None]
)
async def test_t32_an_unknown_name_gets_the_list_of_tools(stream: bool, name: str | None) -> None:
    reply = raw(call(name or "", arguments="{}"))
    async with play(reply, DONE, stream=stream) as at:
        outcome = await at.ask()
        assert (outcome.text, outcome.stop_reason) == ("Done.", StopReason.COMPLETED)
        (answer,) = at.answers()
        assert (answer["ok"], answer["kind"]) == (False, "unknown_tool")
        assert "echo, take" in answer["hint"]


@both_ways
async def test_t32_several_in_a_row_end_the_loop(stream: bool) -> None:
    replies = [Answer("", [Call("invent", {"n": number})]) for number in range(3)]
    async with play(*replies, DONE, stream=stream) as at:
        assert (await at.ask()).stop_reason is StopReason.UNKNOWN_TOOLS
        assert (await at.ask("Answer")).text == "Done."


@both_ways
async def test_t32_one_between_good_calls_does_not(stream: bool) -> None:
    ill = Answer("", [Call("invent", {})])
    replies = [
        each
        for number in range(3)
        for each in (ill, Answer("", [Call("echo", {"text": str(number)})]))
    ]
    async with play(*replies, DONE, stream=stream) as at:
        assert (await at.ask()).stop_reason is StopReason.COMPLETED
