"""A fake provider: a real HTTP server on loopback that plays scripts and records its requests.

    async with FakeProvider([Answer("Hello"), error(429, retry_after="1")]) as provider:
        ...  # talk to provider.base_url
    assert provider.requests[0].messages[-1]["content"] == "Hi"

Each request except those for models takes the next script. Chat requests are checked against the
rules of `wire_rules` (`strict=False` disables that). A broken rule, or a request without a script,
is answered with 400 and raised as AssertionError when the block ends.
"""

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tests.fakes.replies import Answer, Cut, JsonObject, Pause, Script, Step, body, error
from tests.fakes.wire_rules import violations


@dataclass(slots=True)
class RecordedRequest:
    """A received request. `hung_up` is set when the client left before the end."""

    method: str
    path: str
    headers: dict[str, str]
    body: JsonObject
    content: bytes = b""
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def messages(self) -> list[JsonObject]:
        """The messages of a chat request."""
        messages = self.body.get("messages", [])
        assert isinstance(messages, list)
        return messages

    @property
    def tool_names(self) -> list[str]:
        """Names of the offered tools."""
        tools = self.body.get("tools", [])
        assert isinstance(tools, list)
        return [tool["function"]["name"] for tool in tools]


Reply = Script | Answer | Callable[[RecordedRequest], Script | Answer]
"""A callable receives the request, for replies that depend on it."""


_PLAYED = re.compile(
    r"/(chat/completions|responses|embeddings|messages|messages/count_tokens|moderations|(?:images|audio|files|batches)[^?]*|models/[^/]+:\w+)(\?.*)?$"
)
"""Matches the paths of the requests that take a script."""


class FakeProvider:
    """Plays `replies`, one for each such request.

    `models` are what `/v1/models` lists: ids, or whole entries. `vendors` has the vendors of models
    by their ids, as `/v1/models/ID/endpoints` lists them.
    """

    def __init__(
        self,
        replies: Sequence[Reply] = (),
        *,
        models: Sequence[str | Mapping[str, object]] | None = ("fake-model",),
        vendors: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
        strict: bool = True,
    ) -> None:
        self._replies = list(replies)
        self._models = models
        self._vendors = vendors or {}
        self._strict = strict
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Condition()
        self.requests: list[RecordedRequest] = []
        """The requests that take a script, in order of arrival."""
        self.problems: list[str] = []

    @property
    def base_url(self) -> str:
        """The address up to and including the version."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    @property
    def remaining(self) -> int:
        """Scripts that were not requested yet."""
        return len(self._replies)

    def add(self, *replies: Reply) -> None:
        """Append further scripts."""
        self._replies.extend(replies)

    async def wait_for_requests(self, number: int) -> None:
        """Return after `number` chat requests have arrived."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= number)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        if failure is None and self.problems:
            raise AssertionError("the provider was sent nonsense:\n" + "\n".join(self.problems))

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read_request(reader)) is not None:
                if not await self._play(await self._choose(request), request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _choose(self, request: RecordedRequest) -> Script:
        if request.path.endswith("/models"):
            if self._models is None:
                return error(404, "not found")
            listed = [{"id": m} if isinstance(m, str) else m for m in self._models]
            return body({"object": "list", "data": listed})
        for model, offers in self._vendors.items():
            if request.path.endswith(f"/models/{model}/endpoints"):
                return body({"data": {"id": model, "endpoints": list(offers)}})
        if not _PLAYED.search(request.path):
            return error(404, f"no such path: {request.path}")
        async with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
        held = self._strict and request.path.endswith("/chat/completions")
        broken = violations(request.body) if held else []
        if broken or not self._replies:
            broken = broken or [f"request {len(self.requests)} came, but no script is left"]
            self.problems.extend(broken)
            return error(400, "; ".join(broken))
        reply = self._replies.pop(0)
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, Answer):
            return reply.script(stream=bool(request.body.get("stream")))
        return reply

    async def _play(
        self,
        script: Script,
        request: RecordedRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """Play the script unless the client leaves; returns whether the connection can be used
        again.
        """
        playing = asyncio.ensure_future(_send(script, writer))
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                return playing.result()
            request.hung_up.set()
            return False
        finally:
            playing.cancel()
            leaving.cancel()
            await asyncio.gather(playing, leaving, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> RecordedRequest | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _version = first.split(" ")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    is_json = "json" in headers.get("content-type", "json")
    parsed = json.loads(content) if content and is_json else {}
    return RecordedRequest(method, path, headers, parsed, content)


async def _send(script: Script, writer: asyncio.StreamWriter) -> bool:
    for pause in script.before:
        if not await _step(pause, writer, None):
            return False
    headers = {"transfer-encoding": "chunked", **script.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {script.status} Scripted\r\n{lines}\r\n".encode("latin-1"))
    for step in script.steps:
        if not await _step(step, writer, script.split):
            return False
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _step(step: Step, writer: asyncio.StreamWriter, split: int | None) -> bool:
    """Play one step; False when it ended the connection."""
    match step:
        case bytes():
            size = split or len(step) or 1
            for start in range(0, len(step), size):
                piece = step[start : start + size]
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        case Pause(seconds=seconds, event=None):
            await (asyncio.sleep(seconds) if seconds is not None else asyncio.Event().wait())
        case Pause(event=asyncio.Event() as event):
            await event.wait()
        case Cut(reset=reset):
            if reset:
                writer.transport.abort()
            return False
    return True
