"""Limits of API keys in dollars, which all gateways of an installation share."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, error, usage
from tests.gateway.running import eventually, running, settings
from treadle.events.types import Usage
from treadle.gateway import budgets
from treadle.gateway.key_spending import KeySpending, spending_of
from treadle.identity.identity import Identity, Limits, Proof, Scope
from treadle.identity.key_use import Counter
from treadle.identity.store import IdentityStore
from treadle.llm.endpoint import Endpoint

DAY = 86_400.0
HALF_DOLLAR = Answer("a", usage=usage(10, 5, cost=0.5))


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the price of an output token to 0.6 millionths of a dollar.

    Without this, models on loopback have no price.
    """

    def cost(_endpoint: Endpoint, usage: Usage) -> float:
        return (usage.output or 0) * 0.6 / 1e6

    monkeypatch.setattr(budgets, "cost", cost)


def key(**limits: float) -> Identity:
    scopes = frozenset({Scope.GATEWAY})
    return Identity("default", Proof.KEY, scopes, id="k1", name="ci", limits=Limits(**limits))  # type: ignore[arg-type]  # dollars alone


def paid_by(
    store: IdentityStore, identity: Identity, clock: FakeClock
) -> Callable[[], KeySpending | None]:
    return lambda: spending_of(identity, store.key_use, clock)


def spent(store: IdentityStore) -> int:
    """The millionths of dollars that the key spent on the first day of the clock."""
    return store.key_use.total(
        "k1", Counter.DAY, 1_900_000_000_000_000 // 86_400_000_000 * 86_400_000_000
    )


@pytest.mark.usefixtures("priced")
async def test_key_spends_its_dollars_of_a_day_at_all_servers(tmp_path: Path) -> None:
    clock = FakeClock(1_900_000_000.0)
    with IdentityStore(tmp_path / "identity.db") as store:
        paying = paid_by(store, key(dollars_per_day=1.0), clock)
        async with FakeProvider([HALF_DOLLAR] * 4) as provider:
            config = settings(provider)
            async with (
                running(tmp_path / "a", config, clock=clock, spending=paying) as first,
                running(tmp_path / "b", config, clock=clock, spending=paying) as second,
            ):
                assert (await first.chat()).status_code == 200
                await eventually(lambda: spent(store) == 500_000)
                assert (await second.chat()).status_code == 200
                await eventually(lambda: spent(store) == 1_000_000)
                refused = [await each.chat() for each in (first, second)]
                await clock.advance(DAY)
                later = await first.chat()
            assert len(provider.requests) == 3
    assert {answer.status_code for answer in refused} == {429}
    assert "$1.00 a day" in refused[0].json()["error"]["message"]
    assert 0 < int(refused[0].headers["retry-after"]) <= DAY
    assert later.status_code == 200


@pytest.mark.usefixtures("priced")
async def test_limit_of_a_month_leaves_the_day_unchanged(tmp_path: Path) -> None:
    clock = FakeClock(1_900_000_000.0)
    with IdentityStore(tmp_path / "identity.db") as store:
        identity = key(dollars_per_day=5.0, dollars_per_month=0.000_1)
        async with FakeProvider([HALF_DOLLAR]) as provider:
            config = settings(provider)
            paying = paid_by(store, identity, clock)
            async with running(tmp_path / "a", config, clock=clock, spending=paying) as gateway:
                refused = await gateway.chat()
        assert refused.status_code == 429
        assert "a month" in refused.json()["error"]["message"]
        assert spent(store) == 0


@pytest.mark.usefixtures("priced")
async def test_failed_call_costs_nothing(tmp_path: Path) -> None:
    clock = FakeClock(1_900_000_000.0)
    with IdentityStore(tmp_path / "identity.db") as store:
        async with FakeProvider([error(400, "no")]) as provider:
            config = settings(provider)
            paying = paid_by(store, key(dollars_per_day=1.0), clock)
            async with running(tmp_path / "a", config, clock=clock, spending=paying) as gateway:
                assert (await gateway.chat()).status_code == 400
        assert spent(store) == 0


@pytest.mark.usefixtures("priced")
async def test_concurrent_calls_reserve_their_expected_cost(tmp_path: Path) -> None:
    clock = FakeClock(1_900_000_000.0)
    with IdentityStore(tmp_path / "identity.db") as store:
        async with FakeProvider([HALF_DOLLAR] * 8) as provider:
            config = settings(provider)
            paying = paid_by(store, key(dollars_per_day=0.001_4), clock)
            async with running(tmp_path / "a", config, clock=clock, spending=paying) as gateway:
                answers = await asyncio.gather(*(gateway.chat(max_tokens=1_000) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 2 + [429] * 6


async def test_key_with_a_limit_needs_a_known_price_and_no_batch(tmp_path: Path) -> None:
    clock = FakeClock(1_900_000_000.0)
    with IdentityStore(tmp_path / "identity.db") as store:
        async with FakeProvider([HALF_DOLLAR] * 2) as provider:
            paying = paid_by(store, key(dollars_per_day=1.0), clock)
            async with running(
                tmp_path / "a", settings(provider), clock=clock, spending=paying
            ) as gateway:
                unknown = await gateway.chat()
                batch = await gateway.http.post("/batches", json={"input_file_id": "f"})
            assert provider.requests == []
    assert [unknown.status_code, batch.status_code] == [403, 403]
    assert unknown.json()["error"]["code"] == "price_unknown"
    assert batch.json()["error"]["code"] == "batch_uncounted"
