"""Server-sent events as bytes: an incremental reader that gives data and comments in order.

After the event stream section of the HTML standard, with one difference: an event that the end of
the stream cuts off before its blank line is given, since several servers leave that line out.
"""

import codecs
import re
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Data:
    """The data lines of one event, joined; `event` is its name, usually empty."""

    text: str
    event: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A line that begins with a colon."""

    text: str


class SseReader:
    """Fed with bytes as they come, cut anywhere; any cutting gives the same events."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest: list[str] = []
        self._after_return = False
        self._data: list[str] = []
        self._event = ""

    def feed(self, chunk: bytes) -> list[Data | Comment]:
        """The events that `chunk` completes."""
        return self._lines(self._decoder.decode(chunk))

    def end(self) -> list[Data | Comment]:
        """The events that the end of the stream completes."""
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
