"""The SQLite engine keeps the contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.traces.store.contract import Contract, Engine
from treadle.traces import TraceStore


class TestSqlite(Contract):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> Iterator[Engine]:
        opened: list[TraceStore] = []

        def open_again() -> TraceStore:
            opened.append(TraceStore.open(tmp_path / "traces.db"))
            return opened[-1]

        yield open_again
        for store in opened:
            store.close()
