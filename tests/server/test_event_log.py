import asyncio
import json
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from treadle.events import EventBus
from treadle.events.types import Notice, SessionStarted
from treadle.ids import new_id
from treadle.server.event_log import EventLog, Gap, LoggedEvent

ONE, OTHER = new_id(), new_id()


async def say(bus: EventBus, text: str, request_id: UUID = ONE) -> None:
    await bus.publish(Notice(request_id=request_id, parent_id=None, level="info", text=text))


async def read(log: EventLog, count: int, **which: object) -> list[LoggedEvent | Gap]:
    found = []
    async with asyncio.timeout(5):
        async for event in log.follow(**which):  # type: ignore[arg-type]
            found.append(event)
            if len(found) == count:
                break
    return found


def texts(events: list[LoggedEvent | Gap]) -> list[str]:
    return [json.loads(e.text)["text"] if isinstance(e, LoggedEvent) else "gap" for e in events]


async def test_client_resumes_at_its_last_event() -> None:
    bus = EventBus()
    async with EventLog(bus) as log:
        for text in ("a", "b"):
            await say(bus, text)
        later = asyncio.create_task(read(log, 3, after=1))
        fresh = asyncio.create_task(read(log, 1))
        await asyncio.sleep(0.01)
        for text in ("c", "d"):
            await say(bus, text)
        assert texts(await later) == ["b", "c", "d"]
        assert texts(await fresh) == ["c"]


async def test_events_of_one_request_are_selected() -> None:
    bus = EventBus()
    async with EventLog(bus) as log:
        for text, request in (("a", ONE), ("b", OTHER), ("c", ONE)):
            await say(bus, text, request)
        assert texts(await read(log, 2, after=0, request_id=ONE)) == ["a", "c"]


async def test_turn_includes_the_sessions_of_its_calls() -> None:
    bus, part, deeper = EventBus(), new_id(), new_id()

    async def begin(request_id: UUID, within: UUID | None) -> None:
        started = SessionStarted(
            request_id=request_id, parent_id=within, session_id=new_id(),
            user_text="", model="m", provider="p", tools=(),
        )  # fmt: skip
        await bus.publish(started)

    async with EventLog(bus) as log:
        for request_id, within in ((ONE, None), (OTHER, None), (part, ONE), (deeper, part)):
            await begin(request_id, within)
            await say(bus, "a", request_id)
        await asyncio.sleep(0)
        told = log.of_turn(ONE)
        assert [event.request_id for event in told] == [ONE, ONE, part, part, deeper, deeper]
        assert [event.seq for event in log.of_turn(part)] == [5, 6, 7, 8]
        assert log.of_turn(new_id()) == []


@given(
    sizes=st.lists(st.integers(0, 400), min_size=1, max_size=30),
    room=st.integers(1, 3_000),
    after=st.integers(0, 30),
)
async def test_log_is_bounded_and_reports_gaps(sizes: list[int], room: int, after: int) -> None:
    bus = EventBus()
    async with EventLog(bus, most_characters=room) as log:
        for size in sizes:
            await say(bus, "x" * size)
        await asyncio.sleep(0)
        count = len(sizes)
        start = min(after, count - 1)
        found: list[LoggedEvent | Gap] = []
        async for event in log.follow(after=start):
            found.append(event)
            if isinstance(event, LoggedEvent) and event.seq == count:
                break
        kept = [event for event in found if isinstance(event, LoggedEvent)]
        gaps = [event for event in found if isinstance(event, Gap)]
        assert [event.seq for event in kept] == list(range(kept[0].seq, count + 1))
        assert gaps == ([Gap(start, kept[0].seq)] if kept[0].seq > start + 1 else [])
        whole = await read(log, 1, after=count - 1)
        assert len(kept) == 1 or sum(len(event.text) for event in kept) <= room
        assert texts(whole)[-1] == "x" * sizes[-1]


async def test_next_log_reports_a_gap_to_readers_of_the_last() -> None:
    async with EventLog(EventBus(), begin=1_000) as log:
        assert await read(log, 1, after=12) == [Gap(12, 1_001)]
        assert await read(log, 1, after=2_000) == [Gap(2_000, 1_001)]
    bus = EventBus()
    async with EventLog(bus, begin=1_000) as log:
        await say(bus, "a")
        await asyncio.sleep(0)
        assert log.newest == 1_001
        found = await read(log, 2, after=12)
        assert found[0] == Gap(12, 1_001)
        assert isinstance(found[1], LoggedEvent)
        assert json.loads(found[1].text)["seq"] == found[1].seq == 1_001
