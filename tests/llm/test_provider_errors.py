import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.llm.endpoint import Endpoint
from treadle.llm.provider_errors import (
    FaultKind,
    from_body,
    from_response,
    parse_retry_after,
    retryable_status,
)

ENDPOINT = Endpoint("fake", "m", "http://127.0.0.1:1/v1", key_name="FAKE_API_KEY")


@pytest.mark.parametrize(
    ("body", "status", "retryable", "words"),
    [
        ({"error": {"message": "m", "code": 502}}, 502, True, "m"),
        ({"error": {"message": "m", "code": "429"}}, 429, True, "m"),
        ({"error": {"message": "m", "type": "rate_limit_exceeded"}}, 429, True, "m"),
        ({"error": {"message": "m", "type": "overloaded_error"}}, 503, True, "m"),
        ({"error": {"message": "m", "code": "server_error"}}, 500, True, "m"),
        ({"error": {"message": "m", "code": "invalid_request_error"}}, 400, False, "m"),
        ({"error": {"message": "m", "code": 401}}, 401, False, "m"),
        ({"error": "plain words"}, None, True, "plain words"),
        ({"object": "error", "message": "old vLLM", "code": 400}, 400, False, "old vLLM"),
        (
            {"error": {"message": "Provider", "code": 502, "metadata": {"raw": "the cause"}}},
            502,
            True,
            "the cause",
        ),
    ],
)
def test_codes_of_every_shape_are_read(
    body: object, status: int | None, retryable: bool, words: str
) -> None:
    error = from_body(ENDPOINT, body)
    assert (error.status, error.retryable) == (status, retryable)
    assert words in error.message


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (404, "No endpoints found that support tool use", FaultKind.NO_TOOLS),
        (400, "registry/gemma:2b does not support tools", FaultKind.NO_TOOLS),
        (404, "model 'x' not found, try pulling it first", FaultKind.UNKNOWN_MODEL),
        (400, "the request exceeds the available context size", FaultKind.CONTEXT_LENGTH),
        (400, "This model's maximum context length is 8192 tokens", FaultKind.CONTEXT_LENGTH),
        (413, "Payload too large", FaultKind.CONTEXT_LENGTH),
        (503, "loading model", FaultKind.SERVER),
        (403, "country not supported", FaultKind.PERMISSION),
    ],
)
def test_statuses_and_texts_map_to_kinds(status: int, message: str, kind: FaultKind) -> None:
    error = from_response(ENDPOINT, status, {"error": {"message": message}}, {}, 0.0)
    assert error.kind is kind
    assert message in error.message


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, 'BedrockException - {"message":"This model doesn\'t support tool use."}'),
        (400, "This model doesn\u2019t support tool use in streaming mode."),
        (400, "UnsupportedParamsError: ollama does not support parameters: ['tools'], for gemma"),
        (400, "Tool use with function calling is unsupported"),
        (400, "The model does not support tool use or function calling but tools were specified"),
        (400, "Function calling is not enabled for models/gemma-3-27b-it"),
        (400, "Unsupported parameter: 'tools' is not supported with this model."),
        (400, "tools is not supported in this model."),
        (400, "`tool calling` is not supported with this model"),
        (400, "Unrecognized request argument supplied: tools"),
        (400, 'json: unknown field "tools"'),
        (422, "[{'type': 'extra_forbidden', 'loc': ('body', 'tools'), 'msg': 'Extra inputs'}]"),
        (405, "Tool calling is not supported for model: hermes-3"),
        (500, "Unsupported param: tools"),
        (500, "tools param requires --jinja flag"),
        (501, "Tool calls are not implemented"),
        (502, "upstream said: this model can't use tools"),
        (400, "该模型不支持工具调用"),
    ],
)
def test_refusals_of_tools_are_recognized(status: int, message: str) -> None:
    error = from_response(ENDPOINT, status, {"error": {"message": message}}, {}, 0.0)
    assert error.kind is FaultKind.NO_TOOLS


@pytest.mark.parametrize(
    "message",
    [
        "Invalid 'tools': array too long. Expected at most 8, but got 13 instead.",
        "Invalid schema for function 'grep': strict is not supported",
        "Unknown parameter: 'tools[0].function.strict'.",
        "Model does not support parallel tool calls",
        "parallel tool calls are not supported",
        "parallel_tool_calls is not supported",
        "This model only supports single tool-calls at once!",
        "An assistant message with 'tool_calls' must be followed by tool messages",
        "Image input is not supported with tools",
    ],
)
def test_other_refusals_about_tools_keep_the_tools(message: str) -> None:
    error = from_response(ENDPOINT, 400, {"error": {"message": message}}, {}, 0.0)
    assert error.kind is not FaultKind.NO_TOOLS


@pytest.mark.parametrize(
    "body",
    [
        [{"error": {"code": 400, "message": "the cause", "status": "INVALID_ARGUMENT"}}],
        {"errors": [{"message": "the cause", "code": 5021}], "success": False, "result": {}},
        {"error_code": 336003, "error_msg": "the cause"},
        {"base_resp": {"status_code": 1004, "status_msg": "the cause"}},
    ],
)
def test_the_text_is_found_in_bodies_of_other_shapes(body: object) -> None:
    error = from_response(ENDPOINT, 400, body, {}, 0.0)
    assert "the cause" in error.body
    assert "the cause" in error.message


def test_a_body_other_than_json_is_shortened() -> None:
    error = from_response(ENDPOINT, 502, "<html>" + "x" * 100_000, {}, 0.0)
    assert len(error.message) < 600
    assert len(error.body) < 2_000


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 40.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 300.0),
        ({"retry-after": "86400"}, 300.0),
        ({"retry-after": "-1"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers, now=60.0) == seconds


@given(st.text(max_size=40))
def test_any_retry_after_gives_a_wait_within_the_limit_or_none(text: str) -> None:
    seconds = parse_retry_after({"retry-after": text}, now=0.0)
    assert seconds is None or 0.0 <= seconds <= 300.0


def test_temporary_statuses_are_retried() -> None:
    retried = {s for s in range(400, 600) if retryable_status(s, asked_to_wait=False)}
    assert retried == {408, 409, 429, *range(500, 600)}
    assert retryable_status(402, asked_to_wait=True)
