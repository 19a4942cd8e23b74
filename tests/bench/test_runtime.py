"""The benchmark of sessions measures what it claims: all replies, all calls, then the answer."""

from bench.runtime.measuring import STARTS, TURNS
from bench.runtime.provider import reply
from bench.runtime.subject_treadle import session
from tests.fakes.provider import FakeProvider


async def test_a_session_takes_all_replies_and_runs_all_calls() -> None:
    replies = [lambda request: reply(request, calls=2, turns=TURNS)] * TURNS
    async with FakeProvider(replies) as provider:
        assert await session(provider.base_url) == "Done."
        results = [m for m in provider.requests[-1].messages if m["role"] == "tool"]
    assert len(results) == len(STARTS) == 2 * (TURNS - 1)
    assert min(STARTS) > 0
