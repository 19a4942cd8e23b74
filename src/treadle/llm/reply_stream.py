"""Reads the body of a reply: a stream of events or one JSON body, whichever the server sends."""

import asyncio
import codecs
import contextlib
import json
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from treadle.clock import Clock, wait_within
from treadle.llm import provider_errors
from treadle.llm.endpoint import Endpoint
from treadle.llm.reply_assembler import DeltaAssembler, Shown

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Data:
    """The data lines of one event, joined.

    `event` is the name of the event, which is usually empty.
    """

    text: str
    event: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: a line that begins with a colon. Servers send comments while they work."""

    text: str


class SseReader:
    """Reads server-sent events. The bytes may be split into chunks at any position."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest: list[str] = []
        self._after_return = False
        self._data: list[str] = []
        self._event = ""

    def feed(self, chunk: bytes) -> list[Data | Comment]:
        """Return the events that `chunk` completes."""
        return self._lines(self._decoder.decode(chunk))

    def end(self) -> list[Data | Comment]:
        """Return the events that the end of the stream completes."""
        events = self._lines(self._decoder.decode(b"", final=True))
        if self._rest:
            events += self._line("".join(self._rest))
            self._rest.clear()
        return events + self._line("")

    def _lines(self, text: str) -> list[Data | Comment]:
        if self._after_return and text:
            text = text.removeprefix("\n")
            self._after_return = False
        self._after_return = self._after_return or text.endswith("\r")
        *complete, rest = _LINE_END.split(text)
        events: list[Data | Comment] = []
        for line in complete:
            events += self._line("".join([*self._rest, line]))
            self._rest.clear()
        if rest:
            self._rest.append(rest)
        return events

    def _line(self, line: str) -> list[Data | Comment]:
        if not line:
            return self._dispatch()
        if line.startswith(":"):
            return [Comment(line[1:].strip())]
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        return []

    def _dispatch(self) -> list[Data | Comment]:
        data, event = "\n".join(self._data), self._event
        self._data.clear()
        self._event = ""
        return [Data(data, event)] if data.strip() else []


T = TypeVar("T")

_FIRST_NOTICE = 2.0
"""The maximum seconds of silence before the first call of `waiting`.

If a third of the limit is less, `waiting` is called then.
"""

_EMPTY_FACTOR = 10
"""The maximum wait for a part of the reply, as a multiple of the limit.

Empty data, such as a chunk without choices, restarts the normal limit. A server that sends only
empty data would otherwise never time out. Real servers send one or two empty chunks.
"""


class IdleWatchdog:
    """Ends a wait when `limit` seconds have passed since the last data.

    If all data is empty, the wait ends after ten times the limit. `waiting` is called with the
    seconds of silence so far. The first call is after 2 s, or after a third of the limit if that is
    less. Each further call is made when the silence has doubled.
    """

    def __init__(
        self, limit: float, clock: Clock, waiting: Callable[[float], Awaitable[None]]
    ) -> None:
        self._limit = limit
        self._clock = clock
        self._waiting = waiting
        self._since = self._useful = clock.monotonic()
        self._notice = min(_FIRST_NOTICE, limit / 3)

    def limit(self, seconds: float) -> None:
        """Lower the limit to at most `seconds`."""
        self._limit = min(self._limit, seconds)

    @property
    def empty_seconds(self) -> float | None:
        """The time limit for empty data in seconds if it has passed, or None.

        It has passed if all data within that time was empty.
        """
        limit = _EMPTY_FACTOR * self._limit
        return limit if self._clock.monotonic() - self._useful >= limit else None

    def data(self, *, useful: bool) -> None:
        """Restart the measurement of silence, since data has arrived.

        `useful` means that the reply has grown.
        """
        self._since = self._clock.monotonic()
        if useful:
            self._useful = self._since
        self._notice = min(_FIRST_NOTICE, self._limit / 3)

    async def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`.

        When the limit has passed, `work` is cancelled and TimeoutError is raised.
        """
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                now = self._clock.monotonic()
                idle = now - self._since
                left = min(self._limit - idle, self._useful + _EMPTY_FACTOR * self._limit - now)
                if left <= 0:
                    raise TimeoutError
                if idle >= self._notice:
                    self._notice *= 2
                    await self._waiting(idle)
                    continue
                try:
                    await wait_within(task, min(self._notice - idle, left), self._clock)
                except TimeoutError:
                    continue
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # asyncio logs an exception that nobody reads


_END = "[DONE]"
_SIGNS_OF_LIFE = frozenset({"ping", "keepalive", "keep-alive", "heartbeat"})
"""Names of events that only show that the server is alive."""
_GRACE = 5.0
"""The seconds to wait for the usage and the end mark (`[DONE]`) after the finish reason."""

_DRAIN = 0.25
"""The maximum seconds for reading the rest of a body after the end mark.

A connection can be reused only if its body was read to the end.
"""


_STREAM_BEGINS = re.compile(rb"\s*(?:\xef\xbb\xbf)?(?:data|event|id|retry)?:")


class ReplyReader:
    """Feeds one response to an assembler.

    `done` means that the server sent the end mark (`[DONE]`). The reader uses raw lines instead of
    the typed stream of the client library. That stream drops comments, fails on data that is not
    JSON and loses unknown fields.
    """

    def __init__(
        self, endpoint: Endpoint, assembler: DeltaAssembler, watchdog: IdleWatchdog
    ) -> None:
        self._endpoint = endpoint
        self._assembler = assembler
        self._watchdog = watchdog
        self.done = False

    async def read(self, response: Any, *, streamed: bool) -> AsyncIterator[Shown]:
        """Yield the text for the person as it arrives.

        `streamed` is whether streaming was requested. The server may have ignored it, so the
        content decides.
        """
        content_type = str(response.headers.get("content-type", "")).lower()
        if "html" in content_type:
            raise provider_errors.protocol(self._endpoint, f"it answers with {content_type}")
        if "event-stream" in content_type or (streamed and "json" not in content_type):
            source = response.iter_bytes()
        else:
            content = await self._watchdog.wait(response.read())
            if not _STREAM_BEGINS.match(content):
                for shown in self._read_body(content):
                    yield shown
                return
            source = _once(content)  # some proxies send a stream with the content type of JSON
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
        """Return the next bytes, or None at the end.

        After a finish reason, a timeout or a broken connection also counts as the end.
        """
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
        """Return the text for the person in one event.

        `cut` means that the stream ended within the event.
        """
        if data.text.strip() == _END:
            self.done = True
            return []
        if data.event.lower() in _SIGNS_OF_LIFE:
            return []
        try:
            chunk = _parsed(data.text)
        except (ValueError, RecursionError) as error:
            if "\n" in data.text:  # some servers leave out the blank line between events
                lines = [Data(line, data.event) for line in data.text.split("\n") if line.strip()]
                return [shown for line in lines for shown in self._data(line, cut=cut)]
            if cut:
                return []  # the assembler decides whether the reply is complete
            reason = f"a data line that is not JSON: {provider_errors.quoted(data.text)}"
            raise provider_errors.protocol(self._endpoint, reason) from error
        if data.event == "error":
            raise provider_errors.from_body(self._endpoint, chunk)
        return self._assembler.feed(chunk)

    def _read_body(self, content: bytes) -> list[Shown]:
        if not content.strip():
            raise provider_errors.broken_off(self._endpoint, "an empty body")
        try:
            body = _parsed(content)
        except (ValueError, RecursionError) as error:
            shown_text = provider_errors.quoted(content.decode("utf-8", "replace"))
            reason = f"a body that is not JSON: {shown_text}"
            raise provider_errors.protocol(self._endpoint, reason) from error
        shown = self._assembler.feed_whole(body)
        self.done = True
        return shown


def _parsed(text: str | bytes) -> Any:
    """Parse JSON. Numbers that JSON does not allow, such as NaN, become None.

    Raises ValueError, or RecursionError for JSON that is nested too deeply.
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
