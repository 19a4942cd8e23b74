"""Layers 1 and 2 on texts of results: sources, positions and negations."""

import json
import time
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.diagnosis.detectors.spans import assistant, calls, model, only, other, result, tool, user
from treadle.diagnosis.detectors import Kind, Severity, detect
from treadle.diagnosis.evidence import holds
from treadle.spans.span import SpanKind

WORDS = (
    "Error: it failed. Exception. Failed to connect. Unauthorized. Forbidden. Not found. It does "
    "not exist. Timeout. Rate limit. Invalid. Missing. undefined. null"
)


def test_prose_is_never_an_error() -> None:
    talk = [{"role": "system", "content": WORDS}, user(WORDS), assistant(WORDS), user(WORDS)]
    spans = [
        model(talk, [assistant(WORDS)]),
        other(SpanKind.RUN, input=WORDS, output=WORDS),
        other(SpanKind.AGENT, input=WORDS, output=WORDS),
        other(SpanKind.RETRIEVAL, input=WORDS, output=f'[{{"text": "{WORDS}"}}]'),
        other(SpanKind.EMBEDDING, input=WORDS),
        other(input=WORDS, output=WORDS),
        tool("done", arguments=f'{{"text": "{WORDS}"}}'),
    ]
    for span in spans:
        assert not detect([span]), span


@pytest.mark.parametrize(
    "text",
    [
        "No errors found.",
        "0 errors, 0 warnings",
        "12 passed, 0 failed",
        "Finished without errors.",
        "Tests run: 4, Failures: 0, Errors: 0",
        "keine Fehler gefunden",
        "sans erreur",
        "sin errores",
        "nessun errore",
        "ошибок нет",
        "没有错误",
        "エラーはありません",
        "Error: none",
        "errors: []",
        "error: null",
        '{"error": null, "errors": [], "value": 1}',
        '{"error": "", "value": 1}',
        '{"error": false, "value": 1}',
        '{"a": null, "b": null}',
        "{'error': None, 'value': 1}",
    ],
)
def test_negated_failure_is_not_a_fault(text: str) -> None:
    assert not detect([tool(text)])


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        (
            "read_file",
            '{"path": "a.py"}',
            "try:\n    run()\nexcept Error:\n    fail()\n\n\nx = 1\n",
        ),
        ("read_file", '{"path": "app.log"}', "ERROR: database is down"),
        ("read_file", '{"path": "en.json"}', '{"error": "It failed", "ok": "Fine", "no": "No"}'),
        ("grep", '{"pattern": "raise"}', 'a.py:3: raise ValueError("Error: bad")'),
        ("bash", '{"command": "cat errors.txt"}', "Error: not found\nError: invalid"),
        ("bash", '{"command": "cd x && git log -3"}', "a1b2c3d fatal: do not panic"),
        ("bash", '{"command": "tail -f app.log | grep ERROR"}', "10:00 ERROR timeout"),
        ("fetch_docs", "{}", "# Errors\n\nError: 404\n\n- not found\n- missing\n- null"),
        ("get_weather", "{}", "```\nError: an example\n```\n\nSee above.\n\nIt never comes."),
        ("search_docs", "{}", '[{"text": "Error: not found", "error": "invalid"}]'),
        ("run_sql", "{}", '[{"id": 1, "error": "timeout"}, {"id": 2, "error": "x"}]'),
        ("create_ticket", "{}", 'Created ticket 4: "Error: payment failed"'),
    ],
)
def test_text_that_a_tool_only_shows_is_not_a_fault(name: str, arguments: str, text: str) -> None:
    assert not detect([tool(text, name=name, arguments=arguments)])


@pytest.mark.parametrize(
    ("text", "kind", "severity"),
    [
        ("Error: disk is full", Kind.FAILED_TO, Severity.HIGH),
        ("Traceback (most recent call last):\n  x\nKeyError: 1", Kind.EXCEPTION, Severity.HIGH),
        ("Unauthorized", Kind.UNAUTHORIZED, Severity.HIGH),
        ("Access denied", Kind.FORBIDDEN, Severity.HIGH),
        ("Failed to connect to the database", Kind.FAILED_TO, Severity.HIGH),
        ("HTTP/1.1 404 Not Found", Kind.HTTP_STATUS, Severity.MEDIUM),
        ("HTTP/1.1 503 Service Unavailable", Kind.HTTP_STATUS, Severity.HIGH),
        ("Process exited with code 2", Kind.EXIT_CODE, Severity.HIGH),
        ("City not found", Kind.NOT_FOUND, Severity.MEDIUM),
        ("Row 9 does not exist.", Kind.DOES_NOT_EXIST, Severity.MEDIUM),
        ("Request timed out", Kind.TIMEOUT, Severity.MEDIUM),
        ("Rate limit exceeded", Kind.RATE_LIMIT, Severity.MEDIUM),
        ("Invalid date", Kind.INVALID, Severity.LOW),
        ("Missing parameter: city", Kind.MISSING, Severity.LOW),
        ("undefined", Kind.UNDEFINED, Severity.LOW),
        ("null", Kind.EMPTY_RESULT, Severity.LOW),
        ("", Kind.EMPTY_RESULT, Severity.LOW),
        ("[]", Kind.EMPTY_RESULT, Severity.LOW),
        ('{"results": [], "total": 0}', Kind.EMPTY_RESULT, Severity.LOW),
        ("No results found.", Kind.EMPTY_RESULT, Severity.LOW),
        ('{"success": false}', Kind.FAILED_RESULT, Severity.HIGH),
        ('{"content": [], "isError": true}', Kind.FAILED_RESULT, Severity.HIGH),
        ('{"ok": false, "error": "x", "kind": "denied"}', Kind.DENIED, Severity.LOW),
        ('{"ok": false, "error": "x", "kind": "timeout"}', Kind.FAILED_RESULT, Severity.MEDIUM),
        ('{"stdout": "", "exit_code": 3}', Kind.EXIT_CODE, Severity.HIGH),
        ('{"error": {"message": "City not found"}}', Kind.FAILED_RESULT, Severity.MEDIUM),
    ],
)
def test_results_that_report_a_failure_are_found(text: str, kind: Kind, severity: Severity) -> None:
    found = only(tool(text))
    assert (found.kind, found.severity) == (kind, severity)


def test_one_failure_is_one_finding_at_its_best_position() -> None:
    text = "gcc -c a.c\na.c:3:5: error: expected ';'\na.c:9:1: error: no x\nmake: *** [a.o] Error 1"
    found = only(tool(text, name="build"))
    assert found.evidence.quote == "a.c:3:5: error: expected ';'"
    assert (found.evidence.start, found.count) == (11, 3)


def test_position_is_correct_after_any_text() -> None:
    text = "\ud800 é 漢字 \U0001f600\r\n\nError: disk is full\r\nok"
    found = only(tool(text))
    assert found.evidence.quote == "Error: disk is full"


def test_error_of_a_program_that_shows_files_begins_with_its_name() -> None:
    arguments = '{"command": "cat a.txt b.txt"}'
    text = "Error: a line of a.txt\ncat: b.txt: No such file or directory"
    found = only(tool(text, name="bash", arguments=arguments))
    assert found.evidence.quote == "cat: b.txt: No such file or directory"


def test_tool_of_a_result_is_known_in_a_history() -> None:
    asked = calls(("read_file", '{"path": "docs/errors.txt"}'), ("get_user", '{"id": 1}'))
    said = "Error: not found\n" * 20
    span = model([user("?"), asked, result(said), result(said, "call-1")])
    found = only(span)
    assert found.evidence.field == "input[3].content"


PIECES = st.sampled_from(
    [
        "Error", "error: ", "Traceback (most recent call last):\n", '  File "a", line 1\n', "\n",
        "0 failed", "no ", "{", "}", "[", "]", '"', "'", '{"error": ', "null", "not found", ":",
        "exit code 1", "404 ", "HTTP/1.1 500 ", "\r", "\u2028", "\ud800", "é", "漢", "<title>404 ",
        "```", "# ", "a.py:1: ", " ", "\t", "```\n", "failed", "without ", "…", "FAILED", "\\",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=40).map("".join))


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS, st.sampled_from(["read_file", "bash", "run_sql", "x", ""]))
def test_quotes_of_any_text_are_exact(text: str, arguments: str, name: str) -> None:
    span = tool(text, name=name, arguments=arguments)
    spans = [
        span,
        replace(model([user(text), calls((name, arguments)), result(text)]), span_id="m"),
        replace(span, span_id="r", kind=SpanKind.MODEL, input=text, output=arguments),
        replace(span, span_id="o", kind=SpanKind.RETRIEVAL, error=text, attributes={text: text}),
    ]
    by_id = {each.span_id: each for each in spans}
    for found in detect(spans):
        assert holds(found.evidence, by_id[found.evidence.span.span_id]), found
        assert 0 <= found.confidence <= 1
        assert len(found.evidence.quote) <= 240
        assert found.message.splitlines() == [found.message]
        assert found.count >= 1


KEYS = st.sampled_from(
    [
        "ok", "success", "isError", "error", "errors", "message", "detail", "kind", "status",
        "code", "status_code", "exit_code", "stdout", "stderr", "results", "result", "data",
        "content",
        "text", "type", "severity", "diagnostics", "path", "loc", "msg", "reason", "timed_out",
        "failed", "total", "id", "role", "tool_calls", "function", "name", "arguments", "refusal",
        "tool_call_id", "finish_reason", "messages", "function_call", "parameters", "a.b", "",
    ]
)  # fmt: skip
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 600),
    st.floats(allow_nan=False),
    st.sampled_from(["assistant", "tool", "error", "text", "failed", "false", '{"error": "x"}']),
    st.text(max_size=6),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@example([{"ok": None, "message": None, "path": None}], None, "read_file")
@given(VALUES, VALUES, st.sampled_from(["read_file", "bash", "search", "x"]))
def test_quotes_of_any_json_are_exact(one: object, other: object, name: str) -> None:
    first, second = json.dumps(one), json.dumps(other)
    messages = replace(model([]), input=first, output=second, span_id="m")
    offering = {"gen_ai.tool.definitions": first, "ai.prompt.tools": [second]}
    spans = [
        tool(first, name=name, arguments=second),
        messages,
        replace(
            messages,
            span_id="n",
            input=f"[{first}, {second}]",
            output=f"[{second}]",
            attributes=offering,
        ),
        replace(messages, span_id="o", attributes={"gen_ai.response.finish_reasons": second}),
    ]
    by_id = {each.span_id: each for each in spans}
    for found in detect(spans):
        assert holds(found.evidence, by_id[found.evidence.span.span_id]), found


HOSTILE = [
    "Error " * 1_000, "a: " * 2_000, "{" * 6_000, "[" * 6_000, '{"error":' * 700, "no " * 2_000,
    "Error: x\n" * 700, "exit code " * 600, "\n" * 6_000, " " * 6_000, '"' * 6_000, "\\" * 6_000,
    'File "a", line 1\n' * 350, "a.b" * 2_000, "0 failed " * 650, "at x(" * 1_200, "` " * 3_000,
    "漢" * 2_000, "(((" * 2_000, "'a' " * 1_500, "404 not found " * 400, "|" * 6_000,
    "# \n" * 2_000,     "cannot " * 800, "x=" * 3_000, ("a" * 30 + ": ") * 190,
    "<error" * 1_000, "I'm sorry " * 600,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
@pytest.mark.parametrize("name", ["x", "bash"])
def test_time_is_linear_in_the_length(text: str, name: str) -> None:
    def spent(size: int) -> float:
        asked = model([user("?"), calls(("f", text))], [assistant(text * size)])
        spans = [tool(text * size, name=name, arguments=text), asked]
        began = time.process_time()
        detect(spans)
        return time.process_time() - began

    spent(1)  # what is compiled once
    # Sixteen times as much may take sixteen times as long, with room for a busy machine.
    assert any(spent(16) < 64 * max(spent(1), 0.004) for _ in range(3))


def test_megabyte_is_read() -> None:
    prose = "The service reads the manual.\n" * 40_000
    found = only(tool(f"{prose}Traceback (most recent call last):\n  x\nKeyError: 'id'\n"))
    assert found.evidence.quote == "Traceback (most recent call last):"
    assert found.evidence.start == len(prose)


TOOLS = ("read_file", "get_weather", "search_docs", "list_orders", "fetch_page", "grep", "lookup")


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize(
    "text",
    [
        "Network error",
        "network error.",
        "Internal Server Error",
        "INTERNAL SERVER ERROR",
        "ERROR 500",
        "Error: 503",
        "HTTP 502 Bad Gateway",
        "500 Internal Server Error",
        "exception raised",
        "Exception was raised!",
        "An unexpected error occurred",
        "An error has occurred.",
        "Connection refused",
        "connection reset by peer",
        "Bad Gateway",
        "Service Unavailable",
        "Request failed",
        "socket hang up",
        "[Unknown error]",
        '{"result": "Network error"}',
        '[{"type": "text", "text": "Internal Server Error"}]',
        '{"content": [{"type": "text", "text": "ERROR 500"}]}',
    ],
)
def test_answer_that_is_only_a_failure_is_found_whatever_the_tool(text: str, name: str) -> None:
    found = detect([tool(text, name=name)])
    assert len(found) == 1, found
    assert found[0].severity is Severity.HIGH


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize(
    "text",
    [
        "Handling of network errors is described in chapter 4.",
        "class NetworkError: pass",
        "error_count = 0\nprint(error_count)",
        "500",
        "Rounding",
        "no errors",
        "0 errors",
        '{"title": "Network error", "id": 7, "state": "open"}',
        '"timeout"',
        "Internal Server Error is a status of HTTP.\nIt has the number 500.",
    ],
)
def test_text_about_failures_is_not_a_failure(text: str, name: str) -> None:
    assert [
        each for each in detect([tool(text, name=name)]) if each.severity is Severity.HIGH
    ] == []


@pytest.mark.parametrize(
    "words",
    [
        "not found",
        "cannot be found",
        "can't be found",
        "can\u2019t be found",
        "can not be found",
        "could not be found",
        "couldn't be found",
        "couldn\u2019t be found",
        "was not found",
        "wasn't found",
        "cannot be located",
        "unable to be found",
    ],
)
def test_not_found_has_one_severity_in_all_words(words: str) -> None:
    if words == "unable to be found":
        words = "was unable to be found"
    for text in (f"The order {words}.", f"Error: the order {words}", json.dumps({"error": words})):
        found = detect([tool(text)])
        assert [each.severity for each in found] == [Severity.MEDIUM], text


@pytest.mark.parametrize(
    "words",
    [
        "couldn't find",
        "couldn\u2019t find",
        "could not find",
        "can't find",
        "cannot find",
        "unable to find",
        "failed to find",
    ],
)
def test_could_not_find_has_the_severity_of_not_found(words: str) -> None:
    for text in (f"I {words} the order 7.", f"Error: {words} order 7"):
        found = detect([tool(text)])
        assert [each.severity for each in found] == [Severity.MEDIUM], text
