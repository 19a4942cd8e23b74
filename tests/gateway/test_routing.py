"""Where calls go, what is retried, and how the trace shows it."""

import json
import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.provider import FakeProvider, Reply
from tests.fakes.replies import Answer, Cut, Pause, Script, delta, error, sse
from tests.gateway.running import MESSAGES, running, settings
from treadle.config.model import Settings
from treadle.errors import ConfigError
from treadle.gateway.apis import Operation, Target
from treadle.gateway.request import Body, CallRequest, read_context
from treadle.gateway.routing import Router
from treadle.llm.embedded import MODEL_NAME

CHAT = Target(Operation.CHAT, "/chat/completions")

EMBEDDED_ID = f"embedded/{MODEL_NAME}"


class SwiftClock(FakeClock):
    """Sleeps take no time, but are recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """List the embedded model even if it is not installed."""
    monkeypatch.setattr("treadle.gateway.models.missing_parts", tuple)


async def test_models_are_found_by_provider_and_by_list(tmp_path: Path) -> None:
    listing = FakeProvider([Answer("listed")], models=["asked-for", "vendor/deep"])
    async with FakeProvider([Answer("a"), Answer("b")]) as provider, listing:
        config = settings(provider, listing)
        own = config.providers["other"].model_copy(update={"models": ()})
        config = config.model_copy(update={"providers": {**config.providers, "other": own}})
        async with running(tmp_path, config) as gateway:
            answers = [
                await gateway.chat(model=model) for model in ("fake/any", "m", "asked-for", "none")
            ]
            listed = (await gateway.http.get("/models")).json()
            one = await gateway.http.get("/models/other/vendor/deep")
            missing = await gateway.http.get("/models/other/none")
    texts = [a.json()["choices"][0]["message"]["content"] for a in answers[:3]]
    assert texts == ["a", "b", "listed"]
    assert [request.body["model"] for request in provider.requests] == ["any", "m"]
    assert listing.requests[0].body["model"] == "asked-for"
    assert answers[3].status_code == 404
    assert answers[3].json()["error"]["code"] == "model_not_found"
    assert "fake/m, other/asked-for, other/vendor/deep" in answers[3].json()["error"]["message"]
    assert [e["id"] for e in listed["data"]] == [
        "fake/m", "other/asked-for", "other/vendor/deep", EMBEDDED_ID
    ]  # fmt: skip
    assert (one.json()["owned_by"], missing.status_code) == ("other", 404)


async def test_a_failed_list_of_models_is_reported_and_not_requested_again(tmp_path: Path) -> None:
    silent = FakeProvider([], models=None)
    async with FakeProvider() as provider, silent:
        config = settings(provider, silent)
        tables = {
            "fake": config.providers["fake"],
            "other": config.providers["other"].model_copy(update={"models": ()}),
        }
        config = config.model_copy(update={"providers": tables})
        async with running(tmp_path, config) as gateway:
            listed = (await gateway.http.get("/models")).json()
    assert [entry["id"] for entry in listed["data"]] == ["fake/m", EMBEDDED_ID]
    assert [entry["provider"] for entry in listed["unavailable"]] == ["other"]


async def test_a_provider_named_alone_uses_its_default_model(
    tmp_path: Path,
) -> None:
    listing = FakeProvider([Answer("b")], models=["embed-small", "first", "second"])
    async with FakeProvider([Answer("a")]) as provider, listing:
        config = settings(provider, listing, provider="other")
        own = config.providers["other"].model_copy(update={"models": ()})
        config = config.model_copy(update={"providers": {**config.providers, "other": own}})
        async with running(tmp_path, config) as gateway:
            answers = [await gateway.chat(model=name) for name in ("fake", "other")]
            keyless = await gateway.chat(model="openai")
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [request.body["model"] for request in provider.requests] == ["m"]
    assert [request.body["model"] for request in listing.requests] == ["first"]
    assert (keyless.status_code, keyless.json()["error"]["code"]) == (401, "missing_key")


async def test_the_embedded_model_answers_by_the_name_of_its_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeProvider([Answer("a")]) as engine, FakeProvider() as other:
        server = SimpleNamespace(listening_address=engine.base_url.removesuffix("/v1"))
        monkeypatch.setattr("treadle.gateway.models.start_server", lambda **_: server)
        async with running(tmp_path, settings(other)) as gateway:
            answer = await gateway.chat(model="embedded")
    assert answer.status_code == 200
    assert [request.body["model"] for request in engine.requests] == [MODEL_NAME]
    assert other.requests == []


async def test_a_client_key_reaches_a_provider_named_alone(tmp_path: Path) -> None:
    async with FakeProvider([Answer("a")]) as provider:
        table = {"base_url": provider.base_url, "api_key_env": "DESK_KEY", "models": ["m"]}
        config = Settings.model_validate(
            {"providers": {"desk": table}, "gateway": {"pass_client_keys": True}}
        )
        async with running(tmp_path, config) as gateway:
            headers = {"authorization": "Bearer clients-own-key-1"}
            answer = await gateway.chat(model="desk", headers=headers)
    assert answer.status_code == 200
    assert provider.requests[0].headers["authorization"] == "Bearer clients-own-key-1"


async def test_the_unnamed_provider_gets_unlisted_models(tmp_path: Path) -> None:
    async with FakeProvider([Answer("a")] * 3) as unnamed, FakeProvider([Answer("b")]) as provider:
        env = {"TREADLE_BASE_URL": unnamed.base_url, "TREADLE_API_KEY": "own-key-12345"}
        async with running(tmp_path, settings(provider), env=env) as gateway:
            for model in ("anything", "openai/gpt-x", "custom/x", "m"):
                assert (await gateway.chat(model=model)).status_code == 200
    models = [request.body["model"] for request in unnamed.requests]
    assert models == ["anything", "openai/gpt-x", "x"]
    assert unnamed.requests[0].headers["authorization"] == "Bearer own-key-12345"


async def test_a_missing_key_is_reported(tmp_path: Path) -> None:
    async with running(tmp_path, Settings()) as gateway:
        missing = await gateway.chat(model="openai/gpt-x")
        embedded = await gateway.chat(model="embedded/x")
    assert missing.status_code == 401
    assert "OPENAI_API_KEY" in missing.json()["error"]["message"]
    assert embedded.status_code == 404


async def test_transient_failures_are_retried(tmp_path: Path) -> None:
    clock = SwiftClock()
    torn = Script(before=(Cut(reset=True),))
    replies: list[Reply] = [error(429, retry_after="3"), error(500), torn, Answer("Hello")]
    async with FakeProvider(replies) as provider:
        config = settings(provider, max_retries=3)
        async with running(tmp_path, config, clock=clock) as gateway:
            answer = await gateway.chat(headers={"x-label": "l", "x-thread-id": "t"})
            spans = await gateway.spans(answer.headers["x-trace-id"], 5)
    assert answer.status_code == 200
    assert answer.headers["x-treadle-attempts"] == "4"
    assert answer.headers["x-treadle-model"] == "fake/m"
    assert clock.slept[0] == 3.0
    assert 1.0 <= clock.slept[1] <= 2.0
    (step,) = [span for span in spans if span.parent_id is None]
    assert (step.span_id, step.kind, step.status) == (answer.headers["x-span-id"], "agent", "ok")
    assert step.output
    assert (step.tokens.input, step.cost) == (None, None)
    attempts = [span for span in spans if span.parent_id == step.span_id]
    assert [(span.kind, span.status) for span in attempts] == [
        ("model", "error"), ("model", "error"), ("model", "error"), ("model", "ok"),
    ]  # fmt: skip
    assert all((span.labels, span.thread_id) == (("l",), "t") for span in spans)
    assert attempts[-1].attributes["treadle.gateway.attempt"] == 4
    assert attempts[-1].tokens.input == 10


async def test_the_last_failure_is_forwarded_unchanged(tmp_path: Path) -> None:
    clock = SwiftClock()
    async with FakeProvider([error(500, "first"), error(503, "second")]) as provider:
        config = settings(provider, max_retries=1)
        async with running(tmp_path, config, clock=clock) as gateway:
            answer = await gateway.chat()
    assert (answer.status_code, answer.json()["error"]["message"]) == (503, "second")


async def test_a_long_wait_is_left_to_the_client(tmp_path: Path) -> None:
    clock = SwiftClock()
    async with FakeProvider([error(429, retry_after="120")]) as provider:
        config = settings(provider, max_retries=3)
        async with running(tmp_path, config, clock=clock) as gateway:
            answer = await gateway.chat()
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "120")
    assert clock.slept == []


async def test_nothing_is_retried_after_a_forwarded_byte(tmp_path: Path) -> None:
    script = sse(delta(content="a"), Pause(0.02), Cut())
    async with FakeProvider([script]) as provider:
        config = settings(provider, max_retries=3)
        async with running(tmp_path, config, clock=SwiftClock()) as gateway:
            request = gateway.http.build_request(
                "POST",
                "/chat/completions",
                json={"model": "m", "messages": MESSAGES, "stream": True},
            )
            answer = await gateway.http.send(request, stream=True)
            await answer.aclose()
    assert len(provider.requests) == 1


async def test_a_route_falls_back_to_another_model(tmp_path: Path) -> None:
    routes = {"smart": {"to": ["fake/first", "other/second", "third/last"]}}
    async with (
        FakeProvider([error(500), error(400, "bad")]) as first,
        FakeProvider([Answer("Hello")]) as second,
        FakeProvider() as third,
        running(tmp_path, settings(first, second, third, routes=routes)) as gateway,
    ):
        answer = await gateway.chat(model="smart")
        spans = await gateway.spans(answer.headers["x-trace-id"], 3)
        refused = await gateway.chat(model="smart")
        listed = (await gateway.http.get("/models")).json()
    assert answer.status_code == 200
    assert answer.headers["x-treadle-route"] == "smart"
    assert answer.headers["x-treadle-model"] == "other/second"
    assert second.requests[0].body["model"] == "second"
    (step,) = [span for span in spans if span.parent_id is None]
    assert step.attributes["treadle.gateway.route"] == "smart"
    assert [span.provider for span in spans if span.parent_id] == ["fake", "other"]
    # A fault in the request would be the same at the next provider.
    assert (refused.status_code, refused.json()["error"]["message"]) == (400, "bad")
    assert listed["data"][0]["id"] == "smart"
    assert third.requests == []


async def test_an_unusable_target_is_skipped(tmp_path: Path) -> None:
    routes = {"smart": {"to": ["openai/x", "fake/*"], "models": ["gpt-*"]}}
    async with (
        FakeProvider([Answer("a")]) as provider,
        running(tmp_path, settings(provider, routes=routes)) as gateway,
    ):
        assert (await gateway.chat(model="gpt-9")).status_code == 200
    assert provider.requests[0].body["model"] == "gpt-9"


def request(values: Any, **headers: str) -> CallRequest:
    content = json.dumps(values).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return CallRequest(
        CHAT, content, Body.read(content), tuple(named.items()), "", read_context(named)
    )


IMAGE = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
QUOTED = {"role": "user", "content": 'what is "image_url"?'}


@pytest.mark.parametrize(
    ("conditions", "values", "headers", "fits"),
    [
        ({}, {"model": "r"}, {}, True),
        ({}, {"model": "x"}, {}, False),
        ({"models": ["gpt-*"]}, {"model": "gpt-4"}, {}, True),
        ({"labels": ["batch*"]}, {"model": "r"}, {"x_label": "a, batch-1"}, True),
        ({"labels": ["batch*"]}, {"model": "r"}, {"x_label": "a"}, False),
        ({"headers": {"X-Tier": "g*"}}, {"model": "r"}, {"x_tier": "gold"}, True),
        ({"headers": {"x-tier": "*"}}, {"model": "r"}, {}, False),
        ({"tools": True}, {"model": "r", "tools": [{"type": "function"}]}, {}, True),
        ({"tools": True}, {"model": "r", "tools": []}, {}, False),
        ({"tools": False}, {"model": "r"}, {}, True),
        ({"images": True}, {"model": "r", "messages": [IMAGE]}, {}, True),
        ({"images": True}, {"model": "r", "messages": [QUOTED]}, {}, False),
        ({"min_size": "1KB"}, {"model": "r", "x": "y" * 1_000}, {}, True),
        ({"min_size": "1KB"}, {"model": "r"}, {}, False),
        ({"max_size": "1KB"}, {"model": "r", "x": "y" * 1_000}, {}, False),
    ],
)
async def test_routes_match_by_their_conditions(
    conditions: dict[str, Any], values: dict[str, Any], headers: dict[str, str], fits: bool
) -> None:
    tables = {"fake": {"base_url": "http://127.0.0.1:9/v1"}}
    config = Settings.model_validate(
        {
            "providers": tables,
            "gateway": {"routes": {"r": {"to": ["fake/hit"], **conditions}}, "provider": "fake"},
        }
    )
    router = Router(config, {}, NoModels())  # type: ignore[arg-type]  # nothing is listed here
    plan = await router.plan(request(values, **headers))
    assert [target.model for target in plan.targets] == ["hit" if fits else values["model"]]
    assert plan.route == ("r" if fits else None)


class NoModels:
    async def provider_of(self, model: str) -> None:
        return None


async def test_weights_distribute_calls() -> None:
    route = {"to": ["fake/a", "fake/b", "fake/never"], "weights": [3, 1, 0], "models": ["*"]}
    tables = {"fake": {"base_url": "http://127.0.0.1:9/v1"}}
    config = Settings.model_validate({"providers": tables, "gateway": {"routes": {"r": route}}})
    router = Router(config, {}, NoModels(), random.Random(1))  # type: ignore[arg-type]
    plans = [await router.plan(request({"model": "x"})) for _ in range(1_000)]
    first = Counter(plan.targets[0].model for plan in plans)
    assert 700 < first["a"] < 800
    assert first["never"] == 0
    assert all({t.model for t in plan.targets} == {"a", "b", "never"} for plan in plans)


@pytest.mark.parametrize(
    "route",
    [
        {"to": []},
        {"to": ["nothing"]},
        {"to": ["a/b"], "weights": [1, 2]},
        {"to": ["a/b"], "weights": [0]},
        {"to": ["a/b", "a/c"], "weights": [-1, 2]},
        {"to": ["a/b"], "min_size": "many"},
    ],
)
def test_invalid_routes_are_refused(route: dict[str, Any]) -> None:
    with pytest.raises((ConfigError, ValueError)):
        Settings.model_validate({"gateway": {"routes": {"r": route}}})
