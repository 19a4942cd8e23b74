"""Repeated calls."""

from tests.diagnosis.report.spans import span
from treadle.diagnosis.report.behaviour_suspects import Call, RepeatReason, repeated_calls
from treadle.spans.span import Span


def _calls(answers: list[tuple[str, bool]]) -> RepeatReason | None:
    spans = [span(str(number), at=number) for number in range(len(answers))]

    def call_of(each: Span) -> Call:
        answered, failed = answers[int(each.span_id)]
        return Call("same", answered, failed)

    return next((loop.reason for loop in repeated_calls(spans, call_of)), None)


def test_loops_retries_and_polling_differ() -> None:
    assert _calls([("a", False)] * 4) is RepeatReason.LOOP
    assert _calls([("x", True), ("y", True), ("a", False)]) is RepeatReason.RETRIES
    assert _calls([("1", False), ("2", False), ("3", False), ("4", False)]) is RepeatReason.POLLING
    assert _calls([("a", False)] * 2) is None


def test_calls_of_other_traces_and_other_spans_do_not_count() -> None:
    spans = [span(str(number), at=number, trace_id=f"t{number % 2}") for number in range(4)]
    assert repeated_calls(spans, lambda _: Call("same", "a", failed=False)) == ()
    assert repeated_calls(spans, lambda _: None) == ()
