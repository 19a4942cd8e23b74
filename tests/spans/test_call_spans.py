"""Outcomes of tool calls as spans, and the statistics over them."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.spans.runs import KEY, REQUEST
from treadle.cli.commands.tools import moment
from treadle.display.trace_tree import trace_lines, view_trace
from treadle.errors import UsageError
from treadle.events import Envelope
from treadle.events.changes import EditApplied, EditFailed, EditStaged
from treadle.events.types import (
    ApprovalRequested,
    ApprovalResolved,
    ApprovalScope,
    CallKey,
    Effect,
    ErrorKind,
    Event,
    ToolCallAssigned,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallLate,
    ToolCallRequested,
    ToolFailure,
    ToolView,
)
from treadle.ids import new_id
from treadle.spans.event_mapper import EventMapper
from treadle.spans.span import Span, SpanKind, SpanStatus, Trace
from treadle.traces import TraceStore

ASKED = new_id()


def requested(key: CallKey = KEY, name: str = "change") -> Event:
    return ToolCallRequested(
        request_id=REQUEST, key=key, call_id="c", vendor="v", name=name, arguments="{}"
    )


def failed(kind: ErrorKind, effect: Effect = Effect.NONE, key: CallKey = KEY) -> Event:
    failure = ToolFailure(kind, f"It is {kind}.", effect=effect)
    return ToolCallFailed(request_id=REQUEST, key=key, call_id="c", error=failure, duration=1)


def completed(key: CallKey = KEY) -> Event:
    return ToolCallCompleted(
        request_id=REQUEST, key=key, call_id="c", content="{}", ui=ToolView("done"), duration=1
    )


def asked() -> Event:
    return ApprovalRequested(
        request_id=REQUEST, approval_id=ASKED, key=KEY, call_id="c", name="change",
        summary="change a.py", reason="It would change something.", subjects=("a.py",),
    )  # fmt: skip


def resolved(scope: ApprovalScope, seconds: float = 5, words: str | None = None) -> Event:
    return ApprovalResolved(
        request_id=REQUEST, approval_id=ASKED, key=KEY, call_id="c", scope=scope, words=words,
        duration=seconds,
    )  # fmt: skip


def spans(*events: Event, seconds: float = 5) -> dict[str, Span]:
    """The spans of events that come every few seconds, by id."""
    mapper, found = EventMapper(), dict[str, Span]()
    for number, event in enumerate(events, start=1):
        at_us = round(number * seconds * 1_000_000)
        for span in mapper.apply(Envelope(number, at_us, event)):
            found[span.span_id] = span
    return found


def shown(*events: Event) -> list[str]:
    found = tuple(sorted(spans(*events).values(), key=lambda span: (span.start_us, span.span_id)))
    return list(trace_lines(view_trace(Trace("t", found))))


def tree(*events: Event) -> str:
    return "\n".join(shown(*events))


@pytest.mark.parametrize(
    ("kind", "status", "mark"),
    [
        (ErrorKind.TIMEOUT, SpanStatus.ERROR, "◷"),
        (ErrorKind.CANCELLED, SpanStatus.CANCELLED, "⊘"),
        (ErrorKind.DENIED, SpanStatus.DENIED, "⊖"),
        (ErrorKind.CONFLICT, SpanStatus.ERROR, "✗"),
    ],
)
def test_outcome_decides_status_and_attributes(
    kind: ErrorKind, status: SpanStatus, mark: str
) -> None:
    (call,) = spans(requested(), failed(kind)).values()
    assert (call.status, call.attributes["error.type"]) == (status, kind.value)
    assert f"{mark} change  → {kind}" in tree(requested(), failed(kind))


def test_unknown_effect_and_late_result_are_recorded() -> None:
    late = ToolCallLate(request_id=REQUEST, key=KEY, call_id="c", outcome="completed")
    text = tree(requested(), failed(ErrorKind.TIMEOUT, Effect.UNKNOWN), late)
    assert "effect unknown: it may have changed something" in text
    assert "• late result  completed after the call had been answered" in text
    assert "effect unknown" not in tree(requested(), failed(ErrorKind.TIMEOUT))


def test_events_of_a_proposal_are_on_the_span_of_its_call() -> None:
    about: dict[str, Any] = {
        "request_id": REQUEST, "proposal_id": ASKED, "files": ("a.py", "b.py"), "key": KEY,
    }  # fmt: skip
    staged = EditStaged(**about, summary="change 2 files")
    failed_edit = EditFailed(**about, reason="b.py has changed")
    text = tree(requested(), staged, failed_edit, failed(ErrorKind.CONFLICT))
    assert "• edit staged  a.py, b.py" in text
    assert "• edit failed  a.py, b.py: b.py has changed" in text
    (call,) = spans(requested(), staged, EditApplied(**about), completed()).values()
    assert [event.name for event in call.events] == ["edit_staged", "edit_applied"]
    assert call.events[0].attributes["proposal"] == str(ASKED)


def test_wait_for_a_person_is_a_separate_span() -> None:
    events = (requested(), asked(), resolved(ApprovalScope.ALWAYS), completed())
    call, wait = sorted(spans(*events).values(), key=lambda span: span.start_us)
    assert (wait.kind, wait.parent_id, wait.duration_us) == (
        SpanKind.APPROVAL, call.span_id, 5_000_000
    )  # fmt: skip
    assert (wait.status, wait.output, wait.input) == (SpanStatus.OK, "always", "change a.py")
    assert wait.attributes["treadle.approval.subjects"] == ["a.py"]
    assert call.attributes["treadle.approval.waited_us"] == 5_000_000
    denied = resolved(ApprovalScope.DENIED, words="not that one")
    assert "⊖ approval  change a.py → denied" in tree(requested(), asked(), denied)
    (wait,) = [s for s in spans(requested(), asked(), denied).values() if s.kind == "approval"]
    assert wait.attributes["treadle.approval.words"] == "not that one"
    withdrawn = (requested(), asked(), resolved(ApprovalScope.WITHDRAWN))
    assert "⊘ approval  change a.py → withdrawn" in tree(*withdrawn)
    assert "… approval" in tree(requested(), asked())


@pytest.fixture
def store(tmp_path: Path) -> Iterable[TraceStore]:
    opened = TraceStore.open(tmp_path / "traces.db")
    yield opened
    opened.close()


def call_span(number: int, name: str, took: int | None, failure: str | None, waited: int) -> Span:
    status = SpanStatus.UNFINISHED
    if took is not None:
        status = {None: SpanStatus.OK, "denied": SpanStatus.DENIED}.get(failure, SpanStatus.ERROR)
    start = 1_000 + number
    return Span(
        trace_id=f"t{number}",
        span_id="s",
        kind=SpanKind.TOOL,
        operation="execute_tool",
        name=f"execute_tool {name}",
        start_us=start,
        end_us=None if took is None else start + took + waited,
        status=status,
        attributes={
            **({"error.type": failure} if failure and took is not None else {}),
            **({"treadle.approval.waited_us": waited} if waited else {}),
        },
    )


calls = st.lists(
    st.tuples(
        st.sampled_from(["read_file", "grep", "odd name"]),
        st.none() | st.integers(0, 10_000),
        st.sampled_from([None, None, "timeout", "denied", "not_found"]),
        st.sampled_from([0, 0, 7_000_000]),
    ),
    max_size=40,
)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(calls, st.integers(0, 45), st.integers(0, 45))
def test_database_counts_like_a_list(
    tmp_path_factory: pytest.TempPathFactory,
    made: list[tuple[str, int | None, str | None, int]],
    since: int,
    until: int,
) -> None:
    opened = TraceStore.open(tmp_path_factory.mktemp("store") / "traces.db")
    opened.write([call_span(number, *each) for number, each in enumerate(made)]).result()
    found = {
        stats.name: stats
        for stats in opened.tool_stats(since_us=1_000 + since, until_us=1_000 + until)
    }
    opened.close()
    kept = made[since:until]
    assert set(found) == {name for name, *_ in kept}
    for name, stats in found.items():
        mine = [each[1:] for each in kept if each[0] == name]
        assert stats.calls == len(mine)
        places = [place for place, each in enumerate(made[:until]) if each[0] == name]
        assert stats.last_us == 1_000 + places[-1]
        ended = [(took, failure) for took, failure, _ in mine if took is not None]
        assert stats.failures == Counter(failure for _, failure in ended if failure)
        ran = sorted(took for took, failure in ended if failure != "denied")
        good = sum(failure is None for _, failure in ended)
        assert stats.success_rate == (good / len(ran) if ran else None)
        if ran:
            assert (stats.p50_us, stats.max_us) == (ran[(len(ran) - 1) // 2], ran[-1])
            assert stats.p95_us == ran[-(-len(ran) * 95 // 100) - 1]
        else:
            assert stats.p50_us is None


def test_times_are_ages_or_dates() -> None:
    assert moment("30m", 10_000.0) == 8_200_000_000
    assert moment("1970-01-02T00:00:00+00:00", 0) == 86_400_000_000
    for odd in ("", "7", "soon", "99999999999999d", "2026-13-01"):
        with pytest.raises(UsageError, match="--since"):
            moment(odd, 0)


def test_span_of_a_call_names_the_worker_that_ran_it() -> None:
    taken = [
        ToolCallAssigned(request_id=REQUEST, key=KEY, call_id="c", worker=name)
        for name in ("first", "second")
    ]
    [span] = spans(requested(), *taken, completed()).values()
    assert span.attributes["treadle.worker"] == "second"
    assert [event.attributes["worker"] for event in span.events] == ["first", "second"]
