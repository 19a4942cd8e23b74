"""Cassettes: recorded sessions that a person replays."""

import asyncio
import json
import os
import tempfile
from pathlib import Path

from treadle.errors import TreadleError
from treadle.events import EventBus
from treadle.session.cassette import Cassette
from treadle.session.replay import replaying

_HEAD = {
    "line": "head",
    "version": 1,
    "treadle": "1",
    "request_id": "018f0000-0000-7000-8000-000000000000",
    "started_us": 1,
    "stream": True,
    "settings": {"tools": {}, "limits": {}, "history": {}},
    "model": {"provider": "fake", "model": "m", "context_window": 100},
    "tools": [],
    "conversation": {"id": "018f0000-0000-7000-8000-000000000001", "root": "/", "entries": []},
}
_EXCHANGE: dict[str, object] = {
    "line": "exchange",
    "request": {"kept": 0, "messages": [{"kind": "user", "text": "Hi"}], "tools": [], "turn": 0},
    "told": [],
    "reply": {"message": {"kind": "assistant", "text": "Hello"}, "finish_reason": "stop"},
    "error": None,
}
REFUSALS = (TreadleError,)
SEEDS = (
    json.dumps(_HEAD).encode(),
    b"\n".join(
        json.dumps(line).encode()
        for line in (
            _HEAD,
            {"line": "question", "text": "Hi"},
            {"line": "context", "text": "code"},
            _EXCHANGE,
            {"line": "outcome", "turn": 0, "slot": 0, "content": "{}"},
            {"line": "retrieval", "event": {"key": {"turn": 0, "slot": 0}, "query": "q"}},
        )
    ),
)
WORDS = (
    *(b'"line":', b'"head"', b'"exchange"', b'"outcome"', b'"retrieval"', b'"context"', b'"kept":'),
    *(b'"messages":', b'"request":', b'"event":', b'"key":', b'"turn":', b'"version":', b"\n"),
)

_FILE = Path(tempfile.gettempdir()) / f"cassette-{os.getpid()}"


def parse(data: bytes) -> None:
    _FILE.write_bytes(data)
    try:
        cassette = Cassette.load(_FILE)
    finally:
        _FILE.unlink()
    asyncio.run(_begin(cassette))


async def _begin(cassette: Cassette) -> None:
    async with replaying(cassette, EventBus()):
        pass
