"""Budgets and the cache of answers."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Cut, Script, delta, error, sse, usage
from tests.gateway.running import MESSAGES, Running, eventually, running, settings
from treadle.config.gateway import GatewayCache
from treadle.errors import StoreError
from treadle.gateway import call_recorder
from treadle.gateway.answer_cache import AnswerCache
from treadle.gateway.attempts import GatewayCall

DAY = 86_400.0


async def used(gateway: Running, name: str, tokens: int) -> None:
    """Wait until that many tokens are counted."""
    await eventually(lambda: gateway.gateway.budgets.used()[name].tokens == tokens)


async def test_a_budget_limits_tokens_by_label(tmp_path: Path) -> None:
    clock = FakeClock(1_900_000_000.0)  # later than the recorded calls
    budgets = {"team": {"labels": ["team-*"], "tokens": 30}}
    async with FakeProvider([Answer("a", usage=usage(10, 5))] * 6) as provider:
        config = settings(provider, budgets=budgets)
        async with running(tmp_path, config, clock=clock) as gateway:
            mine = {"x-label": "team-a"}
            first = await gateway.chat(headers=mine)
            await used(gateway, "team", 15)
            assert (await gateway.chat(headers=mine)).status_code == 200
            await used(gateway, "team", 30)
            refused = await gateway.chat(headers=mine)
            other = await gateway.chat(headers={"x-label": "else"})
            span = await gateway.span(refused)
            recorded = await gateway.span(first)
            await clock.advance(DAY)
            anew = await gateway.chat(headers=mine)
    said = refused.json()["error"]
    assert (refused.status_code, said["code"]) == (429, "budget_exceeded")
    assert "'team' of 30 tokens a day is used up" in said["message"]
    assert "gateway.budgets.team" in said["message"]
    assert refused.headers["x-should-retry"] == "false"
    assert 0 < int(refused.headers["retry-after"]) <= DAY
    assert (other.status_code, anew.status_code) == (200, 200)
    assert span.status == "error"
    assert recorded.labels == ("budget:team", "team-a")


async def test_calls_outside_a_budget_do_not_use_it(
    tmp_path: Path,
) -> None:
    budgets = {"team": {"labels": ["team-*"], "tokens": 30}}
    forged = {"x-label": "budget:team, treadle:analyst, mine"}
    async with FakeProvider([Answer("a", usage=usage(900, 5))] * 2) as provider:
        config = settings(provider, budgets=budgets)
        async with running(tmp_path, config) as gateway:
            span = await gateway.span(await gateway.chat(headers=forged))
        async with running(tmp_path, config) as gateway:  # which reads the earlier use
            answer = await gateway.chat(headers={"x-label": "team-a"})
    assert span.labels == ("mine",)
    assert answer.status_code == 200


async def test_a_budget_limits_dollars_by_key(tmp_path: Path) -> None:
    alice = {"key_env": "ALICE", "cost": 0.5, "period": "month", "unknown_price": 1}
    budgets = {"alice": alice}
    reply = Answer("a", usage=usage(10, 5, cost=0.5))
    async with FakeProvider([reply] * 3) as provider:
        config = settings(provider, budgets=budgets)
        async with running(tmp_path, config, env={"ALICE": "alice-key-1"}) as gateway:
            hers = {"authorization": "Bearer alice-key-1"}
            assert (await gateway.chat(headers=hers)).status_code == 200
            await used(gateway, "alice", 15)
            refused = await gateway.chat(headers=hers)
            other = await gateway.chat(headers={"authorization": "Bearer bob-key-22"})
    assert refused.status_code == 429
    assert "$0.50 a month" in refused.json()["error"]["message"]
    assert other.status_code == 200


async def test_use_before_a_restart_counts(tmp_path: Path) -> None:
    budgets = {"all": {"tokens": 15}}
    async with FakeProvider([Answer("a", usage=usage(10, 5))]) as provider:
        config = settings(provider, budgets=budgets)
        async with running(tmp_path, config) as gateway:
            await gateway.span(await gateway.chat())
        async with running(tmp_path, config) as gateway:
            assert (await gateway.chat()).status_code == 429


async def test_use_counts_if_the_client_exports_the_call_too(tmp_path: Path) -> None:
    budgets = {"all": {"tokens": 15}}
    async with FakeProvider([Answer("a", usage=usage(10, 5))]) as provider:
        config = settings(provider, budgets=budgets)
        async with running(tmp_path, config) as gateway:
            recorded = await gateway.span(await gateway.chat())
            exported = replace(recorded, trace_id="client", labels=(), resource={})
            await asyncio.wrap_future(gateway.store.write([exported]))
            totals = gateway.store.summary().sums.totals
        async with running(tmp_path, config) as gateway:
            assert (await gateway.chat()).status_code == 429
    assert (totals.model_calls, totals.tokens.input) == (1, 10)


async def test_a_budget_with_unreadable_earlier_use_refuses_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> object:
        raise StoreError("The record is damaged.")

    budgets = {"team": {"labels": ["team-*"], "tokens": 15}}
    mine = {"x-label": "team-a"}
    async with FakeProvider([Answer("a", usage=usage(10, 4))] * 2) as provider:
        config = settings(provider, budgets=budgets)
        async with running(tmp_path, config) as gateway:
            with monkeypatch.context() as patch:
                patch.setattr(gateway.store, "groups", failing)
                refused = await gateway.chat(headers=mine)
                other = await gateway.chat()
            assert (await gateway.chat(headers=mine)).status_code == 200
        assert len(provider.requests) == 2
    said = refused.json()["error"]
    assert (refused.status_code, said["code"]) == (503, "budget_unknown")
    assert "'team' cannot be checked" in said["message"]
    assert "(The record is damaged)" in said["message"]
    assert other.status_code == 200


async def test_unreported_usage_is_estimated(tmp_path: Path) -> None:
    budgets = {"all": {"tokens": 50}}
    script = sse(delta(content="word " * 100), delta(finish_reason="stop"))
    async with FakeProvider([script]) as provider:
        config = settings(provider, budgets=budgets)
        async with running(tmp_path, config) as gateway:
            span = await gateway.span(await gateway.chat(stream=True))
            await eventually(lambda: gateway.gateway.budgets.used()["all"].tokens > 90)
            assert (await gateway.chat()).status_code == 429
    assert span.tokens.output is None


CACHE = {"enabled": True, "max_age": "1h"}


@pytest.mark.parametrize("stream", [False, True])
async def test_the_same_call_is_answered_from_the_cache(tmp_path: Path, stream: bool) -> None:
    clock = FakeClock()
    async with FakeProvider([Answer("Hello"), Answer("again")]) as provider:
        config = settings(provider, cache=CACHE)
        async with running(tmp_path, config, clock=clock) as gateway:
            first = await gateway.chat(stream=stream)
            second = await gateway.chat(stream=stream)
            span = await gateway.span(second)
            await clock.advance(3_601)
            third = await gateway.chat(stream=stream)
    assert first.headers["x-treadle-cache"] == "miss"
    assert second.headers["x-treadle-cache"] == "hit"
    assert second.content == first.content
    assert second.headers["content-type"] == first.headers["content-type"]
    assert second.headers["x-span-id"] != first.headers["x-span-id"]
    assert third.headers["x-treadle-cache"] == "miss"
    assert "again" in third.text.replace('"}, "finish_reason": null}]}', "")
    assert (span.tokens.input, span.tokens.output, span.cost) == (0, 0, 0.0)
    assert span.attributes["treadle.gateway.cache"] == "hit"
    assert span.output
    assert "Hello" in span.output


async def test_only_identical_calls_are_answered_from_the_cache(tmp_path: Path) -> None:
    calls: list[dict[str, Any]] = [
        {},
        {"temperature": 0},
        {"headers": {"x-label": "other"}},
        {"headers": {"authorization": "Bearer another-key"}},
        {"headers": {"cache-control": "no-cache"}},
        {"messages": [*MESSAGES, {"role": "assistant", "content": "a"}, *MESSAGES]},
        {"headers": {"x-tier": "gold"}},
    ]
    routes = {"r": {"to": ["fake/m"], "headers": {"x-tier": "*"}}}
    async with FakeProvider([Answer(f"{n}") for n in range(7)]) as provider:
        config = settings(provider, cache=CACHE, routes=routes)
        async with running(tmp_path, config) as gateway:
            texts = [
                (await gateway.chat(**call)).json()["choices"][0]["message"]["content"]
                for call in calls
            ]
    assert texts == [str(n) for n in range(7)]


async def test_failures_and_large_answers_are_not_cached(tmp_path: Path) -> None:
    async with FakeProvider([error(500), Answer("a" * 5_000), Answer("b")]) as provider:
        config = settings(provider, cache={**CACHE, "max_size": "2KB"})
        async with running(tmp_path, config) as gateway:
            answers = [await gateway.chat() for _ in range(4)]
    assert [answer.status_code for answer in answers] == [500, 200, 200, 200]
    assert [answer.headers.get("x-treadle-cache") for answer in answers[1:]] == [
        "miss", "miss", "hit",
    ]  # fmt: skip


async def test_the_cache_is_off_unless_it_is_switched_on(tmp_path: Path) -> None:
    async with (
        FakeProvider([Answer("a"), Answer("b")]) as provider,
        running(tmp_path, settings(provider)) as gateway,
    ):
        answers = [await gateway.chat() for _ in range(2)]
    assert [a.json()["choices"][0]["message"]["content"] for a in answers] == ["a", "b"]
    assert "x-treadle-cache" not in answers[0].headers


async def test_parallel_calls_cannot_exceed_a_budget_together(tmp_path: Path) -> None:
    budgets = {"all": {"tokens": 2_000}}
    async with FakeProvider([Answer("a", usage=usage(10, 5))] * 20) as provider:
        config = settings(provider, budgets=budgets)
        async with running(tmp_path, config) as gateway:
            answers = await asyncio.gather(*(gateway.chat() for _ in range(10)))
            statuses = Counter(answer.status_code for answer in answers)
            assert statuses[200] + statuses[429] == 10
            assert 1 <= statuses[200] <= 2  # each reserves its output until it has ended
            await eventually(
                lambda: gateway.gateway.budgets.used()["all"].tokens == 15 * statuses[200]
            )
            again = await gateway.chat()  # the reserved use is free again
            assert again.status_code == 200


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
async def test_a_call_that_may_exceed_the_budget_is_refused_in_advance(
    tmp_path: Path, name: str
) -> None:
    async with FakeProvider([Answer("a", usage=usage(10, 5))] * 2) as provider:
        config = settings(provider, budgets={"all": {"tokens": 1_000}})
        async with running(tmp_path, config) as gateway:
            refused = await gateway.chat(**{name: 5_000})
            assert refused.status_code == 429
            assert not provider.requests
            assert (await gateway.chat(**{name: 500})).status_code == 200


async def test_a_model_without_a_price_is_refused_under_a_budget_of_dollars(tmp_path: Path) -> None:
    async with FakeProvider([Answer("a", usage=usage(10, 5))] * 2) as provider:
        config = settings(provider, budgets={"all": {"cost": 100}})
        async with running(tmp_path, config) as gateway:
            refused = await gateway.chat()
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "price_unknown")
    assert "gateway.budgets.all.unknown_price" in refused.json()["error"]["message"]
    assert not provider.requests


@pytest.mark.parametrize(("price", "status"), [(0.0, 200), (1.0, 200), (700_000.0, 429)])
async def test_an_unknown_price_is_estimated_by_a_setting(
    tmp_path: Path, price: float, status: int
) -> None:
    async with FakeProvider([Answer("a", usage=usage(10, 5))] * 2) as provider:
        config = settings(provider, budgets={"all": {"cost": 10, "unknown_price": price}})
        async with running(tmp_path, config) as gateway:
            assert (await gateway.chat()).status_code == 200
            await used(gateway, "all", 15)
            spent = gateway.gateway.budgets.used()["all"].cost
            assert spent == pytest.approx(15 * price / 1e6)
            assert (await gateway.chat()).status_code == status


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_tokens": 50, "n": 100},
        {"max_tokens": 50, "best_of": 100},
        {"max_tokens": 5_000.0},
        {"max_tokens": 5_000, "max_completion_tokens": 1},
        {"max_tokens": 1, "max_completion_tokens": 5_000},
        {"max_tokens": 1e300},
    ],
)
async def test_all_output_that_a_call_allows_is_reserved(
    tmp_path: Path, parameters: dict[str, Any]
) -> None:
    async with FakeProvider([], strict=False) as provider:
        config = settings(provider, budgets={"all": {"tokens": 1_000}})
        async with running(tmp_path, config) as gateway:
            assert (await gateway.chat(**parameters)).status_code == 429
    assert not provider.requests


async def test_a_stream_that_breaks_off_is_counted_by_an_estimate(tmp_path: Path) -> None:
    steps = (*sse(delta(content="word " * 400)).steps[:1], Cut())
    cut = Script(steps, headers={"content-type": "text/event-stream"})
    async with FakeProvider([cut]) as provider:
        config = settings(provider, budgets={"all": {"tokens": 10_000}})
        async with running(tmp_path, config) as gateway:
            with pytest.raises(httpx2.HTTPError):
                await gateway.chat(stream=True)
            await eventually(lambda: gateway.gateway.budgets.used()["all"].tokens > 300)


async def test_an_answer_that_cannot_be_read_is_counted_by_its_size(tmp_path: Path) -> None:
    odd = b'{"choices": [], "usage": {"prompt_tokens": ' + b"9" * 5_000 + b"}}"
    answer = Script((odd,), headers={"content-type": "application/json"})
    async with FakeProvider([answer]) as provider:
        config = settings(provider, budgets={"all": {"tokens": 10_000}})
        async with running(tmp_path, config) as gateway:
            assert (await gateway.chat()).status_code == 200
            await eventually(lambda: gateway.gateway.budgets.used()["all"].tokens > 1_000)


async def test_an_unrecorded_call_counts_its_reserved_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_call: GatewayCall) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(call_recorder, "spans_of", broken)
    async with FakeProvider([Answer("a")]) as provider:
        config = settings(provider, budgets={"all": {"tokens": 10_000}})
        async with running(tmp_path, config) as gateway:
            assert (await gateway.chat(max_tokens=2_000)).status_code == 200
            await eventually(lambda: gateway.gateway.budgets.used()["all"].tokens > 2_000)


async def test_an_answer_too_large_for_the_cache_is_not_collected(tmp_path: Path) -> None:
    kept = AnswerCache(
        GatewayCache(enabled=True, max_size="2KB"), FakeClock(), key_headers=frozenset()
    )
    assert kept.most_bytes == 2_000
    part = b"x" * 1_500
    large = Script((part, part, part), headers={"content-type": "text/plain"})
    async with FakeProvider([large, large]) as provider:
        config = settings(provider, cache={**CACHE, "max_size": "2KB"})
        async with running(tmp_path, config) as gateway:
            answers = [await gateway.chat() for _ in range(2)]
    assert [answer.content for answer in answers] == [part * 3] * 2
    assert answers[1].headers["x-treadle-cache"] == "miss"
