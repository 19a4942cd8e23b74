"""Each engine of the trace store keeps the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.traces.store.contract import Contract, Engine
from treadle.database import StoreAddress
from treadle.traces import TraceStore


def opened_again(address: StoreAddress) -> Iterator[Engine]:
    """Yield a function that opens the store at `address`, and close all opened stores."""
    opened: list[TraceStore] = []

    def open_again() -> TraceStore:
        opened.append(TraceStore.open(address))
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


class TestSqlite(Contract):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> Iterator[Engine]:
        yield from opened_again(tmp_path / "traces.db")


class TestPostgres(Contract):
    @pytest.fixture
    def engine(self, postgres_address: StoreAddress) -> Iterator[Engine]:
        yield from opened_again(postgres_address)

    @pytest.mark.slow
    def test_spans_that_all_start_at_once_are_all_kept(self, store: TraceStore) -> None:
        super().test_spans_that_all_start_at_once_are_all_kept(store)

    @pytest.mark.slow
    def test_too_much_at_once_is_refused_and_nothing_of_it_kept(self, store: TraceStore) -> None:
        super().test_too_much_at_once_is_refused_and_nothing_of_it_kept(store)
