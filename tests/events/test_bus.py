"""The bus under load: the order of events, no lost event, no deadlock."""

import asyncio
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.clock import settle
from treadle.events import Envelope, Event, EventBus, Subscription
from treadle.events.types import (
    CallKey,
    ErrorKind,
    ModelDelta,
    Notice,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ToolFailure,
    ToolProgress,
    ToolView,
)

REQUEST = UUID(int=7)
KEY = CallKey(0, 0)


def notice(text: str = "", request_id: UUID = REQUEST) -> Notice:
    return Notice(request_id=request_id, level="info", text=text)


def delta(text: str = "") -> ModelDelta:
    return ModelDelta(request_id=REQUEST, turn=0, text=text)


def completed(content: str = "{}") -> ToolCallCompleted:
    return ToolCallCompleted(
        request_id=REQUEST, key=KEY, call_id="a", content=content, ui=ToolView("done"), duration=0.0
    )


def failed() -> ToolCallFailed:
    failure = ToolFailure(ErrorKind.TIMEOUT, "too slow")
    return ToolCallFailed(request_id=REQUEST, key=KEY, call_id="a", error=failure, duration=0.0)


async def read(subscription: Subscription, count: int) -> list[Envelope]:
    return [await anext(subscription) for _ in range(count)]


async def rest(subscription: Subscription) -> list[Event]:
    subscription.close()
    return [envelope.event async for envelope in subscription]


async def test_each_subscriber_receives_its_types() -> None:
    bus = EventBus()
    everything, deltas = bus.subscribe(), bus.subscribe(ModelDelta)
    other = bus.subscribe(request_id=uuid4())
    await bus.publish(notice())
    await bus.publish(delta())
    assert [e.seq for e in await read(everything, 2)] == [1, 2]
    assert await rest(deltas) == [delta()]
    assert await rest(other) == []


@settings(max_examples=60, deadline=None)
@given(
    publishers=st.lists(
        st.lists(st.sampled_from(["notice", "delta"]), min_size=1, max_size=8),
        min_size=1,
        max_size=5,
    ),
    limits=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    pauses=st.lists(st.integers(0, 6), min_size=1, max_size=10),
)
def test_every_subscriber_sees_seq_rise_and_misses_no_must_deliver_event(
    publishers: list[list[str]], limits: list[int], pauses: list[int]
) -> None:
    async def scenario() -> None:
        bus = EventBus()
        # The odd ones subscribe to one class, so that they have room while others do not.
        subscriptions = [
            bus.subscribe(*([Notice] if index % 2 else []), limit=limit)
            for index, limit in enumerate(limits)
        ]
        seen: list[list[Envelope]] = [[] for _ in subscriptions]

        async def consume(index: int) -> None:
            count = 0
            async for envelope in subscriptions[index]:
                seen[index].append(envelope)
                count += 1
                for _ in range(pauses[(count + index) % len(pauses)]):
                    await asyncio.sleep(0)

        async def produce(name: int, kinds: list[str]) -> None:
            for number, kind in enumerate(kinds):
                text = f"{name}:{number}"
                await bus.publish(notice(text) if kind == "notice" else delta(text))

        consumers = [asyncio.ensure_future(consume(index)) for index in range(len(limits))]
        await asyncio.gather(*(produce(name, kinds) for name, kinds in enumerate(publishers)))
        for subscription in subscriptions:
            subscription.close()
        await asyncio.gather(*consumers)
        published = sum(kind == "notice" for kinds in publishers for kind in kinds)
        for envelopes in seen:
            numbers = [envelope.seq for envelope in envelopes]
            assert numbers == sorted(set(numbers))
            assert sum(isinstance(e.event, Notice) for e in envelopes) == published

    asyncio.run(scenario())


async def test_a_slow_subscriber_loses_no_text() -> None:
    bus = EventBus()
    slow = bus.subscribe(limit=2)
    await bus.publish(delta("a"))
    await bus.publish(delta("b"))
    for letter in "cdefg":
        await bus.publish(delta(letter))
    await bus.publish(ModelDelta(request_id=REQUEST, turn=1, text="next"))
    await bus.publish(ModelDelta(request_id=REQUEST, turn=1, text=" reply"))
    assert await rest(slow) == [
        delta("a"),
        delta("bcdefg"),
        ModelDelta(request_id=REQUEST, turn=1, text="next reply"),
    ]
    assert slow.dropped == 0


async def test_must_deliver_waits_for_a_slow_subscriber_and_lossy_does_not() -> None:
    bus = EventBus()
    slow = bus.subscribe(limit=1)
    await bus.publish(notice("1"))
    await bus.publish(ToolProgress(request_id=REQUEST, key=KEY, text="half done"))
    assert slow.dropped == 1
    waiting = asyncio.ensure_future(bus.publish(notice("2")))
    await settle()
    assert not waiting.done()
    assert [e.event for e in await read(slow, 1)] == [notice("1")]
    await waiting
    assert await rest(slow) == [notice("2")]


async def test_a_publisher_cancelled_while_it_waits_has_delivered() -> None:
    bus = EventBus()
    slow, quick = bus.subscribe(limit=1), bus.subscribe()
    await bus.publish(notice("1"))
    waiting = asyncio.ensure_future(bus.publish(notice("2")))
    await settle()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await rest(quick) == [notice("1"), notice("2")]
    assert await rest(slow) == [notice("1"), notice("2")]


async def test_closing_a_subscription_frees_the_publishers_that_wait_for_it() -> None:
    bus = EventBus()
    with bus.subscribe(limit=1) as slow:
        await bus.publish(notice("1"))
        waiting = [asyncio.ensure_future(bus.publish(notice(str(n)))) for n in (2, 3)]
        await settle()
        assert not any(each.done() for each in waiting)
    await asyncio.wait_for(asyncio.gather(*waiting), 5)
    await bus.publish(notice("nobody listens"))
    assert len(await rest(slow)) == 3


async def test_closing_ends_an_iteration_that_waits() -> None:
    bus = EventBus()
    subscription = bus.subscribe()
    reader = asyncio.ensure_future(rest_without_closing(subscription))
    await settle()
    subscription.close()
    assert await reader == []


async def rest_without_closing(subscription: Subscription) -> list[Envelope]:
    return [envelope async for envelope in subscription]


async def test_an_outcome_resolves_its_future_and_the_next_one_is_late() -> None:
    bus = EventBus()
    events = bus.subscribe()
    future = bus.expect(REQUEST, KEY)
    await bus.publish(failed())
    await bus.publish(completed())
    assert await future == failed()
    late = ToolCallLate(request_id=REQUEST, key=KEY, call_id="a", outcome="completed")
    assert await rest(events) == [failed(), late]


async def test_a_call_is_expected_once_at_a_time() -> None:
    bus = EventBus()
    future = bus.expect(REQUEST, KEY)
    with pytest.raises(ValueError, match="already expected"):
        _ = bus.expect(REQUEST, KEY)
    future.cancel()
    await settle()
    again = bus.expect(REQUEST, KEY)
    await bus.publish(completed())
    assert await again == completed()
