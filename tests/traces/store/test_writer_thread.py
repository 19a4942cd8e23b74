"""Faults of the disk and of other processes: a write fails, the writer goes on."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.spans.runs import span
from tests.traces.store.contract import full_span
from tests.traces.store.dumps import dump
from treadle.errors import StoreError
from treadle.spans.span import Span
from treadle.spans.span_writer import StoreBusyError
from treadle.traces import TraceStore
from treadle.traces.store import connections, migrations, trace_store, writer_thread


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    opened = TraceStore.open(tmp_path / "traces.db")
    yield opened
    opened.close()


def large(number: int) -> Span:
    return span(f"s{number}", start_us=number, trace_id=f"trace {number} {'x' * 50_000}")


def test_a_full_disk_fails_the_write_and_not_the_writer(store: TraceStore) -> None:
    store.write([span("before")]).result()
    limit = store._writer.do(lambda file: file.execute("PRAGMA max_page_count = 1").fetchone()[0])
    assert limit.result() > 1  # as many as there are

    refused = store.write([large(number) for number in range(20)])

    assert "database or disk is full" in str(refused.exception())
    store.write([large(1)]).result()  # the writer connected again, without the limit
    assert len(dump(store)["spans"]) == 2


def test_a_file_that_another_process_holds_fails_the_write_and_not_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_store, "SCHEMA", migrations.SCHEMA._replace(busy_seconds=0.05))
    store = TraceStore.open(tmp_path / "traces.db")
    with closing(sqlite3.connect(tmp_path / "traces.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refused = store.write([span("early")])
        assert "database is locked" in str(refused.exception())
        assert store.runs().data == ()  # readers are not held up
        other.execute("ROLLBACK")
    store.write([span("late")]).result()

    assert [one.span_id for one in store.trace("trace").spans] == ["late"]
    store.close()


def test_a_damaged_file_fails_the_write_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    store = TraceStore.open(path)
    store.write([large(number) for number in range(50)]).result()
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'spans'")
        (page,) = found.fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xaa" * size)
    store = TraceStore.open(path)

    failed = store.write([span("s")])

    assert isinstance(failed.exception(), StoreError)
    assert "could not be written" in str(failed.exception())
    assert isinstance(store.write([span("s")]).exception(), StoreError)
    with pytest.raises(StoreError, match="cannot be read") as unread:
        store.spans()
    for told in (failed.exception(), unread.value):  # who is far away reads it too
        assert str(tmp_path) not in str(told)
    store.close()


def test_a_request_larger_than_a_group_is_done_when_all_of_it_is_kept(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_thread, "_GROUP_LIMIT", 7)
    monkeypatch.setattr(writer_thread, "_SHARE", 7)
    commits: list[int] = []
    store.on_commit(commits.append)
    store.write([span(f"s{number}") for number in range(50)], redacted={"aws": 1}).result()

    assert len(dump(store)["spans"]) == 50
    assert store.redactions() == {"aws": 1}
    store.close()
    assert commits == [*range(7, 50, 7), 50]


def test_what_waits_is_bounded_by_its_size(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_thread, "PENDING_BYTES", 100_000)
    go_on = Event()
    blocked = store._writer.do(lambda _: go_on.wait(30))
    accepted = store.write([full_span(input="x" * 60_000)])

    refused = store.write([full_span(attributes={"deep": [{"list": "x" * 60_000}]})])

    assert isinstance(refused.exception(), StoreBusyError)
    go_on.set()
    assert blocked.result()
    assert accepted.exception() is None
    assert store.write([full_span(input="x" * 60_000)]).exception() is None


def test_a_listener_that_fails_holds_nothing_up(store: TraceStore) -> None:
    def fail(_: int) -> None:
        raise RuntimeError

    store.on_commit(fail)
    heard: list[int] = []
    store.on_commit(heard.append)
    store.write([span("a")]).result()
    store.write([span("b")]).result()
    store.close()

    assert heard == [1, 2]


def test_the_log_stays_small_while_readers_come_and_go(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_CHECKPOINT_BYTES", 100_000)
    monkeypatch.setattr(connections, "_LARGE_LOG", 2_000_000)
    log = store.folder / "traces.db-wal"
    done = Event()

    def read() -> None:
        while not done.is_set():
            with store.reader() as connection:
                connection.execute("SELECT count(*) FROM spans").fetchone()

    readers = [Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    largest = 0
    for batch in range(40):
        store.write(
            [span(f"{batch}/{number}", start_us=batch * 100 + number) for number in range(100)]
        ).result()
        largest = max(largest, log.stat().st_size)
    done.set()
    for reader in readers:
        reader.join()

    assert largest < 6_000_000
