"""Too long prompts (F24), with messages of many providers, proxies and servers."""

import json
from pathlib import Path

import pytest

from tests.cases.playing import Play, both_ways, play
from tests.fakes.provider import RecordedRequest
from tests.fakes.replies import Answer, Call, Script, body, error, sse
from treadle.events.types import Notice, RetryScheduled
from treadle.llm.error_texts import is_overflow, read_window
from treadle.llm.messages import AssistantMessage, UserMessage
from treadle.llm.provider_errors import FaultKind

DONE = Answer("Done.")
NGINX = (
    b"<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<center>"
    b"<h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx/1.25.3</center>\r\n"
    b"</body>\r\n</html>\r\n"
)
HTML = {"content-type": "text/html"}

SAID: dict[str, tuple[int, str, int | None]] = {
    "openai": (
        400,
        (
            "This model's maximum context length is 128000 tokens. However, your messages "
            "resulted in "
            "150123 tokens. Please reduce the length of the messages."
        ),
        128_000,
    ),
    "openai responses": (400, "Your input exceeds the context window of this model.", None),
    "openai rate": (
        429,
        (
            "Request too large for gpt-4o in organization org-x on tokens per min (TPM): "
            "Limit 30000, "
            "Requested 35210. The input or output tokens must be reduced in order to run."
        ),
        30_000,
    ),
    "azure": (
        400,
        (
            "This model's maximum context length is 16385 tokens, however you requested "
            "17012 tokens "
            "(16012 in your prompt; 1000 for the completion). Please reduce your prompt."
        ),
        16_385,
    ),
    "anthropic": (400, "prompt is too long: 213462 tokens > 200000 maximum", 200_000),
    "anthropic output": (
        400,
        (
            "input length and `max_tokens` exceed context limit: 170636 + 34048 > 200000, decrease "
            "input length or `max_tokens` and try again"
        ),
        200_000,
    ),
    "anthropic size": (413, "Request exceeds the maximum size", None),
    "gemini": (
        400,
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        1_048_575,
    ),
    "mistral": (
        400,
        (
            "Prompt contains 40213 tokens and 0 draft tokens, too large for model with "
            "32768 maximum "
            "context length"
        ),
        32_768,
    ),
    "groq": (400, "Please reduce the length of the messages or completion.", None),
    "groq rate": (
        413,
        (
            "Request too large for model `x` in organization `o` service tier `on_demand` "
            "on tokens "
            "per minute (TPM): Limit 6000, Requested 7012, please reduce your message size"
        ),
        6_000,
    ),
    "together": (
        422,
        (
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. "
            "Given: 9123 "
            "`inputs` tokens and 100 `max_new_tokens`"
        ),
        8_193,
    ),
    "fireworks": (
        400,
        "The prompt is too long: 100123, model maximum context length: 65535",
        65_535,
    ),
    "openrouter": (
        400,
        (
            "This endpoint's maximum context length is 131072 tokens. However, you requested about "
            "150023 tokens (149000 of text input). Please reduce the length of either one, "
            "or use the "
            '"middle-out" transform to compress your prompt automatically.'
        ),
        131_072,
    ),
    "poolside": (
        400,
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        131_040,
    ),
    "vllm": (
        400,
        (
            "This model's maximum context length is 262144 tokens. However, you requested 0 output "
            "tokens and your prompt contains at least 262145 input tokens, for a total of at least "
            "262145 tokens. (parameter=input_tokens, value=262145)"
        ),
        262_144,
    ),
    "sglang": (
        400,
        "The input (400013 tokens) is longer than the model's context length (262144 tokens).",
        262_144,
    ),
    "tgi": (
        422,
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 1100",
        1_024,
    ),
    "llama.cpp": (
        400,
        "request (9210 tokens) exceeds the available context size (8192 tokens), try increasing it",
        8_192,
    ),
    "llama.cpp old": (
        500,
        "the request exceeds the available context size. try increasing it",
        None,
    ),
    "lm studio": (
        400,
        (
            "The number of tokens to keep from the initial prompt is greater than the "
            "context length "
            "(n_keep: 10247 >= n_ctx: 4096). Try to load the model with a larger context length."
        ),
        4_096,
    ),
    "lm studio old": (
        400,
        (
            "Trying to keep the first 15857 tokens when context the overflows. However, the "
            "model is "
            "loaded with context length of only 4096 tokens, which is not enough."
        ),
        4_096,
    ),
    "lm studio mlx": (500, "Context size has been exceeded.", None),
    "ollama": (500, "prompt too long; exceeded max context length by 1203 tokens", None),
    "litellm": (
        400,
        (
            "litellm.ContextWindowExceededError: litellm.BadRequestError: "
            "ContextWindowExceededError: "
            "OpenAIException - This model's maximum context length is 4097 tokens."
        ),
        4_097,
    ),
    "bedrock": (400, "Input is too long for requested model.", None),
    "bedrock converse": (400, "The model returned: Too many input tokens. Max: 200000", None),
    "xai": (
        400,
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        131_072,
    ),
    "moonshot": (400, "Invalid request: Your request exceeded model token limit: 262144", 262_144),
    "minimax": (400, "invalid params, context window exceeds limit (2013)", None),
    "copilot": (400, "prompt token count of 100123 exceeds the limit of 64000", 64_000),
    "github models": (
        413,
        "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        8_000,
    ),
    "cerebras": (
        400,
        (
            "Please reduce the length of the messages or completion. Current length is 8193 while "
            "limit is 8192"
        ),
        8_192,
    ),
    "dashscope": (400, "Range of input length should be [1, 129024]", 129_024),
    "zhipu": (400, "Prompt exceeds max length", None),
    "perplexity": (400, "The total length of all messages is too long.", None),
    "cohere": (
        400,
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292",
        None,
    ),
    "token limit": (422, "token limit exceeded", None),
    "size limit": (400, "Request exceeds 20 MB limit", None),
    "zhipu in Chinese": (400, "Prompt 超长", None),
    "in Chinese": (400, "输入的 token 数超过模型最大上下文", None),
    "allowed": (400, "maximum allowed number of input tokens is 32000", 32_000),
    "vllm, no room for a reply": (400, "max_tokens must be at least 1, got -2000.", None),
    "vllm, reply beside the prompt": (
        400,
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum "
            "context length is 8192 tokens and your request has 7000 input tokens (4096 > 8192 - "
            "7000)."
        ),
        8_192,
    ),
    "llama.cpp, older": (500, "context shift is disabled", None),
    "anthropic bytes": (400, "too many total text bytes: 12000000 > 9000000", 9_000_000),
    "a bare code": (400, "tokens_limit_reached", None),
    "characters": (400, "messages.0.content: Input should have at most 200000 characters", None),
    "upstream": (502, "Upstream error: prompt is too long for the context window", None),
}

NOT_SAID = [
    (400, "max_tokens is too large: 40000. This model supports at most 16384 completion tokens"),
    (400, "Invalid 'messages[2].tool_calls[0].id': string too long. Expected at most 40, got 53"),
    (400, "Invalid 'tools[0].function.name': string too long. Expected at most 64, got 70"),
    (400, "Invalid 'tools': array too long. Expected at most 128, but got 150 instead."),
    (400, "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens"),
    (400, "Range of max_tokens should be [1, 8192]"),
    (429, "Too many tokens, please wait before trying again."),
    (429, "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000"),
    (400, "Invalid value for temperature"),
    (500, "Internal server error"),
    (400, "messages.1.content: Input should be a valid string"),
    (400, "The `reasoning_content` in the thinking mode must be passed back to the API."),
    (400, "Tool call id was call_t1 but must be a-z, A-Z, 0-9, with a length of 9."),
]


@pytest.mark.parametrize(("status", "text"), NOT_SAID)
def test_f24_other_refusals_are_not_context_overflows(status: int, text: str) -> None:
    assert not is_overflow(status, text)


@pytest.mark.parametrize("name", SAID)
def test_f24_the_limit_is_read_from_the_message(name: str) -> None:
    _status, text, limit = SAID[name]
    if limit is not None:
        assert read_window(text).limit == limit


def long_history(at: Play, exchanges: int = 6) -> None:
    for number in range(exchanges):
        at.at.conversation.add(UserMessage(f"Question {number}? " + "word " * 400), 0)
        at.at.conversation.add(AssistantMessage(f"Answer {number}."), 0)


def smaller_than(request: RecordedRequest, size: int) -> bool:
    return len(json.dumps(request.messages)) < size


@pytest.mark.parametrize("name", SAID)
async def test_f24_the_history_is_shrunk_once_and_sent_again(name: str) -> None:
    status, text, _ = SAID[name]
    sizes: list[int] = []

    def endpoint(request: RecordedRequest) -> Script | Answer:
        sizes.append(len(json.dumps(request.messages)))
        return error(status, text) if not smaller_than(request, 12_000) else DONE

    async with play(endpoint, endpoint, endpoint, endpoint) as at:
        long_history(at)
        assert (await at.ask("And now?")).text == "Done."
        assert sizes[1] < sizes[0]
        assert "And now?" in str(at.sent()[-1]["content"])
        assert at.at.seen(RetryScheduled) == []
        assert any("too long" in notice.text for notice in at.at.seen(Notice))
        assert (await at.ask("And then?")).text == "Done."


@both_ways
async def test_f24_an_html_page_of_a_proxy(stream: bool) -> None:
    page = Script((NGINX,), 413, HTML)
    async with play(page, DONE, stream=stream) as at:
        long_history(at)
        assert (await at.ask()).text == "Done."
        assert len(at.sent(1)) < len(at.sent(0))


@both_ways
async def test_f24_a_history_that_cannot_shrink_gets_our_own_error(stream: bool) -> None:
    async with play(Script((NGINX,), 413, HTML), stream=stream) as at:
        caught = await at.refused()
        assert caught.kind is FaultKind.CONTEXT_LENGTH
        assert "finds the prompt too long" in caught.message
        assert "<" not in caught.message
        assert "Request Entity Too Large" in caught.message
        assert caught.hint is not None
        assert "context_window" in caught.hint


async def test_f24_the_history_is_shrunk_at_most_once() -> None:
    refusal = error(400, SAID["anthropic"][1])
    async with play(refusal, refusal, DONE) as at:
        long_history(at, 12)
        assert (await at.refused()).kind is FaultKind.CONTEXT_LENGTH
        assert (await at.ask()).text == "Done."


async def test_f24_the_smaller_window_is_kept_for_the_session() -> None:
    calling = Answer("", [Call("echo", {"text": "a"})])
    async with play(error(400, SAID["llama.cpp"][1]), calling, DONE) as at:
        long_history(at)
        assert (await at.ask()).text == "Done."
        assert len(at.sent(2)) < len(at.sent(0))


async def test_f24_an_error_inside_of_a_200() -> None:
    fault = {"error": {"message": SAID["llama.cpp"][1], "type": "exceed_context_size_error"}}
    async with play(sse(fault), DONE, body(fault), DONE) as at:
        long_history(at)
        assert (await at.ask()).text == "Done."
        long_history(at)
        assert (await at.ask()).text == "Done."


async def test_f24_old_results_of_the_run_are_shortened() -> None:
    calls = [Answer("", [Call("echo", {"text": "word " * 600})]) for _ in range(3)]
    async with play(*calls, error(400, SAID["bedrock"][1]), DONE) as at:
        assert (await at.ask()).text == "Done."
        assert len(json.dumps(at.sent(4))) < 0.8 * len(json.dumps(at.sent(3)))


async def test_f24_the_message_of_the_llama_cpp_server() -> None:
    recorded = Path(__file__).parent / "recorded" / "llama_cpp_too_long.json"
    refusal = Script((recorded.read_bytes(),), 400, {"content-type": "application/json"})
    async with play(refusal, DONE) as at:
        long_history(at)
        assert (await at.ask()).text == "Done."
        assert len(at.sent(1)) < len(at.sent(0))
