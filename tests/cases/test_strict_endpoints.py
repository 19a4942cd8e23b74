"""Endpoints that are strict about a history: one refusal teaches Treadle, and the session
continues.

Cases F20 to F22, with messages of real servers.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.cases.playing import Play, both_ways, call, play, raw
from tests.fakes import strict_endpoint as strict
from tests.fakes.llama_server import STRICT_TEMPLATE, llama_server
from tests.fakes.provider import Reply
from tests.fakes.replies import Answer, Call, Script, body, error
from tests.session.parts import Echo, Gate, stage
from treadle.clock import SystemClock
from treadle.config.model import ProviderSettings, ToolSettings
from treadle.events.types import CallKey, FallbackApplied, RetryScheduled, StopReason
from treadle.llm.client import HttpChatModel
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from treadle.session.role import system_prompt

DONE = Answer("Done.")
RECORDED = Path(__file__).parent / "recorded"
"""Bytes from the llama.cpp server (scripts/record_llama_server.py)."""
FOREIGN = ["call_t1", "", "chatcmpl-tool-" + "a" * 20, "functions.echo:0", "same", "same", "é ü"]


def begun_elsewhere(at: Play, *ids: str, reasoning: str | None = None) -> None:
    """A conversation that another model started, with calls of those ids."""
    for turn, call_id in enumerate(ids):
        made = ToolCall(CallKey(turn, 0), call_id, "echo", '{"text": "a"}', "other")
        at.at.conversation.add(UserMessage(f"Question {turn}"), 0)
        reply = AssistantMessage(None, (made,), reasoning, None, "other", "another")
        at.at.conversation.add(reply, 0)
        at.at.conversation.add(ToolMessage(made.key, '{"ok": true}'), 0)
        at.at.conversation.add(AssistantMessage("Well.", provider="other", model="another"), 0)


ID_REFUSALS = [
    (r"[A-Za-z0-9]{9}", "Tool call id was {} but must be a-z, A-Z, 0-9, with a length of 9."),
    (r"[A-Za-z0-9]{9}", "Tool call IDs should be alphanumeric strings with length 9!"),
    (r"[A-Za-z0-9]{9}", "tool_call_id {} must be exactly nine letters or digits"),
    (r"[A-Za-z0-9]{9}", "invalid tool_call_id"),
    (
        r"[A-Za-z0-9_.:-]{1,24}",
        (
            "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with "
            "maximum length 24, but got a string with length 53 instead."
        ),
    ),
    (
        r"[a-zA-Z0-9_-]+",
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    (
        r"[a-zA-Z0-9_-]{1,36}",
        (
            "Value '{}' at 'messages.2.member.content.1.member.toolUse.toolUseId' failed to "
            "satisfy constraint: Member must satisfy regular expression pattern: "
            "[a-zA-Z0-9_-]{{1,36}}"
        ),
    ),
    (r"fc_?.+", "Invalid 'input[3].id': '{}'. Expected an ID that begins with 'fc'."),
    (r"toolu_.+", "tool_use id must start with `toolu_`"),
    (r"call_[a-z0-9]{24}", "tool_calls.0.id: expected format ^call_[a-z0-9]{{24}}$"),
    (
        r"[A-Za-z0-9_-]+",
        (
            "Invalid 'messages[1].tool_calls[0].id': Expected an ID that contains letters, "
            "numbers, underscores, or dashes, but this value contained additional characters."
        ),
    ),
    (r"[A-Za-z0-9]{1,12}", "tool call id must be alphanumeric and at most 12 characters"),
]


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize(("pattern", "words"), ID_REFUSALS)
async def test_f20_ids_are_rewritten_as_the_refusal_demands(
    pattern: str, words: str, status: int
) -> None:
    ids = strict.ids_like(pattern)

    def refusal(odd: str) -> Script:
        return error(status, words.format(odd))

    endpoint = [strict.strict_about(refusal, ids)] * 2
    calling = strict.strict_about(refusal, ids, answer=Answer("", [Call("echo", id="odd id!")]))
    async with play(*endpoint, calling, *endpoint[:1], *endpoint[:1]) as at:
        begun_elsewhere(at, *FOREIGN)
        assert (await at.ask("Go on")).text == "Done."
        assert (await at.ask("And now?")).text == "Done."
        assert (await at.ask("Again")).text == "Done."
        results = [m["tool_call_id"] for m in at.sent() if m["role"] == "tool"]
        assert results == [each["id"] for each in at.called()]
        assert at.at.seen(RetryScheduled) == []
        assert len(at.at.seen(FallbackApplied)) == 1


async def test_f20_a_second_refusal_selects_the_strictest_known_ids() -> None:
    refusal = error(400, "tool_call_id is too long: at most 20 characters")
    endpoint = [strict.strict_about(refusal, strict.ids_like("[A-Za-z0-9]{9}"))] * 3
    async with play(*endpoint) as at:
        begun_elsewhere(at, "call_with_a_long_id_of_another_model")
        assert (await at.ask()).text == "Done."


async def test_f20_a_refusal_that_persists_is_final() -> None:
    refusal = error(400, "invalid tool_call_id")
    async with play(refusal, refusal, DONE) as at:
        begun_elsewhere(at, "a")
        assert (await at.refused()).status == 400
        assert (await at.ask()).text == "Done."


@pytest.mark.parametrize(
    ("call_ids", "accepted"), [("nine", "[A-Za-z0-9]{9}"), ("plain", "[A-Za-z0-9_-]{1,40}")]
)
async def test_f20_the_form_of_ids_can_be_set(call_ids: str, accepted: str) -> None:
    endpoint = strict.strict_about(error(400, "no"), strict.ids_like(accepted))
    async with play(endpoint, call_ids=call_ids) as at:
        begun_elsewhere(at, *FOREIGN)
        assert (await at.ask()).text == "Done."


MISTRAL = {
    "object": "error",
    "message": "Unexpected role 'user' after role 'tool'",
    "type": "invalid_request_message_order",
    "param": None,
    "code": "3230",
}
JINJA = (
    "\n------------\nWhile executing CallExpression at line 189, column 32 in source:\n...== 0) %}"
    "            {{- raise_exception('After the optional system message, con...\nError: Jinja "
    "Exception: After the optional system message, conversation roles must alternate user and "
    "assistant roles except for tool calls and results."
)
ORDER_REFUSALS: list[Script] = [
    body(MISTRAL, status=400),
    error(500, JINJA, type="server_error"),
    error(500, "Jinja Exception: Conversation roles must alternate user/assistant/user/..."),
    error(400, "Conversation roles must alternate user/assistant/user/assistant/..."),
    error(
        400,
        "After the (optional) system message(s), user or tool message(s) should alternate with "
        "assistant message(s).",
    ),
    error(
        400,
        "invalid request: cannot specify message if the last entry in chat history contains tool "
        "results",
    ),
    error(400, "对话角色必须交替出现"),
    error(500, "Error rendering prompt with jinja template: it failed"),
    error(422, "Expected last role Assistant after tool, got user"),
    body({"error": {"message": JINJA, "code": 500}}),
    error(400, 'messages: first message must use the "user" role'),
    error(400, "consecutive messages of the same role are not supported"),
    error(400, "A tool message must be followed by an assistant message"),
    Script(
        ((RECORDED / "llama_cpp_roles.json").read_bytes(),),
        400,
        {"content-type": "application/json"},
    ),
]
ORDER = strict.roles_alternate, strict.reply_after_tool, strict.begins_with_user


@pytest.mark.parametrize("refusal", ORDER_REFUSALS)
async def test_f21_the_next_question_after_a_cancelled_turn(refusal: Script) -> None:
    tool = Gate()
    endpoint: list[Reply] = [strict.strict_about(refusal, *ORDER)] * 3
    async with play(Answer("", [Call("gate", {"text": "a"})]), *endpoint, tools=[tool]) as at:
        running = asyncio.ensure_future(at.ask())
        await tool.entered("a")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await at.ask("And now?")).text == "Done."
        assert (await at.ask("And then?")).text == "Done."
        assert at.at.seen(RetryScheduled) == []


@both_ways
async def test_f21_the_turn_limit_and_the_question_after_it(stream: bool) -> None:
    endpoint = strict.strict_about(ORDER_REFUSALS[0], *ORDER)
    calling = Answer("", [Call("echo")])
    async with play(*[calling] * 3, *[endpoint] * 2, stream=stream) as at:
        assert (await at.ask(max_turns=3)).stop_reason is StopReason.TURN_LIMIT
        assert (await at.ask("And now?")).text == "Done."


async def test_f21_a_message_that_steers() -> None:
    tool = Gate()
    endpoint = strict.strict_about(ORDER_REFUSALS[1], *ORDER)
    replies = Answer("", [Call("gate", {"text": "a"})]), endpoint, endpoint
    async with play(*replies, tools=[tool]) as at:
        session = at.at.session(at.model)
        running = asyncio.ensure_future(session.run("Go"))
        await tool.entered("a")
        assert await session.steer("Rather this")
        tool.open("a")
        assert (await running).text == "Done."
        assert "Rather this" in str(at.sent()[-1]["content"])


async def test_f21_alternation_can_be_set() -> None:
    async with play(strict.strict_about(error(400, "no"), *ORDER), alternating_roles=True) as at:
        made = ToolCall(CallKey(0, 0), "a", "echo", "{}")
        at.at.conversation.add(AssistantMessage(None, (made,)), 0)
        assert (await at.ask()).text == "Done."


async def test_f21_unknown_refusals_are_retried_like_any_failure() -> None:
    async with play(error(500, "roles must alternate"), DONE) as at:
        assert (await at.ask()).text == "Done."
        assert len(at.at.seen(RetryScheduled)) == 1


WANTED = [
    error(400, "The `reasoning_content` in the thinking mode must be passed back to the API."),
    error(
        400,
        "thinking is enabled but reasoning_content is missing in assistant tool call message at "
        "index 2",
    ),
    error(400, "Missing `reasoning_content` field in the assistant message at message index 2"),
    error(400, "messages[2]: reasoning_content must not be empty when thinking is enabled"),
    error(400, "思考模式下 `reasoning_content` 必须返回给 API; 不能为空"),
    body(
        {
            "error": {
                "code": "400",
                "message": "Param Incorrect",
                "param": "The reasoning_content in the thinking mode must be passed back.",
            }
        },
        status=400,
    ),
    body(
        {
            "detail": [
                {
                    "type": "missing",
                    "loc": ["body", "messages", 2, "assistant", "reasoning_content"],
                    "msg": "Field required",
                }
            ]
        },
        status=422,
    ),
    error(400, "In thinking mode, every assistant message needs `reasoning_content`"),
    error(400, "Error from provider: [invalid_request] `reasoning_content` 必须返回给 API"),
    body(
        {
            "error": {
                "code": 400,
                "message": "Provider returned error",
                "metadata": {"raw": '{"message":"reasoning_content is required with content"}'},
            }
        },
        status=400,
    ),
]


@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.parametrize("refusal", WANTED)
async def test_f22_reasoning_that_must_be_passed_back(refusal: Script, filled: bool) -> None:
    rule = strict.has_reasoning(filled=filled)
    endpoint: list[Reply] = [strict.strict_about(refusal, rule)] * (3 if filled else 2)
    thought = raw(call("echo", arguments="{}"), reasoning_content="Hm.")
    async with play(*endpoint, thought, *endpoint[:2]) as at:
        begun_elsewhere(at, "a", "b", reasoning="Of another model.")
        assert (await at.ask()).text == "Done."
        assert (await at.ask("And now?")).text == "Done."
        assert (await at.ask("Again")).text == "Done."
        replies = [m for m in at.sent() if m["role"] == "assistant"]
        assert "Hm." in [m["reasoning_content"] for m in replies]
        assert "Of another model." not in [m["reasoning_content"] for m in replies]


@pytest.mark.parametrize("written", ["", None, "absent"])
async def test_f22_an_empty_reasoning_content_goes_back(written: str | None) -> None:
    fields: dict[str, Any] = {} if written == "absent" else {"reasoning_content": written}
    replies: list[Reply] = [
        raw(call("echo", arguments="{}"), **fields),
        *[strict.strict_about(WANTED[0], strict.has_reasoning())] * 2,
    ]
    async with play(*replies) as at:
        assert (await at.ask()).text == "Done."
        assert [m["reasoning_content"] for m in at.sent() if m["role"] == "assistant"] == [""]


REFUSED: list[Callable[[str], Script]] = [
    lambda name: error(
        400, f"messages.2.assistant.{name}: property 'messages.2.assistant.{name}' is unsupported"
    ),
    lambda name: body(
        {
            "object": "error",
            "message": {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "messages", 2, "assistant", name],
                        "msg": "Extra inputs are not permitted",
                        "input": "must be passed back: reasoning_text",
                    }
                ]
            },
        },
        status=422,
    ),
    lambda name: error(400, f"Invalid JSON: unknown field `{name}`, expected one of `content`"),
    lambda name: error(500, f"Unrecognized request argument supplied: {name}"),
    lambda name: error(400, f"Additional properties are not allowed ('{name}' was unexpected)"),
    lambda name: error(400, f"{name} should not be included in the input messages"),
    lambda name: error(400, f"property '{name}' is not supported, remove it and content stays"),
]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("refusal", REFUSED)
async def test_f22_reasoning_that_is_not_permitted(
    refusal: Callable[[str], Script], field: str
) -> None:
    thought = raw(call("echo", arguments="{}"), text="I look.", **{field: "Hm."})
    endpoint: list[Reply] = [strict.strict_about(refusal, strict.no_field(field))] * 2
    async with play(thought, *endpoint, *endpoint[:1]) as at:
        assert (await at.ask()).text == "Done."
        assert (await at.ask("And now?")).text == "Done."
        assert field not in at.sent()[2]
        assert len(at.at.seen(FallbackApplied)) == 1


async def test_f22_one_field_is_refused_and_another_is_required() -> None:
    thought = raw(call("echo", arguments="{}"), reasoning="Hm.")
    refused = strict.strict_about(REFUSED[0], strict.no_field("reasoning"))
    wanted = strict.strict_about(WANTED[0], strict.has_reasoning())

    def endpoint(request: Any) -> Any:
        first = refused(request)
        return first if isinstance(first, Script) else wanted(request)

    async with play(thought, endpoint, endpoint, endpoint) as at:
        assert (await at.ask()).text == "Done."
        assert at.sent()[2]["reasoning_content"] == "Hm."


OTHERS = [
    (strict.no_system, error(400, "System role not supported")),
    (strict.no_system, error(500, "Jinja Exception: System role not supported")),
    (
        strict.no_system,
        error(400, "Unsupported value: 'messages[0].role' does not support 'system' here."),
    ),
    (strict.single_calls, error(500, "This model only supports single tool-calls at once!")),
    (strict.single_calls, error(400, "parallel tool calls are not supported")),
    (
        strict.named_results,
        error(
            400,
            "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name "
            "cannot be empty.",
        ),
    ),
    (
        strict.signed_calls,
        error(400, "Function call is missing a thought_signature in functionCall parts."),
    ),
    (strict.filled_content, error(400, "messages: text content blocks must be non-empty")),
    (
        strict.filled_content,
        error(400, "The text field in the ContentBlock object at messages.1 is blank."),
    ),
    (strict.no_tools, error(400, "Only user and assistant roles are supported!")),
]


@pytest.mark.parametrize(("rule", "refusal"), OTHERS)
async def test_other_demands_of_strict_endpoints_are_learnt(
    rule: strict.Rule, refusal: Script
) -> None:
    parallel = AssistantMessage(
        None, tuple(ToolCall(CallKey(0, slot), str(slot), "echo", "{}") for slot in range(2))
    )
    endpoint: list[Reply] = [strict.strict_about(refusal, rule)] * 2
    async with play(*endpoint, *endpoint[:1], tools=[Echo()]) as at:
        for message in (UserMessage("Hi"), parallel, ToolMessage(CallKey(0, 0), "")):
            at.at.conversation.add(message, 0)
        assert (await at.ask()).text == "Done."
        assert (await at.ask("And now?")).text == "Done."
        assert len(at.at.seen(FallbackApplied)) == 1


@both_ways
async def test_f26_the_prompt_does_not_mention_tools_if_there_are_none(stream: bool) -> None:
    refusal = error(404, "No endpoints found that support tool use")
    async with play(refusal, DONE, tools=[Finder()], stream=stream) as at:
        assert (await at.ask()).text == "Done."
        first, second = (str(at.sent(number)[0]["content"]) for number in (0, 1))
        assert "request_code_context" in first
        assert second == system_prompt("/repo", ())
        assert "request_code_context" not in second


async def test_f26_the_last_turn_without_tools_does_not_demand_them() -> None:
    calling = Answer("", [Call("request_code_context")])
    async with play(calling, DONE, tools=[Finder()]) as at:
        assert (await at.ask(max_turns=2)).stop_reason is StopReason.TURN_LIMIT
        assert "request_code_context," not in str(at.sent()[0]["content"])


async def test_f26_a_model_whose_roles_know_no_tools() -> None:
    refusal = error(500, "Only user and assistant roles are supported!")
    endpoint = strict.strict_about(refusal, strict.no_tools)
    async with play(
        Answer("", [Call("request_code_context")]), *[endpoint] * 2, tools=[Finder()]
    ) as at:
        assert (await at.ask()).text == "Done."
        assert "request_code_context," not in str(at.sent()[0]["content"])


class Finder(Echo):
    """Has the name of the tool that the system prompt demands."""

    name: ClassVar[str] = "request_code_context"


@pytest.mark.slow
@pytest.mark.model
async def test_f21_a_real_server_whose_template_wants_alternating_roles() -> None:
    with llama_server(STRICT_TEMPLATE) as base_url:
        endpoint = Endpoint("llamacpp", "m", base_url, settings=ProviderSettings(max_retries=0))
        model = HttpChatModel(endpoint)
        try:
            async with stage(Finder(), clock=SystemClock()) as at:
                made = ToolCall(CallKey(0, 0), "a", "request_code_context", "{}")
                at.conversation.add(UserMessage("Where is it?"), 0)
                at.conversation.add(AssistantMessage(None, (made,)), 0)
                at.conversation.add(ToolMessage(made.key, '{"ok": true}'), 0)
                for question in ("And the parser?", "And saving?"):
                    settings = ToolSettings(max_turns=2)
                    await at.session(model, settings=settings).run(question)
                changes = [event.change for event in at.seen(FallbackApplied)]
                assert changes == ["the roles of messages now alternate"]
        finally:
            await model.close()
