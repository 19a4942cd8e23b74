"""What only the PostgreSQL engine of the trace store does."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from random import Random

import pytest

from tests.spans.runs import span
from tests.traces.store.contract import full_span
from tests.traces.store.dumps import dump
from treadle.database import PostgresAddress
from treadle.events.types import Usage
from treadle.spans.span import Span, SpanKind
from treadle.traces import TraceStore


def test_written_spans_are_readable_in_another_connection(
    postgres_address: PostgresAddress,
) -> None:
    writing, reading = TraceStore.open(postgres_address), TraceStore.open(postgres_address)
    writing.write([full_span(), full_span(span_id="other", output=None)]).result()
    writing.close()

    assert {one.span_id for one in reading.trace("t").spans} == {"s", "other"}
    assert reading.span("t", "s") == full_span()
    reading.close()


def overlapping(seed: int) -> list[Span]:
    """Versions of the same spans, in an order that depends on the seed."""
    versions = [
        replace(
            span(f"s{number}", f"s{number // 3}" if number else None, trace_id=f"t{number % 7}"),
            start_us=number % 5 * 3_600_000_000 + number,
            end_us=None if finished is None else number % 5 * 3_600_000_000 + number + finished,
            kind=SpanKind.MODEL if number % 4 == 0 else SpanKind.OTHER,
            tokens=Usage(input=number, output=1) if finished else Usage(),
            thread_id=f"thread{number % 2}",
            labels=("a",) if number % 3 else (),
        )
        for number in range(120)
        for finished in (None, 5)
    ]
    Random(seed).shuffle(versions)
    return versions


def write_overlapping(address: PostgresAddress, process: int) -> None:
    """Write all versions in each of four threads, in batches and in different orders."""
    with closing(TraceStore.open(address)) as store:

        def write(thread: int) -> None:
            spans = overlapping(10 * process + thread)
            for start in range(0, len(spans), 16):
                store.write(spans[start : start + 16]).result()

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(write, range(4)))


@pytest.mark.slow
def test_sums_are_exact_after_two_processes_wrote_the_same_spans(
    postgres_address: PostgresAddress, tmp_path: Path
) -> None:
    context = get_context("spawn")
    processes = [
        context.Process(target=write_overlapping, args=(postgres_address, number))
        for number in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0]

    with (
        closing(TraceStore.open(postgres_address)) as written,
        closing(TraceStore.open(tmp_path / "traces.db")) as once,
    ):
        once.write(overlapping(0)).result()
        assert dump(written) == dump(once)
        with written.reader() as connection:
            revisions, newest = connection.execute(
                "SELECT count(DISTINCT revision), max(revision) FROM spans"
            ).fetchone()
        assert revisions == 120
        assert newest <= written.changes(None).newest


def test_deletion_removes_the_rows_from_the_pages_of_the_tables(
    postgres_address: PostgresAddress,
) -> None:
    with closing(TraceStore.open(postgres_address)) as store:
        store.write(overlapping(0)).result()
        store.delete(traces=[f"t{number}" for number in range(7)])

        with store.reader() as connection:
            sizes = connection.execute(
                "SELECT pg_relation_size('spans'::regclass), pg_relation_size('texts'::regclass)"
            ).fetchone()
        assert sizes == (0, 0)
