"""The recorded costs of conversations."""

from pathlib import Path

from treadle.app.conversation_costs import recorded_costs
from treadle.ids import new_id
from treadle.spans.span import Span, SpanKind, SpanStatus
from treadle.traces import TraceStore


def call(thread_id: str, span_id: str, cost: float | None) -> Span:
    """A model call in a trace of its own."""
    return Span(
        trace_id=span_id * 4, span_id=span_id, kind=SpanKind.MODEL, operation="chat", name="chat",
        start_us=1, end_us=2, status=SpanStatus.OK, model="m", cost=cost, thread_id=thread_id,
    )  # fmt: skip


def test_turns_of_a_conversation_are_summed_and_unknown_costs_left_out(tmp_path: Path) -> None:
    paid, free, silent = new_id(), new_id(), new_id()
    store = TraceStore.open(tmp_path / "traces.db")
    try:
        store.write(
            [
                call(str(paid), "00000001", 0.25),
                call(str(paid), "00000002", 0.5),
                call(str(free), "00000003", None),
                call(str(new_id()), "00000004", 9.0),
            ]
        ).result()
        assert recorded_costs(store, [paid, free, silent]) == {paid: 0.75}
        assert recorded_costs(store, []) == {}
    finally:
        store.close()
