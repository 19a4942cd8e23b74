"""A server with two filled projects, which all tests of this folder share."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from tests.engines import PostgresServer
from tests.isolation.filling import Filling
from tests.isolation.world import WORDS, Setup, World, two_projects

_SETUPS = {
    "named": Setup(),
    "default_is_read": Setup(victim="default"),
    "default_reads": Setup(other="default"),
}


@pytest.fixture(scope="package", params=[
    pytest.param((engine, name), id=f"{engine}-{name}",
                 marks=[] if (engine, name) == ("sqlite", "named") else [pytest.mark.slow])
    for engine in ("sqlite", "postgres")
    for name in _SETUPS
])  # fmt: skip
def setup(request: pytest.FixtureRequest) -> Setup:
    """The projects and the engine of their stores. Quick runs include only the first setup."""
    engine, name = request.param
    if engine == "sqlite":
        return _SETUPS[name]
    server: PostgresServer = request.getfixturevalue("postgres")
    return replace(_SETUPS[name], url=server.new_database())


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def world(setup: Setup, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder: Path = tmp_path_factory.mktemp("projects")
    with pytest.MonkeyPatch.context() as patch:
        async with two_projects(folder, setup, patch) as opened, AsyncExitStack() as stack:
            for project, word in WORDS.items():
                opened.ids[project] = await Filling(opened, project, word, stack).fill()
            yield opened
