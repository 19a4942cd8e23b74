"""Own times and the critical path: every microsecond counts once."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.diagnosis.report.spans import MS, named, span
from treadle.diagnosis.span_times import critical_path, self_times
from treadle.spans.span import Span


def test_time_of_children_that_run_at_once_counts_once() -> None:
    spans = [
        span("root", ms=100),
        span("a", "root", at=10, ms=30),
        span("b", "root", at=20, ms=40),
        span("b1", "b", at=25, ms=10),
    ]
    own = self_times(spans)
    assert own[named("root")] == 50 * MS
    assert own[named("b")] == 30 * MS
    assert own[named("a")] == 30 * MS


def test_child_reduces_own_time_only_while_its_parent_runs() -> None:
    own = self_times([span("root", ms=50), span("late", "root", at=40, ms=100)])
    assert own[named("root")] == 40 * MS
    assert own[named("late")] == 100 * MS


def test_unfinished_spans_and_cycles_are_handled() -> None:
    spans = [
        span("self", "self", ms=10),
        span("one", "two", ms=20),
        span("two", "one", at=1, ms=10),
        span("open", "one", ms=None),
    ]
    own = self_times(spans)
    assert named("open") not in own
    assert own[named("self")] == 10 * MS
    assert sum(step.own_us for step in critical_path(spans)) == 20 * MS


def test_critical_path_takes_the_child_that_ended_last() -> None:
    spans = [
        span("root", ms=100),
        span("quick", "root", at=10, ms=20),
        span("slow", "root", at=10, ms=80),
        span("inner", "slow", at=30, ms=50),
    ]
    steps = {step.span.span_id: step.own_us // MS for step in critical_path(spans) if step.span}
    assert steps == {"root": 20, "slow": 30, "inner": 50}


def test_time_between_two_roots_belongs_to_no_span() -> None:
    steps = critical_path([span("one", ms=10), span("two", at=30, ms=10)])
    assert [(step.span.span_id if step.span else None, step.own_us) for step in steps] == [
        ("one", 10 * MS),
        (None, 20 * MS),
        ("two", 10 * MS),
    ]


def test_chain_of_ten_thousand_spans_is_walked_without_recursion() -> None:
    spans = [
        span(str(depth), str(depth - 1) if depth else None, at=depth, ms=30_000 - 2 * depth)
        for depth in range(10_000)
    ]
    steps = critical_path(spans)
    assert sum(step.own_us for step in steps) == 30_000 * MS
    assert len(steps) == 10_000


@st.composite
def traces(draw: st.DrawFn) -> Sequence[Span]:
    spans = []
    for number in range(draw(st.integers(1, 12))):
        parent = draw(st.none() | st.integers(0, 13))
        spans.append(
            span(
                str(number),
                None if parent is None else str(parent),
                at=draw(st.integers(0, 60)),
                ms=draw(st.none() | st.integers(0, 60)),
            )
        )
    return spans


@given(traces())
def test_steps_of_the_critical_path_add_up_to_the_whole_time(spans: Sequence[Span]) -> None:
    ended = [each for each in spans if each.end_us is not None and each.end_us > each.start_us]
    steps = critical_path(spans)
    if not ended:
        assert steps == ()
        return
    whole = max(each.end_us or 0 for each in ended) - min(each.start_us for each in ended)
    assert sum(step.own_us for step in steps) == whole
    assert all(step.own_us > 0 for step in steps)


@given(traces())
def test_own_time_is_never_more_than_the_span_took(spans: Sequence[Span]) -> None:
    own = self_times(spans)
    for each in spans:
        if each.duration_us is not None:
            assert 0 <= own[named(each.span_id)] <= each.duration_us
