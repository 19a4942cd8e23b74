import pytest
from pydantic import ValidationError

from treadle.errors import UsageError
from treadle.traces.query import Query, parse_query
from treadle.traces.query.parameters import SpanParameters

NOW = 1_900_000_000_000_000


@pytest.mark.parametrize(
    ("given", "query"),
    [
        ({}, ""),
        ({"thread_ids": "a,b", "run_ids": ["r 1", "r2"]}, 'run:"r 1",r2 thread:a,b'),
        ({"span_ids": "s", "trace_ids": ["t"], "parent_span_ids": "p"}, "trace:t span:s parent:p"),
        ({"operation_names": "chat", "kind": ["tool", "model"]}, "kind:tool,model operation:chat"),
        ({"labels": "a,b"}, "label:a,b"),
        ({"labels_all": "a,b"}, "label:a label:b"),
        ({"labels_not": "a,b"}, "-label:a,b"),
        ({"status": "error,denied", "model": "m"}, "status:error,denied model:m"),
        ({"min_cost": 0.01, "max_cost": 1}, "cost>=0.01 cost<=1"),
        ({"min_duration_ms": 1.5, "max_duration_ms": 20}, "duration>=1500us duration<=20ms"),
        ({"min_tokens": 1, "max_tokens": 9}, "tokens>=1 tokens<=9"),
        ({"since": "2h", "until": "2026-11-01T00:00:00Z"}, "since:2h until:2026-11-01"),
        ({"provider": "v"}, "provider:v"),
        ({"period": "last_hour"}, "since:1h"),
        ({"period": "yesterday"}, "since:yesterday until:today"),
        ({"text": '50% of "foo_bar"*'}, r'"50% of \"foo_bar\"*"'),
        ({"has_error": True}, "has:error"),
        ({"has_error": False}, "-has:error"),
        ({"query": "model:gpt* -x", "status": "ok"}, "status:ok model:gpt* -x"),
    ],
)  # fmt: skip
def test_parameters_ask_the_same_as_a_query(given: dict[str, object], query: str) -> None:
    asked = SpanParameters.model_validate(given).to_query(NOW)

    assert asked == parse_query(query, now_us=NOW)


@pytest.mark.parametrize(
    "given",
    [
        {"thread_id": "a"},
        {"status": "eror"},
        {"kind": "llm"},
        {"period": "fortnight"},
        {"min_cost": -1},
        {"min_cost": float("nan")},
        {"max_cost": float("inf")},
        {"min_tokens": 1.5},
        {"has_error": "perhaps"},
        {"text": ""},
    ],
)
def test_a_parameter_that_is_unknown_or_out_of_bounds_is_refused_by_name(
    given: dict[str, object],
) -> None:
    with pytest.raises(ValidationError) as caught:
        SpanParameters.model_validate(given)

    assert caught.value.errors()[0]["loc"][0] == next(iter(given))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"since": "soon"}, "since: 'soon'"),
        ({"until": "-"}, "until:"),
        ({"query": "a:b"}, "column"),
    ],
)
def test_a_time_or_a_query_that_cannot_be_read_is_a_wrong_usage(
    given: dict[str, str], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        SpanParameters.model_validate(given).to_query(NOW)


def test_queries_are_joined_by_and() -> None:
    one, other = parse_query("status:error", now_us=NOW), parse_query("model:x", now_us=NOW)

    assert one & other == parse_query("status:error model:x", now_us=NOW)
    assert Query() & one == one
