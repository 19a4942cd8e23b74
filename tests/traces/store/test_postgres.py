"""What only the PostgreSQL engine of the trace store does."""

from pathlib import Path

from tests.traces.store.conftest import new_project
from tests.traces.store.contract import full_span
from treadle.traces import TraceStore


def test_written_spans_are_readable_in_another_connection(
    tmp_path: Path, shared_database: str
) -> None:
    address = new_project(shared_database, tmp_path)
    writing, reading = TraceStore.open(address), TraceStore.open(address)
    writing.write([full_span(), full_span(span_id="other", output=None)]).result()
    writing.close()

    assert {one.span_id for one in reading.trace("t").spans} == {"s", "other"}
    assert reading.span("t", "s") == full_span()
    reading.close()
