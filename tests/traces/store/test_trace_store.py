import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engines import NewAddress
from tests.spans.runs import span
from treadle.errors import NotFoundError, StoreError, UsageError
from treadle.events.types import Usage
from treadle.spans.span import SpanKind, SpanStatus
from treadle.traces import TraceStore
from treadle.traces.query import Field, Query, any_of

ROOT = Path(__file__).parents[3]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    opened = TraceStore.open(tmp_path / "folder" / "traces.db")
    yield opened
    opened.close()


def test_a_trace_without_its_end_is_unfinished(store: TraceStore) -> None:
    store.write([span("root", end_us=None), span("child", "root")]).result()

    assert store.trace("trace").status is SpanStatus.UNFINISHED
    assert store.runs().data[0].status is SpanStatus.UNFINISHED


def _of_thread(thread: str) -> Query:
    return Query((any_of(Field.THREAD, [thread]),))


def test_unknown_tokens_and_cost_stay_unknown_in_the_sums(store: TraceStore) -> None:
    store.write([span("m", kind=SpanKind.MODEL)]).result()

    totals = store.runs().data[0].sums.totals
    assert (totals.tokens, totals.cost, totals.unmetered, totals.unpriced) == (Usage(), None, 1, 1)


def test_an_id_that_begins_another_one_is_still_found(store: TraceStore) -> None:
    store.write([span("s", trace_id="abc"), span("s", trace_id="abcd")]).result()

    assert store.trace("abc").trace_id == "abc"


def test_references_that_fit_none_or_several_say_so(store: TraceStore) -> None:
    with pytest.raises(NotFoundError, match="No trace has been recorded yet"):
        store.trace("LAST")
    store.write([span("s", trace_id=f"ab{number}") for number in range(6)]).result()
    with pytest.raises(UsageError, match=r"Several traces begin with 'ab': ab0, .*, ab4, …"):
        store.trace("ab")
    for reference in ("zz", "", "-", "%", "a_"):
        with pytest.raises(NotFoundError, match="There is no trace"):
            store.trace(reference)


def test_runs_are_listed_newest_first_by_thread_and_up_to_the_limit(
    store: TraceStore,
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


def test_root_without_input_has_the_question_of_its_first_model_call(
    store: TraceStore,
) -> None:
    asked = '[{"role": "user", "content": "Which orders do I have?"}]'
    later = '[{"role": "user", "content": "And now?"}]'
    root = span("root", kind=SpanKind.AGENT, start_us=1)
    calls = [
        replace(span(name, "root", start_us=start), kind=SpanKind.MODEL, input=text)
        for name, start, text in (("b", 3, later), ("a", 2, asked))
    ]
    store.write([replace(root, name="shop run", input=None), *calls]).result()
    assert [run.question for run in store.runs().data] == ["Which orders do I have?"]
    assert [thread.title for thread in store.threads().data] == ["Which orders do I have?"]


def test_successful_root_without_output_has_the_answer_of_its_last_model_call(
    store: TraceStore,
) -> None:
    root = replace(span("root", kind=SpanKind.AGENT, start_us=1), output=None)
    calls = [
        replace(span(name, "root", start_us=start), kind=SpanKind.MODEL, output=text)
        for name, start, text in (("b", 3, "Two orders."), ("a", 2, "I look."), ("c", 4, None))
    ]
    tool = replace(span("t", "root", start_us=5), kind=SpanKind.TOOL, output="a result")
    store.write([root, *calls, tool]).result()
    failed = replace(root, trace_id="failed", status=SpanStatus.ERROR, error="no")
    store.write([failed, replace(calls[0], trace_id="failed")]).result()
    answers = {run.status: run.answer for run in store.runs().data}
    assert answers == {SpanStatus.OK: "Two orders.", SpanStatus.ERROR: None}


def test_close_writes_what_waits_and_later_writes_are_refused(tmp_path: Path) -> None:
    store = TraceStore.open(tmp_path / "traces.db")
    futures = [store.write([span(f"s{number}")]) for number in range(500)]
    store.close()
    store.close()

    assert all(future.done() and future.exception() is None for future in futures)
    assert isinstance(store.write([span("late")]).exception(), StoreError)
    assert len(TraceStore.open(tmp_path / "traces.db").trace("trace").spans) == 500


def test_a_reading_that_takes_too_long_is_given_up(both_addresses: NewAddress) -> None:
    with closing(TraceStore.open(both_addresses(), read_seconds=0)) as store:
        store.write([span(f"s{number}") for number in range(2_000)]).result()

        with pytest.raises(StoreError, match="it took more than 0 s"):
            store.trace("trace")


def test_statement_that_takes_too_long_is_cancelled(both_addresses: NewAddress) -> None:
    with closing(TraceStore.open(both_addresses(), read_seconds=0.1)) as store:
        with (
            pytest.raises(StoreError, match=r"it took more than 0\.1 s"),
            store.reader() as connection,
        ):
            connection.execute(
                "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers"
                " WHERE n < 1000000000) SELECT count(*) FROM numbers"
            ).fetchone()

        assert store.spans().data == ()  # the connection can be used again


def test_the_file_is_readable_by_its_owner_alone(store: TraceStore) -> None:
    assert stat.S_IMODE((store.folder / "traces.db").stat().st_mode) == 0o600


def test_files_that_cannot_be_used_are_named_with_what_to_do(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.db"
    garbage.write_text("this is no database, but long enough to look at " * 20)
    newer = tmp_path / "newer.db"
    connection = sqlite3.connect(newer)
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    for path, reason in (
        (garbage, "cannot be read or written"),
        (tmp_path, "cannot be read or written"),
        (newer, "newer version"),
        (garbage / "below", "The data folder .* cannot be used"),
    ):
        with pytest.raises(StoreError, match=reason) as caught:
            TraceStore.open(path)
        assert caught.value.hint


WRITER = """
import sys
from pathlib import Path
from tests.spans.runs import span
from treadle.traces import TraceStore

store = TraceStore.open(Path(sys.argv[1]))
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
    store = TraceStore.open(path)
    trace = store.trace("trace")
    store.close()

    kept = {one.span_id for one in trace.spans}
    assert kept >= {f"s{number}" for number in range(acknowledged)}
    assert trace.status is SpanStatus.OK  # the root never arrived, so the earliest span decides


def test_several_processes_make_and_write_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    writers = [start_writer(path, name, 30) for name in "ab"]
    for writer in writers:
        _, _ = writer.communicate("go\n", timeout=60)
    store = TraceStore.open(path)

    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(store.trace("trace").spans) == 60
    store.close()


def test_the_engine_keeps_the_whole_protocol(store: TraceStore) -> None:
    engine: TraceStore = store  # checked by mypy

    assert engine.redactions() == {}


def test_what_another_process_wrote_is_a_change(store: TraceStore) -> None:
    other = TraceStore.open(store.folder / "traces.db")
    store.write([span("mine")]).result()
    other.write([span("theirs")]).result()
    other.close()

    found = store.changes(0)
    assert [(one.span_id, one.revision) for one in found.spans] == [("mine", 1), ("theirs", 2)]
    assert store.changes(found.newest).spans == ()
