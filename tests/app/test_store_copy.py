"""All stores of a project, copied between SQLite and PostgreSQL, and examined."""

import asyncio
from contextlib import closing
from pathlib import Path
from random import Random
from uuid import UUID, uuid4

import pytest

from tests.traces.store.queries.random_spans import random_span
from treadle.app.project_databases import copy_project, project_databases, wrong_span_sums
from treadle.app.store_check import check_stores
from treadle.app.stores import Stores
from treadle.llm.messages import UserMessage
from treadle.session import ConversationStore
from treadle.traces import TraceStore
from treadle.traces.query import parse_query
from treadle.ui.state import Change
from treadle.ui.store import UiStore


def ignore(_table: str, _rows: int) -> None:
    pass


async def fill(stores: Stores, seed: int) -> None:
    random = Random(seed)
    with closing(TraceStore.open(stores.traces)) as store:
        for _ in range(3):
            spans = [random_span(random) for _ in range(60)]
            await asyncio.wrap_future(store.write(spans))
    async with await ConversationStore.open(stores.conversations) as conversations:
        made = await conversations.create(Path("/repo"), "m")
        made.add(UserMessage("a\0\ud800"), 1)
        await conversations.append(made, 0)
    with closing(UiStore(stores.ui)) as ui:
        ui.change(Change(location="/runs", collapse=("a", "b")), now_us=1)
        ui.ask(UUID(int=1), "page", {}, request_id=UUID(int=2), now_us=1)


async def shown(stores: Stores) -> list[object]:
    """What the lists of the stores show."""
    with closing(TraceStore.open(stores.traces)) as store:
        spans = store.spans(limit=1_000).data
        found: list[object] = [
            spans,
            store.runs(limit=1_000).data,
            store.threads(limit=1_000).data,
            [store.trace(each.trace_id) for each in spans],
            *(
                store.spans(parse_query(words, now_us=1), limit=1_000).data
                for words in ("a", "error", "é")
            ),
        ]
    async with await ConversationStore.open(stores.conversations) as conversations:
        found += await conversations.list()
        found.append(await conversations.load("last", root=Path("/repo")))
    with closing(UiStore(stores.ui)) as ui:
        found += [ui.state(), ui.requests_after(0)]
    return found


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
async def test_a_copy_shows_the_same_and_the_copy_of_the_copy_too(
    postgres_url: str, tmp_path: Path, seed: int
) -> None:
    first = Stores(tmp_path / "first")
    second = Stores(tmp_path / "second", postgres_url, f"p{uuid4().hex[:20]}")
    third = Stores(tmp_path / "third")
    await fill(first, seed)
    before = await shown(first)
    copied = await asyncio.to_thread(copy_project, first, second, ignore)
    assert copied["spans"]["spans"] == len(before[0])  # type: ignore[arg-type]
    assert await shown(second) == before
    await asyncio.to_thread(copy_project, second, third, ignore)
    assert await shown(third) == before == await shown(first)
    for stores in (first, second, third):
        states = check_stores(stores, deep=True)
        assert [state.problem for state in states] == [None] * len(states)


async def test_a_copy_continues_with_the_next_numbers(postgres_url: str, tmp_path: Path) -> None:
    first = Stores(tmp_path / "first")
    second = Stores(tmp_path / "second", postgres_url, f"p{uuid4().hex[:20]}")
    await fill(first, 0)
    await asyncio.to_thread(copy_project, first, second, ignore)
    for stores in (first, second):
        with closing(TraceStore.open(stores.traces)) as store:
            await asyncio.wrap_future(store.write([random_span(Random(99))]))
        with closing(UiStore(stores.ui)) as ui:
            ui.ask(UUID(int=3), "page", {}, request_id=UUID(int=4), now_us=1)
            assert [request.number for request in ui.requests_after(0)] == [1, 2]
    assert await shown(second) == await shown(first)


async def test_a_deep_check_finds_wrong_sums(both_stores: Stores) -> None:
    await fill(both_stores, 1)
    assert wrong_span_sums(both_stores) == []
    traces = project_databases(both_stores)[0]
    with traces, traces.transaction() as connection:
        connection.execute("UPDATE runs SET errors = errors + 1")
    (state, *_) = check_stores(both_stores, deep=True)
    assert state.problem is not None
    assert "rows of runs differ from the sums over all spans" in state.problem
    assert "rows of threads differ" in state.problem
    assert check_stores(both_stores)[0].problem is None
