"""Messages from log records reach their span in every order of arrival."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engines import NewAddress
from tests.spans.otlp import test_log_records as records
from tests.spans.otlp.exports import PARENT, SPAN, TRACE, as_json, read_json, span
from tests.spans.otlp.exports import request as span_request
from tests.traces.store.test_span_merge import written
from treadle.database import StoreAddress
from treadle.spans import span_versions
from treadle.spans.ingest import ingest
from treadle.spans.otlp import decode_log_json
from treadle.spans.span import Span, SpanStatus
from treadle.traces import TraceStore

CALL = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini"}
USED = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2}
EVENTS = [
    records.record("gen_ai.system.message", {"content": "Be brief."}, at=1),
    records.record("gen_ai.user.message", {"content": "Hi"}, at=2),
    records.record("gen_ai.choice", {"index": 0, "message": {"content": "Ho"}}, at=9),
]


def of_logs(*sent: Any) -> list[Span]:
    return list(records.ENCODINGS["json"](records.request(*sent)).spans)


def of_spans(*sent: Any) -> list[Span]:
    return list(read_json(as_json(span_request(*sent))).spans)


FINISHED = of_spans(span(parentSpanId=PARENT, attributes={**CALL, **USED}))[0]
UNFINISHED = of_spans(span(parentSpanId=PARENT, attributes=CALL, endTimeUnixNano="0"))[0]
ROOT = of_spans(span(spanId=PARENT, name="run", attributes={"user.id": "alice"}))[0]
ARRIVALS = [FINISHED, UNFINISHED, ROOT, *(one for each in EVENTS for one in of_logs(each))]


def stored(address: StoreAddress, batches: list[list[Span]]) -> Span:
    store = TraceStore.open(address)
    try:
        for batch in batches:
            store.write(batch).result()
        found = store.span(TRACE, SPAN)
    finally:
        store.close()
    assert found is not None
    return found


@pytest.mark.timeout(900)  # each example creates stores in PostgreSQL
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_order_of_logs_and_spans_does_not_matter(
    new_address: NewAddress, data: st.DataObject
) -> None:
    again = data.draw(st.lists(st.sampled_from(ARRIVALS), max_size=4), "again")
    shuffled = data.draw(st.permutations([*ARRIVALS, *again]), "shuffled")
    cuts = sorted(data.draw(st.sets(st.integers(1, len(shuffled))), "cuts"))
    batches = [shuffled[start:end] for start, end in pairwise([0, *cuts, len(shuffled)])]

    assert written(new_address, batches) == written(new_address, [ARRIVALS])


def check_whole(found: Span) -> None:
    asked = [(each["role"], each["content"]) for each in json.loads(found.input or "")]
    assert asked == [("system", "Be brief."), ("user", "Hi")]
    assert [each["content"] for each in json.loads(found.output or "")] == ["Ho"]
    assert (found.parent_id, found.status) == (PARENT, SpanStatus.OK)
    assert (found.tokens.input, found.duration_us) == (5, 1_000)
    assert "treadle.from_logs" not in found.attributes


def test_logs_may_arrive_after_their_span(new_address: NewAddress) -> None:
    check_whole(stored(new_address(), [[FINISHED], *([one] for e in EVENTS for one in of_logs(e))]))


def test_logs_may_arrive_before_their_span(new_address: NewAddress) -> None:
    check_whole(stored(new_address(), [of_logs(*EVENTS[1:]), of_logs(EVENTS[0]), [FINISHED]]))


def test_repeated_span_keeps_the_messages_of_logs(new_address: NewAddress) -> None:
    check_whole(stored(new_address(), [[UNFINISHED], of_logs(*EVENTS), [FINISHED], [FINISHED]]))


def test_messages_without_their_span_are_an_unfinished_call(new_address: NewAddress) -> None:
    found = stored(new_address(), [of_logs(*EVENTS), of_logs(*EVENTS)])
    assert found.status is SpanStatus.UNFINISHED
    assert found.attributes["treadle.from_logs"] is True
    assert len(found.events) == 3
    assert json.loads(found.output or "")[0]["content"] == "Ho"


def test_endless_logs_for_one_span_are_cut(
    new_address: NewAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(span_versions, "EVENTS_LIMIT", 5)
    endless = [records.record("gen_ai.user.message", {"content": f"{n}"}, at=n) for n in range(20)]
    for first in ([FINISHED], of_logs(EVENTS[0])):
        found = stored(new_address(), [first, *([one] for e in endless for one in of_logs(e))])
        assert len(found.events) == 5
        assert found.attributes["treadle.messages_cut"] is True


def test_messages_of_the_span_itself_are_kept(new_address: NewAddress) -> None:
    own = replace(FINISHED, input='[{"role": "user", "content": "own"}]')
    found = stored(new_address(), [[own], of_logs(*EVENTS)])
    assert found.input == own.input
    assert json.loads(found.output or "")[0]["content"] == "Ho"


def test_secrets_in_logs_are_redacted(tmp_path: Path) -> None:
    key = "sk-proj-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d"
    sent = [
        records.record("gen_ai.user.message", {"content": f"My key is {key}", "api_key": key}),
        records.record(
            records.DETAILS,
            attributes={
                "gen_ai.output.messages": [
                    {"role": "assistant", "parts": [{"type": "text", "content": f"It is {key}"}]}
                ]
            },
            at=3,
        ),
    ]
    store = TraceStore.open(tmp_path / "traces.db")
    try:
        store.write([FINISHED]).result()
        _, done = ingest(json.dumps(records.request(*sent)).encode(), decode_log_json, store)
        assert done is not None
        done.result()
        found = store.span(TRACE, SPAN)
    finally:
        store.close()
    assert found is not None
    assert "My key is" in (found.input or "")
    assert "It is" in (found.output or "")
    assert key not in json.dumps(found.to_json())
    for file in tmp_path.iterdir():
        assert key.encode() not in file.read_bytes()
