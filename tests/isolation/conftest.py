"""A server with two filled projects, which all tests of this folder share."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from tests.isolation.filling import Filling
from tests.isolation.world import WORDS, World, two_projects


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder: Path = tmp_path_factory.mktemp("projects")
    with pytest.MonkeyPatch.context() as patch:
        async with two_projects(folder, patch) as opened, AsyncExitStack() as stack:
            for project, word in WORDS.items():
                opened.ids[project] = await Filling(opened, project, word, stack).fill()
            yield opened
