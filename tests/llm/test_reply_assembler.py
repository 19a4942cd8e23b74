import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.replies import Answer, Call, call_delta, delta, usage, usage_chunk
from treadle.events.types import CallKey, Usage
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import ModelReply
from treadle.llm.provider_errors import FaultKind, ProviderError
from treadle.llm.reply_assembler import DeltaAssembler
from treadle.llm.reply_stream import Data, SseReader

ENDPOINT = Endpoint("fake", "fake-model", "http://127.0.0.1:1/v1")
TOOLS = frozenset({"grep", "read_file", "list", "list_dir"})


def assemble(*chunks: object, done: bool = True) -> ModelReply:
    assembler = DeltaAssembler(ENDPOINT, turn=3, tools=TOOLS)
    for chunk in chunks:
        assembler.feed(chunk)
    return assembler.reply(done=done)


def calls(*chunks: object) -> list[tuple[str, str, str]]:
    reply = assemble(*chunks, delta(finish_reason="tool_calls"))
    assert [call.key for call in reply.message.calls] == [
        CallKey(3, slot) for slot in range(len(reply.message.calls))
    ]
    return [(call.call_id, call.name, call.arguments) for call in reply.message.calls]


def test_t6_new_ids_under_one_index_open_new_calls() -> None:
    assert calls(
        call_delta(0, id="a", name="grep", arguments=""),
        call_delta(0, arguments='{"x": 1}'),
        call_delta(0, id="b", name="grep", arguments=""),
        call_delta(0, arguments='{"x": 2}'),
    ) == [("a", "grep", '{"x": 1}'), ("b", "grep", '{"x": 2}')]


def test_t6_fragments_under_one_index_are_separated_by_their_ids() -> None:
    assert calls(
        call_delta(0, id="a", name="grep", arguments='{"x"'),
        call_delta(0, id="b", name="list", arguments='{"y"'),
        call_delta(0, id="a", arguments=": 1}"),
        call_delta(0, id="b", arguments=": 2}"),
    ) == [("a", "grep", '{"x": 1}'), ("b", "list", '{"y": 2}')]


def test_t6_a_new_name_after_finished_json_opens_a_new_call() -> None:
    assert calls(
        call_delta(0, name="grep", arguments='{"x": 1}'),
        call_delta(0, name="list", arguments='{"y": 2}'),
        call_delta(0, name="list", arguments="{}"),
    ) == [("", "grep", '{"x": 1}'), ("", "list", '{"y": 2}'), ("", "list", "{}")]


def test_t6_the_same_tool_twice_without_ids() -> None:
    assert calls(
        call_delta(0, name="grep", arguments=""),
        call_delta(0, arguments='{"x": 1}'),
        call_delta(0, name="grep", arguments=""),
        call_delta(0, arguments='{"x": 2}'),
    ) == [("", "grep", '{"x": 1}'), ("", "grep", '{"x": 2}')]


def test_two_names_without_arguments_are_two_calls() -> None:
    assert calls(call_delta(0, name="list"), call_delta(0, name="grep", arguments="{}")) == [
        ("", "list", ""),
        ("", "grep", "{}"),
    ]


def test_t7_interleaved_by_index_with_ids_only_on_the_first_fragment() -> None:
    assert calls(
        call_delta(0, id="a", name="grep", arguments=""),
        call_delta(1, id="b", name="list", arguments=""),
        call_delta(1, arguments='{"y'),
        call_delta(0, arguments='{"x'),
        call_delta(1, arguments='": 2}'),
        call_delta(0, arguments='": 1}'),
    ) == [("a", "grep", '{"x": 1}'), ("b", "list", '{"y": 2}')]


def test_t3_equal_ids_under_different_indexes_are_two_calls() -> None:
    assert calls(
        call_delta(0, id="same", name="grep", arguments="{}"),
        call_delta(1, id="same", name="list", arguments="{}"),
    ) == [("same", "grep", "{}"), ("same", "list", "{}")]


def test_calls_without_index_are_gathered_by_id() -> None:
    assert calls(
        call_delta(None, id="a", name="grep", arguments='{"x"'),
        call_delta(None, arguments=": 1}"),
        call_delta(None, id="b", name="list", arguments="{}"),
    ) == [("a", "grep", '{"x": 1}'), ("b", "list", "{}")]


@pytest.mark.parametrize(
    "names",
    [
        ["grep", None, ""],
        ["", "grep"],
        [None, "grep", "grep"],
        ["gr", "ep"],
        ["gr", "grep"],
        ["grep", "grep", "grep"],
    ],
)
def test_t9_names_come_late_in_parts_repeated_or_empty(names: list[str | None]) -> None:
    def fragment(name: str | None, arguments: str = "") -> object:
        function = {"name": name, "arguments": arguments}
        return delta(tool_calls=[{"index": 0, "id": "", "function": function}])

    fragments = [fragment(name) for name in names]
    assert calls(
        call_delta(0, id="a", arguments=""), *fragments, fragment("", '{"x": 1}'), fragment(None)
    ) == [("a", "grep", '{"x": 1}')]


def test_t9_a_name_repeated_with_every_fragment_is_not_doubled() -> None:
    assert calls(
        call_delta(0, id="a", name="list_dir", arguments='{"x"'),
        call_delta(0, id="a", name="list_dir", arguments=": 1}"),
        call_delta(0, id="a", name="list_dir", arguments=""),
    ) == [("a", "list_dir", '{"x": 1}')]


def test_arguments_that_come_as_an_object_are_written_as_json() -> None:
    function = {"name": "grep", "arguments": {"x": 1}}
    assert calls(delta(tool_calls=[{"index": 0, "function": function}, None])) == [
        ("", "grep", '{"x": 1}')
    ]


@pytest.mark.parametrize("reason", ["stop", "something new", "tool_calls"])
def test_t23_calls_count_whatever_the_finish_reason(reason: str) -> None:
    reply = assemble(call_delta(0, id="a", name="grep"), delta(finish_reason=reason))
    assert [call.name for call in reply.message.calls] == ["grep"]
    assert reply.finish_reason == reason


def test_a_truncated_call_keeps_its_incomplete_arguments() -> None:
    reply = assemble(
        delta(content="Looking"),
        call_delta(0, id="a", name="grep", arguments='{"x": 1}'),
        call_delta(1, id="b", name="grep", arguments='{"x": '),
        delta(finish_reason="length"),
    )
    assert [call.arguments for call in reply.message.calls] == ['{"x": 1}', '{"x": ']


def test_t25_chunks_without_choices_are_skipped_and_their_usage_read() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 4}, "cost": 0.25}
    reply = assemble(
        {"choices": [], "prompt_filter_results": []},
        {"choices": None},
        delta(content="Hi"),
        delta(finish_reason="stop"),
        usage_chunk(usage(10, 5, completion_tokens_details={"reasoning_tokens": 2}, **details)),
    )
    assert reply.usage == Usage(input=10, output=5, cached=4, reasoning=2)
    assert reply.cost == 0.25
    assert reply.message.text == "Hi"


def test_unknown_usage_stays_unknown() -> None:
    reply = assemble(delta(content="Hi", finish_reason="stop"))
    assert reply.usage == Usage()
    assert reply.cost is None


@pytest.mark.parametrize(
    "chunk",
    [
        {"error": {"message": "overloaded", "code": 502}},
        {"choices": [{"index": 0, "delta": {}, "error": {"message": "overloaded", "code": 502}}]},
        {"object": "error", "message": "overloaded", "code": 502},
        {
            "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}],
            "error": {"message": "overloaded", "code": "502"},
        },
    ],
)
def test_t19_an_error_in_mid_stream_is_raised_with_its_code(chunk: object) -> None:
    with pytest.raises(ProviderError, match="overloaded") as caught:
        assemble(call_delta(0, id="a", name="grep", arguments="{"), chunk)
    assert caught.value.status == 502
    assert caught.value.retryable


def test_t19_a_finish_reason_of_error_is_an_error() -> None:
    with pytest.raises(ProviderError) as caught:
        assemble(delta(content="x"), delta(finish_reason="error"))
    assert caught.value.kind is FaultKind.SERVER


def test_t21_a_stream_without_an_end_is_incomplete() -> None:
    with pytest.raises(ProviderError) as caught:
        assemble(call_delta(0, id="a", name="grep", arguments='{"x'), done=False)
    assert caught.value.kind is FaultKind.INCOMPLETE
    assert caught.value.retryable


def test_t21_a_finish_reason_without_done_is_complete() -> None:
    assert assemble(delta(content="Hi", finish_reason="stop"), done=False).message.text == "Hi"


def test_nothing_at_all_is_incomplete() -> None:
    with pytest.raises(ProviderError):
        assemble({"choices": []}, done=True)


def test_a_refusal_is_the_text_of_the_reply() -> None:
    assert assemble(delta(refusal="I can't"), delta(finish_reason="stop")).message.text == "I can't"


def test_content_in_parts_is_text_and_reasoning() -> None:
    reply = assemble(
        delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]),
        delta(content=[{"type": "text", "text": "Hi"}], finish_reason="stop"),
    )
    assert (reply.message.text, reply.message.reasoning) == ("Hi", "hm")


def opaque(reply: ModelReply) -> Any:
    assert reply.message.opaque is not None
    return json.loads(reply.message.opaque)


def test_t29_reasoning_is_kept_with_the_name_of_its_field() -> None:
    reply = assemble(delta(reasoning="hm "), delta(reasoning="ok"), delta(finish_reason="stop"))
    assert reply.message.reasoning == "hm ok"
    assert opaque(reply) == {"reasoning": None}


def test_t30_reasoning_details_keep_their_order_and_blocks_are_joined() -> None:
    encrypted = {"type": "reasoning.encrypted", "data": "xyz", "id": "r1", "index": 1}
    reply = assemble(
        delta(reasoning_details=[{"type": "reasoning.text", "text": "Let", "index": 0}]),
        delta(reasoning_details=[{"type": "reasoning.text", "text": " me", "index": 0}]),
        delta(reasoning_details=[encrypted]),
        delta(reasoning_details=[{"type": "reasoning.text", "signature": "s", "index": 0}]),
        delta(finish_reason="stop"),
    )
    whole = {"type": "reasoning.text", "text": "Let me", "index": 0, "signature": "s"}
    assert opaque(reply) == {"reasoning_details": [whole, encrypted]}


def test_t30_signatures_on_calls_are_kept() -> None:
    reply = assemble(
        call_delta(0, id="a", name="grep", extra_content={"google": {"thought_signature": "s"}}),
        delta(finish_reason="stop"),
    )
    assert reply.message.calls[0].opaque is not None
    assert json.loads(reply.message.calls[0].opaque) == {
        "extra_content": {"google": {"thought_signature": "s"}}
    }


@given(
    answer=st.builds(
        Answer,
        text=st.text(max_size=40),
        reasoning=st.text(max_size=20),
        calls=st.lists(
            st.builds(
                Call,
                name=st.sampled_from(sorted(TOOLS)),
                arguments=st.dictionaries(st.text(max_size=5), st.text(max_size=12), max_size=3),
                id=st.none() | st.just("same") | st.just(""),
            ),
            max_size=3,
        ),
        piece=st.integers(1, 7),
    ),
    size=st.integers(1, 60),
)
def test_a_stream_cut_anywhere_gives_the_reply_of_the_whole_body(answer: Answer, size: int) -> None:
    assembler = DeltaAssembler(ENDPOINT, turn=3, tools=TOOLS)
    reader = SseReader()
    steps = answer.script(stream=True).steps
    stream = b"".join(step for step in steps if isinstance(step, bytes))
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    shown = ""
    for event in [event for chunk in chunks for event in reader.feed(chunk)]:
        assert isinstance(event, Data)
        if event.text != "[DONE]":
            shown += "".join(s.text for s in assembler.feed(json.loads(event.text)))
    streamed = assembler.reply(done=True)

    (body,) = answer.script(stream=False).steps
    assert isinstance(body, bytes)
    whole = DeltaAssembler(ENDPOINT, turn=3, tools=TOOLS)
    whole.feed_whole(json.loads(body))
    assert streamed == whole.reply(done=True)
    assert shown == answer.reasoning + answer.text


def test_usage_in_a_choice_is_read() -> None:
    """earendil-works/pi#2017: Moonshot streams it there and nowhere else."""
    last = delta(finish_reason="stop")
    last["choices"] = [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage(100, 20)}]
    assert assemble(delta(content="Hi"), last).usage == Usage(input=100, output=20)


@pytest.mark.parametrize("later", [usage(0, 0), None])
def test_later_zeros_do_not_erase_a_usage_next_to_choices(later: dict[str, object] | None) -> None:
    """BerriAI/litellm#36168: the usage comes with the last choice."""
    cached = {"cached_tokens": 64}
    last = {**delta(finish_reason="stop"), "usage": usage(100, 20, prompt_tokens_details=cached)}
    after: dict[str, object] = {"choices": [], "usage": later}
    expected = Usage(input=100, output=20, cached=64)
    assert assemble(delta(content="Hi"), last, after).usage == expected
