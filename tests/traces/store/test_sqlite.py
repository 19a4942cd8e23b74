import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.traces.runs import span
from treadle.errors import NotFoundError, StoreError, UsageError
from treadle.events.types import Usage
from treadle.traces import LAST, Span, SpanEvent, SpanKind, SpanStatus, SqliteTraceStore, TraceStore
from treadle.traces.query import Field, Query, any_of

ROOT = Path(__file__).parents[3]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteTraceStore]:
    opened = SqliteTraceStore.open(tmp_path / "folder" / "traces.db")
    yield opened
    opened.close()


def full_span() -> Span:
    return Span(
        trace_id="t",
        span_id="s",
        parent_id="p",
        kind=SpanKind.MODEL,
        operation="chat",
        name="chat small",
        start_us=10,
        end_us=30,
        status=SpanStatus.ERROR,
        error="it broke",
        model="small",
        provider="local",
        tokens=Usage(input=5, output=0, cached=None, reasoning=1),
        cost=0.25,
        time_to_first_token_us=7,
        thread_id="thread 1",
        run_id="run/1",
        attributes={"a": [1, 2.5, None, True, {"b": "ü"}]},
        events=(SpanEvent(11, "retry", {"attempt": 2}),),
        input="in",
        output="out",
    )


def test_a_span_comes_back_as_it_was_written(store: SqliteTraceStore) -> None:
    store.write([full_span()]).result()

    assert store.trace("t").spans == (full_span(),)


@pytest.mark.parametrize("text", ["nul \0 inside", "lone \ud800 surrogate", "👩‍💻 שלום", ""])
def test_any_text_round_trips_without_loss(store: SqliteTraceStore, text: str) -> None:
    odd = replace(
        full_span(), name=text, input=text, output=text, span_id=text, attributes={"a": text}
    )
    store.write([odd]).result()

    assert store.trace("t").spans == (odd,)


VERSIONS = [
    span("root", end_us=None, kind=SpanKind.RUN),
    replace(span("root", end_us=None, kind=SpanKind.RUN), events=(SpanEvent(1_500, "retry"),)),
    replace(span("root", kind=SpanKind.RUN), events=(SpanEvent(1_500, "retry"),), output="done"),
    span("child", "root", start_us=1_100, end_us=None),
    replace(span("child", "root", start_us=1_100), output="one", thread_id="b"),
    replace(span("child", "root", start_us=1_100), output="two", thread_id="a"),
    span("orphan", "never", start_us=900),
]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.permutations(VERSIONS),
    again=st.lists(st.sampled_from(VERSIONS), max_size=5),
    cut=st.integers(0, len(VERSIONS)),
)
def test_any_order_of_arrival_and_any_repetition_give_the_same_trace(
    tmp_path_factory: pytest.TempPathFactory, order: list[Span], again: list[Span], cut: int
) -> None:
    store = SqliteTraceStore.open(tmp_path_factory.mktemp("traces") / "traces.db")
    store.write(order[:cut]).result()
    store.write([*order[cut:], *again]).result()
    trace, runs = store.trace("trace"), store.runs().data
    store.close()

    assert trace.spans == (VERSIONS[6], VERSIONS[2], VERSIONS[5])
    assert [(run.start_us, run.status, run.thread_id) for run in runs] == [
        (900, SpanStatus.OK, "a")
    ]


def test_a_late_start_never_undoes_the_end(store: SqliteTraceStore) -> None:
    store.write([span("s")]).result()
    store.write([span("s", end_us=None)]).result()

    assert store.trace("trace").status is SpanStatus.OK


def test_a_trace_without_its_end_is_unfinished(store: SqliteTraceStore) -> None:
    store.write([span("root", end_us=None), span("child", "root")]).result()

    assert store.trace("trace").status is SpanStatus.UNFINISHED
    assert store.runs().data[0].status is SpanStatus.UNFINISHED


def _of_thread(thread: str) -> Query:
    return Query((any_of(Field.THREAD, [thread]),))


def test_usage_of_repeated_versions_counts_once(store: SqliteTraceStore) -> None:
    model = replace(span("m", kind=SpanKind.MODEL), tokens=Usage(input=7, output=3), cost=0.5)
    store.write([model, model]).result()
    store.write([model]).result()

    totals = store.runs().data[0].sums.totals
    assert (totals.model_calls, totals.tokens, totals.cost) == (1, Usage(input=7, output=3), 0.5)


def test_unknown_tokens_and_cost_stay_unknown_in_the_sums(store: SqliteTraceStore) -> None:
    store.write([span("m", kind=SpanKind.MODEL)]).result()

    totals = store.runs().data[0].sums.totals
    assert (totals.tokens, totals.cost, totals.unmetered, totals.unpriced) == (Usage(), None, 1, 1)


def test_a_trace_is_found_by_id_prefix_dashed_uuid_and_last(store: SqliteTraceStore) -> None:
    older = "0193aaaaaaaa70008000000000000001"
    newer = "0193bbbbbbbb70008000000000000002"
    store.write([span("s", trace_id=newer, start_us=2), span("s", trace_id=older, start_us=1)])
    store.write([]).result()

    assert store.trace(older).trace_id == older
    assert store.trace("0193a").trace_id == older
    assert store.trace("0193BBBBBBBB").trace_id == newer
    assert store.trace("0193bbbb-bbbb-7000-8000-000000000002").trace_id == newer
    assert store.trace(LAST).trace_id == store.trace("last").trace_id == newer


def test_an_id_that_begins_another_one_is_still_found(store: SqliteTraceStore) -> None:
    store.write([span("s", trace_id="abc"), span("s", trace_id="abcd")]).result()

    assert store.trace("abc").trace_id == "abc"


def test_references_that_fit_none_or_several_say_so(store: SqliteTraceStore) -> None:
    with pytest.raises(NotFoundError, match="No trace has been recorded yet"):
        store.trace(LAST)
    store.write([span("s", trace_id=f"ab{number}") for number in range(6)]).result()
    with pytest.raises(UsageError, match=r"Several traces begin with ab: ab0, ab1, ab2, ab3, …"):
        store.trace("ab")
    for reference in ("zz", "", "-", "%", "a_"):
        with pytest.raises(NotFoundError, match="There is no trace"):
            store.trace(reference)


def test_runs_are_listed_newest_first_by_thread_and_up_to_the_limit(
    store: SqliteTraceStore,
) -> None:
    store.write(
        [
            replace(
                span("s", trace_id=f"t{number}", start_us=number),
                thread_id="even" if number % 2 == 0 else "odd",
                input="q" * 1_000,
            )
            for number in range(6)
        ]
    ).result()

    assert [run.trace_id for run in store.runs(limit=2).data] == ["t5", "t4"]
    assert [run.trace_id for run in store.runs(_of_thread("even")).data] == ["t4", "t2", "t0"]
    assert store.runs(_of_thread("none")).data == ()
    assert store.runs(limit=1).data[0].question == "q" * 400


def test_one_ill_span_fails_alone(store: SqliteTraceStore) -> None:
    futures = [
        store.write([span("good 1")]),
        store.write([span("ill", start_us=2**70)]),
        store.write([span("good 2")]),
    ]

    assert [type(future.exception()) for future in futures] == [type(None), StoreError, type(None)]
    assert {one.span_id for one in store.trace("trace").spans} == {"good 1", "good 2"}


def test_close_writes_what_waits_and_later_writes_are_refused(tmp_path: Path) -> None:
    store = SqliteTraceStore.open(tmp_path / "traces.db")
    futures = [store.write([span(f"s{number}")]) for number in range(500)]
    store.close()
    store.close()

    assert all(future.done() and future.exception() is None for future in futures)
    assert isinstance(store.write([span("late")]).exception(), StoreError)
    assert len(SqliteTraceStore.open(tmp_path / "traces.db").trace("trace").spans) == 500


def test_a_reading_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    store = SqliteTraceStore.open(tmp_path / "traces.db", read_seconds=0)
    store.write([span(f"s{number}") for number in range(2_000)]).result()

    with pytest.raises(StoreError, match="it took more than 0 s"):
        store.trace("trace")
    store.close()


def test_the_file_is_readable_by_its_owner_alone(store: SqliteTraceStore) -> None:
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_files_that_cannot_be_used_are_named_with_what_to_do(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.db"
    garbage.write_text("this is no database, but long enough to look at " * 20)
    newer = tmp_path / "newer.db"
    connection = sqlite3.connect(newer)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    for path, reason in (
        (garbage, "cannot be opened"),
        (tmp_path, "cannot be opened"),
        (newer, "newer version"),
        (garbage / "below", "cannot be opened"),
    ):
        with pytest.raises(StoreError, match=reason) as caught:
            SqliteTraceStore.open(path)
        assert caught.value.hint


WRITER = """
import sys
from pathlib import Path
from tests.traces.runs import span
from treadle.traces import SqliteTraceStore

store = SqliteTraceStore.open(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    store.write([span(f"{sys.argv[2]}{number}", "root", start_us=number)]).result()
    print(number, flush=True)
if sys.argv[3] != "1000000":
    store.close()
"""


def start_writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
    )


def test_kill_9_loses_no_acknowledged_span(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    with start_writer(path, "s", 1_000_000) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
        while writer.stdout.readline().strip() != "40":
            pass
        writer.send_signal(signal.SIGKILL)
        acknowledged = 41 + sum(line.endswith("\n") for line in writer.stdout)
    store = SqliteTraceStore.open(path)
    trace = store.trace("trace")
    store.close()

    kept = {one.span_id for one in trace.spans}
    assert kept >= {f"s{number}" for number in range(acknowledged)}
    assert trace.status is SpanStatus.UNFINISHED


def test_several_processes_make_and_write_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    writers = [start_writer(path, name, 30) for name in "ab"]
    for writer in writers:
        _, _ = writer.communicate("go\n", timeout=60)
    store = SqliteTraceStore.open(path)

    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(store.trace("trace").spans) == 60
    store.close()


def test_the_engine_keeps_the_whole_protocol(store: SqliteTraceStore) -> None:
    engine: TraceStore = store  # checked by mypy

    assert engine.redactions() == {}
