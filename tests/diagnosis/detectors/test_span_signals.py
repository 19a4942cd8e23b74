"""Layer 1: faults that the structure of a span states."""

from dataclasses import replace
from typing import Any

import pytest

from tests.diagnosis.detectors.spans import calls, model, only, other, tool, user
from treadle.diagnosis.detectors import Kind, Severity, detect
from treadle.spans.span import SpanEvent, SpanKind, SpanStatus

HIGH, MEDIUM, LOW = Severity.HIGH, Severity.MEDIUM, Severity.LOW


def failure(**changes: Any) -> tuple[str, str, str]:
    found = only(other(**changes))
    return found.kind.value, found.evidence.field, found.evidence.quote


def test_failed_span_is_reported_by_its_best_evidence() -> None:
    error = {"status": SpanStatus.ERROR}
    raised = SpanEvent(5, "exception", {"exception.type": "E", "exception.message": "pool closed"})
    assert failure(**error) == ("status", "status", "error")
    assert failure(**error, error="503 busy") == ("status", "error", "503 busy")
    assert failure(**error, error="503 busy", events=(raised,)) == (
        "exception",
        "events[0].attributes.exception.message",
        "pool closed",
    )
    assert failure(attributes={"http.response.status_code": 404}) == (
        "http_status",
        "attributes.http.response.status_code",
        "404",
    )
    failed = replace(tool('{"error": "disk full"}'), status=SpanStatus.ERROR, error="disk full")
    assert only(failed).kind is Kind.FAILED_RESULT


def test_exception_of_a_successful_span_is_less_severe() -> None:
    raised = SpanEvent(5, "exception", {"exception.type": "E"})
    found = only(other(events=(raised,)))
    assert (found.severity, found.kind) == (MEDIUM, Kind.EXCEPTION)
    assert found.confidence < 1


def test_denied_call_is_not_an_error() -> None:
    found = only(other(status=SpanStatus.DENIED, error="The person said no."))
    assert (found.severity, found.kind) == (LOW, Kind.DENIED)
    assert not detect([other(status=SpanStatus.CANCELLED), other(status=SpanStatus.UNFINISHED)])


@pytest.mark.parametrize(
    ("code", "severity"), [(401, HIGH), (403, HIGH), (404, MEDIUM), (429, MEDIUM), (500, HIGH)]
)
def test_codes_have_the_severity_of_their_words(code: int, severity: Severity) -> None:
    assert only(other(attributes={"http.status_code": code})).severity is severity
    assert only(other(attributes={"http.status_code": str(code)})).severity is severity
    assert only(tool(f'{{"status_code": {code}, "body": "x"}}')).severity is severity


@pytest.mark.parametrize("code", [200, 302, 399, 600, True, "abc", None, [500], 5.5])
def test_other_codes_are_not_faults(code: object) -> None:
    assert not detect([other(attributes={"http.response.status_code": code})])


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"gen_ai.response.finish_reasons": ["length"]}, Kind.TRUNCATED),
        ({"gen_ai.response.finish_reasons": ["stop", "MAX_TOKENS"]}, Kind.TRUNCATED),
        ({"ai.response.finishReason": "content-filter"}, Kind.FILTERED),
        ({"gen_ai.completion.0.finish_reason": "SAFETY"}, Kind.FILTERED),
        ({"gen_ai.response.finish_reasons": ["error"]}, Kind.PROVIDER_ERROR),
        ({"gen_ai.response.finish_reasons": ["refusal"]}, Kind.REFUSAL),
    ],
)
def test_interrupted_reply_is_found(attributes: dict[str, Any], kind: Kind) -> None:
    assert only(model([user("?")], attributes=attributes)).kind is kind


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "end_turn", "", "STOP"])
def test_complete_reply_has_no_fault(reason: str) -> None:
    attributes = {"gen_ai.response.finish_reasons": [reason]}
    assert not detect([model([user("?")], attributes=attributes)])


@pytest.mark.parametrize(
    ("reply", "field"),
    [
        ({"content": None, "refusal": "I will not."}, "output[0].refusal"),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "output[0].content[0].refusal"),
        ({"content": "I'm sorry, but I can't help with that."}, "output[0].content"),
        ({"content": "I cannot assist with this request."}, "output[0].content"),
        ({"content": "Es tut mir leid, dabei kann ich nicht helfen."}, "output[0].content"),
    ],
)
def test_refusal_is_found(reply: dict[str, Any], field: str) -> None:
    found = only(model([user("?")], [{"role": "assistant", **reply}]))
    assert (found.kind, found.evidence.field) == (Kind.REFUSAL, field)


@pytest.mark.parametrize(
    "text",
    [
        "I can't say without measuring.",
        "I'm sorry about that! Here it is.",
        'Models say "I cannot help with that".',
        "I cannot help with that, " + "but here is a long story. " * 40,
    ],
)
def test_text_about_refusals_is_not_a_refusal(text: str) -> None:
    assert not detect([model([user("?")], [{"role": "assistant", "content": text}])])


@pytest.mark.parametrize("content", ["", None, "  \n", []])
def test_empty_reply_is_found(content: object) -> None:
    found = only(model([user("?")], [{"role": "assistant", "content": content}]))
    assert found.kind is Kind.EMPTY_REPLY
    assert not detect([replace(model([user("?")]), output=None)])
    assert not detect([model([user("?")], [calls(("f", "{}"))])])


def test_error_instead_of_a_reply_is_found() -> None:
    span = replace(model([user("?")]), output='{"error": {"message": "no such model"}}')
    found = only(span)
    assert (found.kind, found.evidence.field) == (Kind.PROVIDER_ERROR, "output.error.message")


def test_run_ended_by_a_limit_is_found() -> None:
    attributes = {"treadle.stop_reason": "turn_limit"}
    assert only(other(SpanKind.RUN, attributes=attributes)).kind is Kind.STOPPED
    assert not detect([other(SpanKind.RUN, attributes={"treadle.stop_reason": "completed"})])


@pytest.mark.parametrize(
    "changes", [{"output": "[]"}, {"output": ""}, {"attributes": {"treadle.retrieval.sources": []}}]
)
def test_empty_retrieval_is_found(changes: dict[str, Any]) -> None:
    assert only(other(SpanKind.RETRIEVAL, **changes)).kind is Kind.EMPTY_RESULT
    assert not detect([other(SpanKind.RETRIEVAL, output='[{"text": "Error: not found"}]')])


def test_detectors_keep_their_names() -> None:
    texts = ["Traceback (most recent call last):\nKeyError: 1", '{"ok": false}', "[]"]
    assert [finding.detector for text in texts for finding in detect([tool(text)])] == [
        "anchored-patterns",
        "tool-result",
        "empty-result",
    ]
