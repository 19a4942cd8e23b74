import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.spans.runs import span
from tests.traces.store.contract import full_span
from tests.traces.store.dumps import dump
from tests.traces.store.old_files import write_old_file
from tests.traces.store.queries.random_spans import random_span
from treadle.errors import StoreError
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanEvent, SpanKind, SpanStatus
from treadle.traces import TraceStore
from treadle.traces.query import MetadataKey
from treadle.traces.store import span_merge
from treadle.traces.store.migrations import VERSION
from treadle.traces.store.schema import TABLES
from treadle.traces.store.span_merge import SpanKeys, prepare
from treadle.traces.store.sqlite_engine import SQLITE

ROOT = Path(__file__).parents[3]

SPANS = [
    replace(
        span("root", kind=SpanKind.RUN, end_us=9_000),
        thread_id="thread \ud800",
        run_id="run",
        input="a question with \0 and \udfff",
        output="👩‍💻",
        attributes={"list": [1, {"b": None}]},
        events=(SpanEvent(1_500, "retry", {"attempt": 2}),),
    ),
    replace(
        span("m", "root", kind=SpanKind.MODEL),
        model="small",
        provider="local",
        tokens=Usage(input=7, output=3, cached=1, reasoning=2),
        cost=0.25,
        time_to_first_token_us=5,
    ),
    replace(
        span("t", "root", kind=SpanKind.TOOL, end_us=1_040),
        name="execute_tool grep",
        status=SpanStatus.ERROR,
        error="it broke",
        attributes={"error.type": "timeout"},
    ),
    span("other \udc00", trace_id="another", end_us=None),
]


@pytest.mark.parametrize("form", [1, 2])
def test_what_older_versions_recorded_is_taken_over_whole(tmp_path: Path, form: int) -> None:
    path = tmp_path / "traces.db"
    write_old_file(path, SPANS, form)

    store = TraceStore.open(path)
    kept = [store.span(one.trace_id, one.span_id) for one in SPANS]
    (stats,) = store.tool_stats()
    with store.reader() as connection:
        sums = connection.execute(
            "SELECT spans, model_calls, input_tokens, cost_nano FROM threads ORDER BY spans DESC"
        ).fetchall()
        tables = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'old%'")
        assert tables.fetchone() == (0,)
    store.close()

    assert kept == SPANS
    assert (stats.name, stats.failures, stats.p50_us) == ("grep", {"timeout": 1}, 40)
    assert sums == [(3, 1, 7, 250_000_000), (1, 0, 0, 0)]


def test_a_file_of_form_3_gets_its_missing_indexes(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in (*TABLES, *SQLITE.text_tables):
            connection.execute(statement)
        span_merge.merge(connection, prepare(SPANS, SQLITE), SpanKeys())
        connection.execute("PRAGMA user_version = 3")

    store = TraceStore.open(path)
    kept = [store.span(one.trace_id, one.span_id) for one in SPANS]
    store.close()
    TraceStore.open(tmp_path / "new.db").close()

    assert kept == SPANS
    assert everything_in(path) == everything_in(tmp_path / "new.db")


@pytest.mark.parametrize(
    ("table", "lost"),
    [
        ("spans", ["cost_source", "output_preview", "input_counts_cache"]),
        ("sums", ["unfinished", "cached_tokens", "unpriced", "busy_us"]),
    ],
)
def test_a_column_that_an_older_file_lacks_is_added_and_computed(
    tmp_path: Path, table: str, lost: list[str]
) -> None:
    path = tmp_path / "traces.db"
    store = TraceStore.open(path)
    random = Random(3)
    store.write([*SPANS, full_span(), *(random_span(random) for _ in range(100))]).result()
    written = dump(store)
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        for name in ("spans",) if table == "spans" else ("traces", "runs", "threads", "rollups"):
            for column in lost:
                connection.execute(f"ALTER TABLE {name} DROP COLUMN {column}")
        connection.execute(f"PRAGMA user_version = {VERSION - 1}")

    store = TraceStore.open(path)
    added = dump(store)
    store.close()

    assert added == written


def everything_in(path: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()


def test_a_migration_that_dies_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "traces.db"
    write_old_file(path, SPANS, 2)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(span_merge, "merge", die)
        with pytest.raises(KeyboardInterrupt):
            TraceStore.open(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("SELECT count(*) FROM spans").fetchone() == (4,)
    store = TraceStore.open(path)
    assert len(store.trace("trace").spans) == 3
    store.close()


OPENER = """
import sys
from pathlib import Path
from treadle.traces import TraceStore
sys.stdin.readline()
store = TraceStore.open(Path(sys.argv[1]))
print(len(store.trace("trace").spans))
store.close()
"""


def test_two_processes_may_migrate_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    many: list[Span] = [span(f"s{number}", start_us=number) for number in range(1_000)]
    write_old_file(path, many, 2)
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for _ in range(2)
    ]
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    counted = [opener.communicate(timeout=60)[0] for opener in openers]

    assert counted == ["1000\n", "1000\n"]


def test_calls_that_an_earlier_form_counted_twice_are_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    client = span("client", kind=SpanKind.MODEL)
    client = replace(client, tokens=Usage(input=10), cost=0.5)
    gateway = replace(client, span_id="gateway", parent_id="http")
    store = TraceStore.open(path)
    store.write([client, span("http", "client", kind=SpanKind.OTHER), gateway]).result()
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE spans SET counted = 1 WHERE span_id = 'client'")
        for table in ("traces", "runs", "threads", "rollups"):
            connection.execute(
                f"UPDATE {table} SET model_calls = 2, input_tokens = 20, cost_nano = 1000000000"
            )
        connection.execute("DROP INDEX steps_by_parent")
        connection.execute("PRAGMA user_version = 6")
    TraceStore.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        for table in ("traces", "runs", "threads", "rollups"):
            found = connection.execute(
                f"SELECT DISTINCT model_calls, input_tokens, cost_nano FROM {table}"
                f"{' WHERE model_calls' if table == 'rollups' else ''}"
            ).fetchall()
            assert (1, 10, 500_000_000) in found, table


def test_embeddings_of_an_earlier_form_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    outer = span("outer", kind=SpanKind.EMBEDDING)
    inner = replace(span("inner", "outer", kind=SpanKind.EMBEDDING), cost=0.5)
    inner = replace(inner, tokens=Usage(input=10), labels=("beta",))
    store = TraceStore.open(path)
    store.write([outer, inner]).result()
    expected = dump(store, ())
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE spans SET counted = 0")
        for table in ("traces", "runs", "threads", "rollups"):
            connection.execute(
                f"UPDATE {table} SET model_calls = 0, input_tokens = 0, cost_nano = 0, priced = 0,"
                " metered = 0"
            )
        connection.execute("PRAGMA user_version = 7")
    store = TraceStore.open(path)
    assert dump(store, ()) == expected
    assert store.summary().sums.totals.cost == 0.5
    store.close()


def test_users_of_earlier_records_are_read_from_their_attributes(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    attributes = {"user.id": "alice", "metadata": '{"tenant": "acme"}'}
    root = replace(span("root"), attributes=attributes)
    store = TraceStore.open(path)
    store.write([root, span("call", "root", kind=SpanKind.MODEL)]).result()
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA user_version = 10")

    store = TraceStore.open(path)
    (group,) = store.groups(MetadataKey("tenant")).data
    kept = store.span("trace", "root")
    store.close()

    assert (group.value, group.sums.totals.spans, group.sums.totals.model_calls) == ("acme", 2, 1)
    assert kept == replace(root, user="alice", metadata={"tenant": "acme"})


def test_faults_of_earlier_records_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    failed = [
        replace(span("run"), status=SpanStatus.ERROR),
        replace(span("tool", "run", kind=SpanKind.TOOL), status=SpanStatus.ERROR),
        replace(span("tool", trace_id="another", kind=SpanKind.TOOL), status=SpanStatus.ERROR),
    ]
    store = TraceStore.open(path)
    store.write([*failed, *SPANS[1:]]).result()
    written = dump(store)
    assert sorted(run.sums.faults for run in store.runs().data) == [1, 2]
    store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        for index in ("spans_in_short", "faults", "failed_by_parent"):
            connection.execute(f"DROP INDEX {index}")
        connection.execute("ALTER TABLE spans DROP COLUMN fault")
        for table in ("traces", "runs", "threads", "rollups", "properties"):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN faults")
        connection.execute("PRAGMA user_version = 13")

    store = TraceStore.open(path)
    assert dump(store) == written
    store.close()


def test_open_store_refuses_to_write_after_an_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    with closing(TraceStore.open(path)) as store:
        store.write([span("before")]).result()
        with closing(sqlite3.connect(path)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            connection.execute(f"PRAGMA user_version = {version + 1}")

        with pytest.raises(StoreError, match="newer version"):
            store.write([span("after")]).result()
        with pytest.raises(StoreError, match="newer version"):
            store.delete(traces=["trace"])
        assert [each.span_id for each in store.spans().data] == ["before"]
