"""The provider of the sessions in a separate process: each reply but the last calls tools."""

import argparse
import asyncio
import time

from bench.runtime.measuring import TURNS
from tests.fakes.provider import FakeProvider, RecordedRequest
from tests.fakes.replies import Answer, Call

SESSIONS = 250
"""More than are ever requested."""


def reply(request: RecordedRequest, calls: int, turns: int) -> Answer:
    """The next reply in the session of a request."""
    turn = sum(message["role"] == "assistant" for message in request.messages)
    if turn >= turns - 1:
        return Answer("Done.")
    named = [
        # With the time, so that the tool can compute how long its call took to reach it.
        Call("echo", {"text": f"{time.monotonic()} {turn} {slot}"}, id=f"call_{turn}_{slot}")
        for slot in range(calls)
    ]
    return Answer("", named)


async def serve(calls: int, turns: int) -> None:
    def next_reply(request: RecordedRequest) -> Answer:
        provider.requests.clear()
        return reply(request, calls, turns)

    async with FakeProvider([next_reply] * (TURNS * SESSIONS), strict=False) as provider:
        print(provider.base_url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", type=int)
    parser.add_argument("turns", type=int)
    options = parser.parse_args()
    asyncio.run(serve(options.calls, options.turns))
