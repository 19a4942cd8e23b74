"""The settings of the page: values and sources, prices, retention and statistics."""

from contextlib import closing
from pathlib import Path

from tests.server.serving import Served, serving
from treadle.spans.span import Span, SpanKind, SpanStatus
from treadle.traces import TraceStore

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz123456"
DAY_US = 86_400_000_000


def call(number: int, name: str, *, took: int, failure: str | None = None) -> Span:
    return Span(
        trace_id=f"{number:032x}",
        span_id=f"{number:016x}",
        run_id=f"run-{number // 2}",
        kind=SpanKind.TOOL,
        operation="execute_tool",
        name=f"execute_tool {name}",
        start_us=1_000 + number * DAY_US,
        end_us=1_000 + number * DAY_US + took,
        status=SpanStatus.ERROR if failure else SpanStatus.OK,
        attributes={"error.type": failure} if failure else {},
    )


def record(repo: Path, *spans: Span) -> None:
    path = repo.parent / "home" / "data" / "traces.db"
    with closing(TraceStore.open(path)) as store:
        store.write(spans).result()


async def refused(server: Served, path: str) -> str:
    answer = await server.http.get(f"/api/v1{path}")
    assert answer.status_code == 422
    message: str = answer.json()["error"]["message"]
    return message


async def test_every_setting_has_a_description_and_a_source(repo: Path) -> None:
    user = repo.parent / "home" / "config" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text(f'[providers.desk]\nbase_url = "http://127.0.0.1:1/v1?key={SECRET}"\n')
    own = repo / ".treadle" / "config.toml"
    own.parent.mkdir()
    own.write_text("[tools]\ntimeout = 5.0\n")
    async with serving(repo, TREADLE_LOGS__LEVEL="off") as server:
        answer = await server.get("/settings")
        assert await refused(server, "/settings?key=model") == "There is no parameter 'key'."
    assert SECRET not in str(answer)
    told = {each["key"]: each for each in answer["data"]}
    assert told["tools.timeout"] == {
        "key": "tools.timeout",
        "value": 5.0,
        "default": 30.0,
        "origin": {"layer": "repository file", "source": str(own), "line": 2},
        "type": "number above 0",
        "description": "Timeout of a tool call in seconds, unless the tool sets its own timeout.",
        "needs_consent": False,
        "file": str(own),
        "variable": "TREADLE_TOOLS__TIMEOUT",
    }
    assert told["logs.level"]["origin"]["source"] == "TREADLE_LOGS__LEVEL"
    assert told["trusted_roots"]["value"] == []
    assert told["gateway.cache.enabled"]["file"] == str(user)
    assert told["gateway.cache.enabled"]["origin"]["layer"] == "default"
    assert "[redacted:" in told["providers.desk.base_url"]["value"]
    assert answer["files"] == [
        {"path": str(user), "layer": "user file", "exists": True},
        {"path": str(own), "layer": "repository file", "exists": True},
    ]
    assert answer["warnings"] == []


async def test_prices_retention_and_statistics_are_returned(repo: Path) -> None:
    record(
        repo,
        *(call(number, "grep", took=1_000 * (number + 1)) for number in range(4)),
        call(4, "grep", took=9_000, failure="timeout"),
        call(5, "read_file", took=500),
    )
    async with serving(repo, TREADLE_TRACES__MAX_SIZE="5GB") as server:
        await the_price_says_how_it_was_found(server)
        await statistics_are_of_the_time_that_is_asked_for(server)
        await a_preview_deletes_nothing(server)


async def the_price_says_how_it_was_found(server: Served) -> None:
    listed = await server.get("/prices", model="gpt-4o", provider="openai")
    assert listed["prices"] == {
        "input": 2.5,
        "output": 10.0,
        "cached": 1.25,
        "cache_write": None,
        "reasoning": None,
        "request": 0.0,
        "stepped": False,
    }
    assert (listed["found_by"], listed["list_provider"], listed["list_model"]) == (
        "address",
        "openai",
        "gpt-4o",
    )
    assert listed["price_list"].startswith("genai-prices ")
    assert (listed["context_window"], listed["reason"]) == (128_000, None)
    named = await server.get("/prices", model="gpt-4o", provider="azure.ai.openai")
    assert (named["found_by"], named["list_provider"]) == ("provider", "azure")
    alone = await server.get("/prices", model="no-such-model")
    assert (alone["found_by"], alone["prices"]) == ("model", None)
    assert alone["reason"] == "The price list does not have this model of this provider."
    here = await server.get("/prices", model="qwen3", provider="ollama")
    assert here["reason"] == "It runs on this machine, where calls have no price."
    assert "model" in await refused(server, "/prices")


async def statistics_are_of_the_time_that_is_asked_for(server: Served) -> None:
    found = await server.get("/tools/statistics")
    grep, read_file = found["data"]
    assert grep == {
        "name": "grep",
        "calls": 5,
        "by_status": {"ok": 4, "error": 1},
        "failures": {"timeout": 1},
        "success_rate": 0.8,
        "latency_ms": {"p50": 3.0, "p95": 9.0, "max": 9.0},
        "last_us": 1_000 + 4 * DAY_US,
    }
    assert (read_file["calls"], read_file["failures"]) == (1, {})
    assert (found["since_us"], found["until_us"]) == (None, None)
    some = await server.get("/tools/statistics", since="1970-01-02", until="1970-01-04")
    assert [(each["name"], each["calls"]) for each in some["data"]] == [("grep", 2)]
    assert (some["since_us"], some["until_us"]) == (DAY_US, 3 * DAY_US)
    assert (await server.get("/tools/statistics", period="last_hour"))["data"] == []
    assert "since" in await refused(server, "/tools/statistics?since=soon")
    assert "'tool'" in await refused(server, "/tools/statistics?tool=grep")


async def a_preview_deletes_nothing(server: Served) -> None:
    kept = await server.get("/retention")
    assert (kept["keep"], kept["max_size"]) == (None, "5GB")
    held = kept["held"]
    assert (held["spans"], held["traces"], held["runs"]) == (6, 6, 3)
    assert (held["oldest_us"], held["newest_us"]) == (1_000, 1_000 + 5 * DAY_US + 500)
    assert kept["due"]["traces"] == 0
    would = await server.get("/retention/preview", keep="30d")
    assert would["deleted"] == held
    small = await server.get("/retention/preview", max_size="1KB")
    assert small["deleted"]["spans"] == 6
    assert (await server.get("/retention/preview"))["deleted"]["oldest_us"] is None
    assert (await server.get("/retention"))["held"]["spans"] == 6
    assert await refused(server, "/retention/preview?keep=long") == (
        "keep should be an age such as 12h, 30d or 4w."
    )
    assert "max_size" in await refused(server, "/retention/preview?max_size=9XB")


async def test_empty_store_is_not_an_error(repo: Path) -> None:
    async with serving(repo) as server:
        assert (await server.get("/retention"))["held"]["oldest_us"] is None
        assert (await server.get("/retention/preview", keep="1d"))["deleted"]["spans"] == 0
        assert (await server.get("/tools/statistics"))["data"] == []
