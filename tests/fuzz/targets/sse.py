"""Server-sent events, compared with a plain reading of the specification, whole and in chunks."""

import re

from treadle.llm.reply_stream import Comment, Data, SseReader

REFUSALS = ()
SEEDS = (
    b'data: {"a": 1}\n\n',
    b"\xef\xbb\xbfid: 1\r\nevent: ping\r\ndata: a\r\ndata: b\r\n\r\n",
    b": comment\r\rdata:x\rdata\r\r",
    "data: Grüße 👋\n\ndata: [DONE]\n\n".encode(),
    b"retry: 10\ndata : no\n:\n\n",
)
WORDS = (b"data: ", b"data", b"event: ", b"id: ", b"retry: ", b"\r\n", b"\r", b"\n\n", b": ")


def parse(data: bytes) -> None:
    whole = _read([data])
    assert whole == _as_specified(data)
    assert whole == _read([data[at : at + 1] for at in range(len(data))])
    cut = data[0] % len(data) if data else 0
    assert whole == _read([data[:cut], b"", data[cut:]])


def _read(pieces: list[bytes]) -> list[Data | Comment]:
    reader = SseReader()
    return [event for piece in pieces for event in reader.feed(piece)] + reader.end()


def _as_specified(data: bytes) -> list[Data | Comment]:
    """Section 9.2.6 of the HTML standard; a truncated last event counts here."""
    events: list[Data | Comment] = []
    lines: list[str] = []
    name = ""
    text = data.decode("utf-8-sig", "replace")
    for line in [*re.split("\r\n|\r|\n", text), ""]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if "\n".join(lines).strip():
                events.append(Data("\n".join(lines), name))
            lines, name = [], ""
        elif line.startswith(":"):
            events.append(Comment(line[1:].strip()))
        elif field == "data":
            lines.append(value)
        elif field == "event":
            name = value
    return events
