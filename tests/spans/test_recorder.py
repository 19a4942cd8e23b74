import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.model import FakeModel, Hang, Say
from tests.session.parts import Echo, stage
from tests.spans.runs import ANSWER, KEY, QUESTION, REQUEST, SESSION, run_events
from treadle.clock import SystemClock
from treadle.events import Envelope, EventBus
from treadle.events.types import (
    ApprovalRequested,
    CallKey,
    Effect,
    ErrorKind,
    Event,
    FallbackApplied,
    Notice,
    SessionCancelled,
    SessionFailed,
    SessionStarted,
    ToolCallCompleted,
    ToolCallFailed,
    ToolCallRequested,
    ToolFailure,
    ToolView,
    Usage,
)
from treadle.spans.event_mapper import EventMapper
from treadle.spans.forest import arrange
from treadle.spans.recorder import Recorder
from treadle.spans.span import Span, SpanKind, SpanStatus, Trace
from treadle.traces import TraceStore

KEY_TEXT = "sk-proj-aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWxYz"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[TraceStore]:
    opened = TraceStore.open(tmp_path / "traces.db")
    yield opened
    await asyncio.to_thread(opened.close)


async def record(store: TraceStore, events: Sequence[Event]) -> Recorder:
    bus = EventBus()
    async with Recorder(bus, store) as recorder:
        for event in events:
            if isinstance(event, ToolCallRequested):
                _ = bus.expect(event.request_id, event.key)
            await bus.publish(event)
    return recorder


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  (the writer thread of the store reports nothing)
        await asyncio.sleep(0.005)


def events_now(secret: str = "") -> list[Event]:
    return run_events(started_us=SystemClock().now_us(), secret=secret)


def only(trace: Trace, kind: SpanKind) -> Span:
    (found,) = [span for span in trace.spans if span.kind is kind]
    return found


async def test_run_is_recorded_as_linked_spans(store: TraceStore) -> None:
    recorder = await record(store, events_now())
    trace = store.trace("LAST")

    assert recorder.loss is None
    assert trace.trace_id == REQUEST.hex
    assert all(len(span.span_id) == 16 and int(span.span_id, 16) for span in trace.spans)
    assert {(span.run_id, span.thread_id) for span in trace.spans} == {(str(REQUEST), str(SESSION))}
    run, tool, retrieval = (
        only(trace, kind) for kind in (SpanKind.RUN, SpanKind.TOOL, SpanKind.RETRIEVAL)
    )
    failed, first, second = [span for span in trace.spans if span.kind is SpanKind.MODEL]

    assert (run.parent_id, run.input, run.output) == (None, QUESTION, ANSWER)
    assert (run.status, run.attributes["treadle.stop_reason"]) == (SpanStatus.OK, "completed")
    assert [event.name for event in run.events] == ["prompt", "retry"]
    assert {span.parent_id for span in (failed, first, second)} == {run.span_id}
    assert (failed.status, failed.error) == (SpanStatus.ERROR, "503 busy")
    assert (first.tokens, first.cost) == (Usage(input=100, output=10, cached=40), 0.001)
    assert first.time_to_first_token_us == 250_000
    assert first.attributes["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert first.input is not None
    assert QUESTION in first.input
    assert (tool.parent_id, tool.status) == (first.span_id, SpanStatus.OK)
    assert tool.attributes["gen_ai.tool.name"] == "request_code_context"
    assert tool.attributes["gen_ai.tool.call.id"] == "c1"
    assert tool.input == '{"token_budget": 4000, "hint": "calls"}'
    assert tool.output == '{"ok": true, "context": []}'
    assert (retrieval.parent_id, retrieval.input) == (tool.span_id, "calls")
    assert retrieval.duration_us == 30_000
    assert retrieval.attributes["treadle.retrieval.sources"] == [
        {"file": "src/bus.py", "start_line": 120, "end_line": 160, "name": "EventBus.publish"}
    ]
    totals = store.runs().data[0].sums.totals
    assert (totals.model_calls, totals.tool_calls, totals.failed) == (3, 1, 1)
    assert (totals.tokens.input, totals.cost, totals.unpriced) == (200, 0.002, 0)


async def test_secrets_are_not_stored(store: TraceStore) -> None:
    await record(store, events_now(secret=f" {KEY_TEXT}"))
    trace = store.trace("LAST")
    await asyncio.to_thread(store.close)

    assert KEY_TEXT.encode() not in b"".join(
        path.read_bytes() for path in store.folder.glob("traces.db*")
    )
    assert sum("[redacted:api-key]" in str(span) for span in trace.spans) == len(trace.spans)


async def test_unfinished_spans_are_on_disk(store: TraceStore) -> None:
    bus = EventBus()
    async with Recorder(bus, store):
        for event in events_now()[:8]:
            await bus.publish(event)
        await until(lambda: bool(store.runs().data) and len(store.trace("LAST").spans) == 4)
    trace = store.trace("LAST")

    assert trace.status is SpanStatus.UNFINISHED
    assert only(trace, SpanKind.TOOL).status is SpanStatus.UNFINISHED


async def test_late_result_is_an_event_of_the_failed_call(store: TraceStore) -> None:
    failure = ToolFailure(
        ErrorKind.TIMEOUT, "It took more than 30 s.", hint="Ask for less.", effect=Effect.UNKNOWN
    )
    events = events_now()
    outcome = events[9]
    assert isinstance(outcome, ToolCallCompleted)
    failed = ToolCallFailed(request_id=REQUEST, key=KEY, call_id="c1", error=failure, duration=30.0)
    await record(store, [*events[:9], failed, *events[10:], outcome])

    tool = only(store.trace("LAST"), SpanKind.TOOL)
    assert (tool.status, tool.error, tool.output) == (SpanStatus.ERROR, failure.message, None)
    assert tool.attributes["error.type"] == "timeout"
    assert tool.attributes["treadle.error.hint"] == "Ask for less."
    assert tool.attributes["treadle.error.effect"] == "unknown"
    assert [(event.name, event.attributes) for event in tool.events] == [
        ("late_result", {"outcome": "completed"})
    ]


async def test_failed_and_cancelled_runs_have_different_statuses(store: TraceStore) -> None:
    started = events_now()[0]
    assert isinstance(started, SessionStarted)
    other = UUID(int=REQUEST.int + 1)
    await record(
        store,
        [
            started,
            Notice(request_id=REQUEST, level="warning", text="the provider is queueing"),
            FallbackApplied(request_id=REQUEST, reason="404", change="without tools"),
            SessionFailed(
                request_id=REQUEST,
                session_id=SESSION,
                message="The provider failed.",
                hint="Try later.",
                usage=Usage(),
                cost=None,
                duration=1.0,
            ),
            replace(started, request_id=other),
            SessionCancelled(
                request_id=other, session_id=SESSION, usage=Usage(), cost=None, duration=1.0
            ),
        ],
    )

    failed, cancelled = store.trace(REQUEST.hex).root, store.trace(other.hex).root
    assert failed is not None
    assert cancelled is not None
    assert (failed.status, failed.error) == (SpanStatus.ERROR, "The provider failed.")
    assert [event.name for event in failed.events] == ["notice", "fallback"]
    assert cancelled.status is SpanStatus.CANCELLED
    assert cancelled.attributes["treadle.stop_reason"] == "cancelled"


async def test_call_outside_a_session_is_a_separate_trace(store: TraceStore) -> None:
    key = CallKey(0, 0)
    await record(
        store,
        [
            ToolCallRequested(
                request_id=REQUEST, key=key, call_id="", vendor="", name="grep", arguments="{}"
            ),
            ToolCallCompleted(
                request_id=REQUEST,
                key=key,
                call_id="",
                content="{}",
                ui=ToolView("done"),
                duration=0.1,
            ),
        ],
    )

    trace = store.trace("LAST")
    assert trace.status is SpanStatus.OK
    assert [span.name for span in trace.spans] == ["execute_tool grep"]


async def test_session_continues_if_the_store_fails(
    store: TraceStore,
) -> None:
    await asyncio.to_thread(store.close)

    recorder = await record(store, events_now())

    assert recorder.loss is not None
    assert recorder.loss.count >= 13
    assert "closed" in recorder.loss.reason


async def test_spans_before_a_store_failure_are_kept(
    store: TraceStore,
) -> None:
    bus = EventBus()
    async with Recorder(bus, store) as recorder:
        events = events_now()
        await bus.publish(events[0])
        await until(lambda: bool(store.runs().data))
        breaker = sqlite3.connect((store.folder / "traces.db"), timeout=5)
        breaker.execute("ALTER TABLE contents RENAME TO elsewhere")
        breaker.close()
        for event in events[1:]:
            await bus.publish(event)

    assert recorder.loss is not None
    assert "could not be written" in recorder.loss.reason


async def test_real_session_is_recorded_as_one_tree(store: TraceStore) -> None:
    both = Say(calls=(("echo", '{"text": "one"}'), ("nothing", "{}")))
    async with stage(Echo(), clock=SystemClock()) as at, Recorder(at.bus, store):
        await at.session(FakeModel(both, Say("Done."))).run("Say one")

    trace = store.trace("LAST")
    names = [(node.depth, node.span.name) for node in arrange(trace.spans) if node.span]
    assert names[:2] == [(0, "invoke_agent treadle"), (1, "chat fake-model")]
    assert sorted(names[2:4]) == [(2, "execute_tool echo"), (2, "execute_tool nothing")]
    assert names[4:] == [(1, "chat fake-model")]
    assert trace.status is SpanStatus.OK
    assert {span.attributes.get("error.type") for span in trace.spans} == {None, "unknown_tool"}
    assert store.runs().data[0].question == "Say one"


async def test_cancellation_ends_the_interrupted_model_request(store: TraceStore) -> None:
    async with stage(Echo(), clock=SystemClock()) as at, Recorder(at.bus, store):
        session = asyncio.create_task(at.session(FakeModel(Hang())).run("Wait"))
        await until(lambda: bool(store.runs().data) and len(store.trace("LAST").spans) == 2)
        session.cancel()
        await asyncio.wait({session})

    assert {span.status for span in store.trace("LAST").spans} == {SpanStatus.CANCELLED}


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False))
def test_order_of_span_versions_does_not_change_the_trace(
    tmp_path_factory: pytest.TempPathFactory, random: Random
) -> None:
    mapper = EventMapper()
    versions = [
        span
        for seq, event in enumerate(run_events(started_us=7_500), start=1)
        for span in mapper.apply(Envelope(seq, seq * 1_000, event))
    ]
    latest = {span.span_id: span for span in versions}
    random.shuffle(versions)
    store = TraceStore.open(tmp_path_factory.mktemp("traces") / "traces.db")
    for version in versions:
        store.write([version])
    store.close()

    assert {span.span_id: span for span in store.trace("LAST").spans} == latest


async def test_nested_session_is_part_of_the_trace_of_its_call(
    store: TraceStore,
) -> None:
    child = UUID(int=REQUEST.int + 1)
    parent = SessionStarted(
        request_id=REQUEST,
        session_id=SESSION,
        user_text=QUESTION,
        model="small",
        provider="local",
        tools=("call_data",),
        agent="orchestrator",
        labels=("mine",),
    )
    call = ToolCallRequested(
        request_id=REQUEST, key=KEY, call_id="", vendor="", name="call_data", arguments="{}"
    )
    began = SessionStarted(
        request_id=child,
        session_id=UUID(int=SESSION.int + 1),
        parent_id=REQUEST,
        parent_key=KEY,
        user_text="Look",
        model="small",
        provider="local",
        tools=(),
        agent="data",
        labels=("other",),
    )
    await record(store, [parent, call, began])
    spans = {span.name: span for span in store.trace(REQUEST.hex).spans}
    assert list(spans) == [
        "invoke_agent orchestrator",
        "execute_tool call_data",
        "invoke_agent data",
    ]
    data, tool = spans["invoke_agent data"], spans["execute_tool call_data"]
    assert data.parent_id == tool.span_id
    assert (data.thread_id, data.run_id) == (str(SESSION), str(REQUEST))
    assert (tool.labels, data.labels) == (("mine",), ("mine", "other"))


async def test_call_outside_a_session_has_the_labels_of_its_tool(
    store: TraceStore,
) -> None:
    call = ToolCallRequested(
        request_id=REQUEST,
        key=KEY,
        call_id="",
        vendor="http",
        name="run_experiment",
        arguments="{}",
        labels=("treadle:analyst",),
    )
    asked = ApprovalRequested(
        request_id=REQUEST,
        approval_id=UUID(int=7),
        key=KEY,
        call_id="",
        name="run_experiment",
        summary="run it",
        reason="It would change something.",
    )
    await record(store, [call, asked])
    spans = store.trace(REQUEST.hex).spans
    assert [(span.kind, span.labels) for span in spans] == [
        (SpanKind.TOOL, ("treadle:analyst",)),
        (SpanKind.APPROVAL, ("treadle:analyst",)),
    ]
