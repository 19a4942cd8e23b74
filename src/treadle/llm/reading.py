"""Reads the body of a reply: a stream of events or one JSON body, told apart by what comes."""

import asyncio
import contextlib
import json
import math
import re
from collections.abc import AsyncIterator
from typing import Any

from treadle.llm import faults
from treadle.llm.assembler import DeltaAssembler, Shown
from treadle.llm.endpoint import Endpoint
from treadle.llm.sse import Data, SseReader
from treadle.llm.watchdog import IdleWatchdog

_END = "[DONE]"
_SIGNS_OF_LIFE = frozenset({"ping", "keepalive", "keep-alive", "heartbeat"})
"""Names of events that hold nothing of the reply."""
_GRACE = 5.0
"""Seconds that usage and end mark may take once the finish reason is there."""

_DRAIN = 0.25
"""Real seconds for the rest of a finished body, so that its connection can be used again."""


_STREAM_BEGINS = re.compile(rb"\s*(?:\xef\xbb\xbf)?(?:data|event|id|retry)?:")


class ReplyReader:
    """Feeds one response to an assembler. `done` says that the server marked the end itself.

    The raw lines are read, not the typed stream of the client library: that one drops comments,
    breaks on data that is no JSON and loses fields that it does not know.
    """

    def __init__(
        self, endpoint: Endpoint, assembler: DeltaAssembler, watchdog: IdleWatchdog
    ) -> None:
        self._endpoint = endpoint
        self._assembler = assembler
        self._watchdog = watchdog
        self.done = False

    async def read(self, response: Any, *, streamed: bool) -> AsyncIterator[Shown]:
        """What there is to show, as it comes. A server may stream unasked, or not when asked."""
        content_type = str(response.headers.get("content-type", "")).lower()
        if "html" in content_type:
            raise faults.protocol(self._endpoint, f"it answers with {content_type}")
        if "event-stream" in content_type or (streamed and "json" not in content_type):
            source = response.iter_bytes()
        else:
            content = await self._watchdog.wait(response.read())
            if not _STREAM_BEGINS.match(content):
                for shown in self._whole(content):
                    yield shown
                return
            source = _once(content)  # some proxies send a stream under the type of JSON
        async for shown in self._stream(source):
            yield shown

    async def _stream(self, source: AsyncIterator[bytes]) -> AsyncIterator[Shown]:
        reader = SseReader()
        while not self.done:
            chunk = await self._next_chunk(source)
            events = reader.end() if chunk is None else reader.feed(chunk)
            for event in events:
                if isinstance(event, Data) and not self.done:
                    grown = self._assembler.grown
                    found = self._data(event, cut=chunk is None)
                    self._watchdog.data(useful=self._assembler.grown != grown)
                    for shown in found:
                        yield shown
            if chunk is None:
                return
        await _drain(source)

    async def _next_chunk(self, source: AsyncIterator[bytes]) -> bytes | None:
        """The next bytes. Behind a finish reason any kind of end is as good as a proper one."""
        import httpx2

        if self._assembler.finish_reason is not None:
            self._watchdog.limit(_GRACE)
        try:
            return await self._watchdog.wait(_next(source))
        except (TimeoutError, httpx2.HTTPError):
            if self._assembler.finish_reason is None:
                raise
            return None

    def _data(self, data: Data, *, cut: bool) -> list[Shown]:
        """What one event shows. `cut` says that the stream ended before the event did."""
        if data.text.strip() == _END:
            self.done = True
            return []
        if data.event.lower() in _SIGNS_OF_LIFE:
            return []
        try:
            chunk = _parsed(data.text)
        except (ValueError, RecursionError) as error:
            if "\n" in data.text:  # servers that leave out the blank line between events
                lines = [Data(line, data.event) for line in data.text.split("\n") if line.strip()]
                return [shown for line in lines for shown in self._data(line, cut=cut)]
            if cut:
                return []  # half an event: whether the reply is whole is the assembler's to say
            reason = f"a data line that is not JSON: {faults.quoted(data.text)}"
            raise faults.protocol(self._endpoint, reason) from error
        if data.event == "error":
            raise faults.from_body(self._endpoint, chunk)
        return self._assembler.feed(chunk)

    def _whole(self, content: bytes) -> list[Shown]:
        if not content.strip():
            raise faults.broken_off(self._endpoint, "an empty body")
        try:
            body = _parsed(content)
        except (ValueError, RecursionError) as error:
            reason = f"a body that is not JSON: {faults.quoted(content.decode('utf-8', 'replace'))}"
            raise faults.protocol(self._endpoint, reason) from error
        shown = self._assembler.feed_whole(body)
        self.done = True
        return shown


def _parsed(text: str | bytes) -> Any:
    """The value of some JSON; null for a number that JSON does not have, as nothing sent on may.

    Raises ValueError, or RecursionError where it is nested too deeply.
    """
    return json.loads(text, parse_constant=lambda _name: None, parse_float=_finite)


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


async def _drain(source: AsyncIterator[bytes]) -> None:
    import httpx2

    with contextlib.suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(_DRAIN):
            while await _next(source) is not None:
                pass


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _next(source: AsyncIterator[bytes]) -> bytes | None:
    return await anext(source, None)
