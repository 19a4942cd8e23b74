"""Calls a chat model and times the calls. A separate process: it prints its figures.

Run: python -m bench.traces.calls PORT --connections N --seconds S [--stream] [--model NAME]
"""

import argparse
import asyncio
import json
import sys
import time
from typing import TypedDict

from bench.traces.wire import Connection, request

PATH = "/v1/chat/completions"
_TEXT = "Where is my parcel? It was to come on Monday. " * 10


class Called(TypedDict):
    """Calls a second, and the seconds to the first and the last byte of each."""

    rate: float
    first: list[float]
    last: list[float]


async def call(port: int, *, connections: int, seconds: float, stream: bool, model: str) -> Called:
    """Call over that many connections for that long."""
    asked: dict[str, object] = {"model": model, "messages": [{"role": "user", "content": _TEXT}]}
    if stream:
        asked |= {"stream": True, "stream_options": {"include_usage": True}}
    headers = {"content-type": "application/json", "authorization": "Bearer none"}
    data = request("POST", PATH, json.dumps(asked).encode(), headers)
    first, last = list[float](), list[float]()
    end = time.perf_counter() + seconds

    async def repeat() -> None:
        connection = await Connection.open(port)
        while time.perf_counter() < end:
            answer = await connection.send(data)
            if answer.status != 200 or (stream and b"[DONE]" not in answer.raw):
                sys.exit(f"{answer.status}: {answer.text()[:500]}")
            first.append(answer.first)
            last.append(answer.last)
            if b"connection: close" in answer.head:
                connection = await Connection.open(port)
        connection.close()

    begun = time.perf_counter()
    await asyncio.gather(*(repeat() for _ in range(connections)))
    return {"rate": len(last) / (time.perf_counter() - begun), "first": first, "last": last}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--model", default="bench-model")
    options = parser.parse_args()
    json.dump(asyncio.run(call(**vars(options))), sys.stdout)


if __name__ == "__main__":
    main()
