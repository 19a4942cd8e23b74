"""Faults of records are marked, and sound records are not."""

from dataclasses import replace

import pytest

from tests.spans.runs import span
from treadle.diagnosis.record_faults import record_faults
from treadle.display.trace_tree import trace_to_json, view_trace
from treadle.spans.span import JsonValue, SpanEvent, SpanLink, Trace

MESSAGES = '[{"role": "user", "content": "' + "word " * 2_000


def marks(**changes: object) -> list[str]:
    made = replace(span("a"), **changes)  # type: ignore[arg-type]
    return [fault.kind.value for fault in record_faults(made)]


def of(attributes: dict[str, JsonValue]) -> list[str]:
    return marks(attributes=attributes)


def test_sound_span_has_no_mark() -> None:
    assert marks() == []
    assert of({"gen_ai.prompt": '[{"role": "user"}]', "note": "x" * 1_024, "n": 7}) == []


def test_clock_that_went_back_is_marked() -> None:
    assert marks(start_us=2_000, end_us=1_000) == ["clock_skew"]


def test_own_parent_is_marked() -> None:
    assert marks(parent_id="a") == ["own_parent"]


@pytest.mark.parametrize("limit", [128, 256, 1_000, 1_024, 4_096, 8_192])
def test_json_that_ends_at_a_limit_is_marked(limit: int) -> None:
    assert of({"gen_ai.input.messages": MESSAGES[:limit]}) == ["truncated"]


def test_json_that_ends_where_another_text_does_is_marked() -> None:
    assert of({"gen_ai.input.messages": MESSAGES[:777], "note": "x" * 777}) == ["truncated"]


@pytest.mark.parametrize(
    "end",
    [
        "...[truncated]",
        "… [truncated]",
        "[TRUNCATED]",
        "...(truncated)",
        "<truncated>",
        "... [truncated 512 characters]",
        "[output truncated]",
        "[...truncated...]",
        "... 1234 more characters",
    ],
)
def test_note_of_truncation_is_marked(end: str) -> None:
    assert of({"output.value": "The answer begins" + end}) == ["truncated"]


@pytest.mark.parametrize(
    "text",
    [
        "[truncated] is the word that exporters write at the end of long texts.",
        "The table was truncated.",
        '[{"role": "user"',
        '{"a": ' + "x" * 90,
        "x" * 4_096,
    ],
)
def test_text_with_similar_words_is_not_marked(text: str) -> None:
    assert of({"output.value": text}) == []


def test_dropped_and_unreadable_parts_are_marked() -> None:
    assert of({"otel.dropped_attributes_count": 3, "otel.dropped_links_count": 0}) == ["dropped"]
    assert of({"otel.unreadable": ["its start is not between the years 1970 and 2262"]}) == [
        "unreadable"
    ]


def test_dropped_attributes_of_events_and_links_are_marked() -> None:
    dropped: dict[str, JsonValue] = {"otel.dropped_attributes_count": 2}
    assert marks(events=(SpanEvent(1_000, "e", dropped),)) == ["dropped"]
    assert marks(links=(SpanLink("b", "c", dropped),)) == ["dropped"]
    assert marks(links=(SpanLink("b", "c", {}),)) == []


def test_marks_are_shown_with_their_reasons() -> None:
    odd = replace(
        span("a"),
        start_us=2_000,
        end_us=1_000,
        attributes={
            "otel.dropped_attributes_count": 3,
            "otel.unreadable": ["its links are not a list"],
        },
    )
    trace = Trace("t", (odd,))
    notes = "\n".join(view_trace(trace).rows[0].notes)
    assert "clock skew" in notes
    assert "dropped 3 attributes" in notes
    assert "its links are not a list" in notes
    assert trace_to_json(trace)["marks"] == {"a": ["clock_skew", "dropped", "unreadable"]}
