import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.fakes.clock import FakeClock, settle
from treadle.database.address import DEFAULT_PROJECT
from treadle.errors import ConfigError, StoreError
from treadle.server.projects import Projects


class FakeServices:
    def __init__(self, name: str, working: set[str]) -> None:
        self.name = name
        self._working = working

    @property
    def is_working(self) -> bool:
        return self.name in self._working


class Opener:
    """Opens empty projects, and records what was opened and closed in which order."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.working: set[str] = set()
        self.failures: dict[str, list[Exception]] = {}
        self.gate = asyncio.Event()
        self.gate.set()

    @asynccontextmanager
    async def __call__(self, name: str) -> AsyncIterator[FakeServices]:
        self.log.append(f"opening {name}")
        await self.gate.wait()
        if self.failures.get(name):
            raise self.failures[name].pop()
        try:
            yield FakeServices(name, self.working)
        finally:
            self.log.append(f"closed {name}")


def projects(opener: Opener, **options: Any) -> Projects[FakeServices]:
    defaults: dict[str, Any] = {"clock": FakeClock(), "most_open": 10}
    return Projects(opener, **defaults | options)


async def name_of(opened: Projects[FakeServices], name: str) -> str:
    async with opened.using(name) as services:
        return services.name


async def test_default_project_is_open_from_the_start_and_the_others_at_first_use() -> None:
    opener = Opener()
    async with projects(opener) as opened:
        assert opener.log == ["opening default"]
        assert opened.default.name == DEFAULT_PROJECT
        assert await name_of(opened, "alpha") == "alpha"
        assert await name_of(opened, "alpha") == "alpha"
        assert opened.names() == ("default", "alpha")
    assert opener.log == ["opening default", "opening alpha", "closed alpha", "closed default"]


async def test_concurrent_first_requests_open_a_project_once() -> None:
    opener = Opener()
    async with projects(opener) as opened:
        opener.gate.clear()
        asking = [asyncio.create_task(name_of(opened, "alpha")) for _ in range(10)]
        await settle()
        opener.gate.set()
        assert await asyncio.gather(*asking) == ["alpha"] * 10
    assert opener.log.count("opening alpha") == 1


async def test_failed_opening_fails_its_requests_only_and_the_next_request_tries_again() -> None:
    opener = Opener()
    opener.failures["alpha"] = [ConfigError("config.toml has no end.", hint="Close it.")]
    async with projects(opener) as opened:
        opener.gate.clear()
        asking = [asyncio.create_task(name_of(opened, "alpha")) for _ in range(2)]
        other = asyncio.create_task(name_of(opened, "beta"))
        await settle()
        opener.gate.set()
        errors = await asyncio.gather(*asking, return_exceptions=True)
        assert await other == "beta"
        assert await name_of(opened, "alpha") == "alpha"
    assert [str(error) for error in errors] == [
        "The project 'alpha' cannot be opened: config.toml has no end. Close it."
    ] * 2
    assert {type(error) for error in errors} == {StoreError}


async def test_failure_of_the_default_project_keeps_its_type() -> None:
    opener = Opener()
    opener.failures[DEFAULT_PROJECT] = [ConfigError("The port is taken.")]
    with pytest.raises(ConfigError, match=r"^The port is taken\.$"):
        async with projects(opener):
            pass


async def test_request_that_is_cancelled_while_a_project_opens_does_not_end_the_opening() -> None:
    opener = Opener()
    async with projects(opener) as opened:
        opener.gate.clear()
        first = asyncio.create_task(name_of(opened, "alpha"))
        second = asyncio.create_task(name_of(opened, "alpha"))
        await settle()
        first.cancel()
        await settle()
        opener.gate.set()
        assert await second == "alpha"
    assert opener.log.count("opening alpha") == 1


async def test_idle_project_is_closed_and_opened_again() -> None:
    opener, clock = Opener(), FakeClock()
    async with projects(opener, clock=clock, idle_seconds=100) as opened:
        await name_of(opened, "alpha")
        await clock.advance(90)
        assert opened.names() == ("default", "alpha")
        await clock.advance(20)
        assert opened.names() == ("default",)
        assert await name_of(opened, "alpha") == "alpha"
    assert opener.log.count("opening alpha") == 2


async def test_project_in_use_or_with_running_work_is_not_idle() -> None:
    opener, clock = Opener(), FakeClock()
    async with projects(opener, clock=clock, idle_seconds=100) as opened:
        async with opened.using("alpha"):  # an event stream, for example
            await clock.advance(1_000)
            assert "alpha" in opened.names()
        opener.working.add("alpha")
        await clock.advance(1_000)
        assert "alpha" in opened.names()
        opener.working.clear()
        await clock.advance(20)
        assert opened.names() == ("default",)


async def test_full_server_closes_the_project_that_was_used_least_recently() -> None:
    opener, clock = Opener(), FakeClock()
    async with projects(opener, clock=clock, most_open=3) as opened:
        await name_of(opened, "alpha")
        await clock.advance(1)
        await name_of(opened, "beta")
        await clock.advance(1)
        await name_of(opened, "alpha")
        await name_of(opened, "gamma")
        assert opened.names() == ("default", "alpha", "gamma")


async def test_full_server_refuses_another_project_while_all_are_in_use() -> None:
    opener = Opener()
    async with projects(opener, most_open=2) as opened, opened.using("alpha"):
        with pytest.raises(
            StoreError, match="'beta' cannot be opened: 2 other projects are in use"
        ):
            await name_of(opened, "beta")
        assert await name_of(opened, "alpha") == "alpha"


async def test_concurrent_requests_for_different_projects_stay_below_the_limit() -> None:
    opener = Opener()
    async with projects(opener, most_open=2) as opened:
        names = [f"p{number}" for number in range(6)]
        asking = [asyncio.create_task(name_of(opened, name)) for name in names]
        results = await asyncio.gather(*asking, return_exceptions=True)
        assert len(opened.names()) <= 2
    answered = [each for each in results if isinstance(each, str)]
    assert answered
    assert all(isinstance(each, str | StoreError) for each in results)
