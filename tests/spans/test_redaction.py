"""Redaction of spans."""

import json
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from treadle.spans.redaction import redact_spans
from treadle.spans.span import Span, SpanEvent, SpanKind, SpanLink

KEY = "sk-aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWxYz"
MARK = "[redacted:api-key]"
PLAIN = Span(
    trace_id="t", span_id="s", kind=SpanKind.MODEL, operation="chat", name="chat m", start_us=1
)


def test_every_text_of_a_span_is_redacted() -> None:
    message = json.dumps([{"role": "user", "content": f'my key is "{KEY}"'}])
    span = replace(
        PLAIN,
        name=f"chat {KEY}",
        error=f"401 for {KEY}",
        model=KEY,
        labels=("b", KEY),
        thread_id=KEY,
        user=KEY,
        release=KEY,
        metadata={"tenant": KEY, "api_key": "Tr0ub4dor&3", "seats": 5},
        attributes={
            "gen_ai.input.messages": message,
            "deep": [{"er": [KEY, 1, None]}, True],
            f"by {KEY}": 1.5,
            "http.request.header.authorization": ["Bearer abc123def456"],
            "db.password": "Tr0ub4dor&3",
        },
        resource={"process.command_args": ["--key", KEY]},
        events=(SpanEvent(1, f"used {KEY}", {"exception.message": KEY}),),
        links=(SpanLink("t", "o", {"why": KEY}),),
        input=message,
        output=KEY,
    )

    (cleaned,), counts = redact_spans([span])

    text = repr(cleaned)
    assert KEY not in text
    assert "abc123def456" not in text
    assert "Tr0ub4dor&3" not in text
    assert counts == {"api-key": text.count(MARK), "bearer": 1, "password": 1, "secret": 1}
    assert json.loads(cleaned.input or "") == [{"role": "user", "content": f'my key is "{MARK}"'}]
    assert cleaned.attributes["deep"] == [{"er": [MARK, 1, None]}, True]
    assert cleaned.labels == (MARK, "b")
    assert (cleaned.user, cleaned.release, cleaned.metadata["tenant"]) == (MARK, MARK, MARK)
    assert cleaned.metadata["seats"] == 5
    assert (cleaned.trace_id, cleaned.span_id) == ("t", "s")


def test_spans_without_secrets_stay_unchanged() -> None:
    span = replace(
        PLAIN,
        attributes={"session.id": "auth", "gen_ai.usage.input_tokens": 12, "token": "input"},
        input="auth, session, token, password and key are words; so is sk-ipping",
    )

    spans, counts = redact_spans([span, PLAIN])

    assert spans[0] is span
    assert counts == {}


TEXTS = st.sampled_from(["", "a", KEY, f"x {KEY} y", "token", "Tr0ub4dor&3", "\ud800", "é\x00"])
SPANS = st.builds(
    lambda texts, attributes, output: replace(
        PLAIN, labels=tuple(sorted(set(texts))), attributes=attributes, output=output
    ),
    st.lists(TEXTS, max_size=2),
    st.dictionaries(TEXTS | st.just("password"), TEXTS | st.integers() | st.lists(TEXTS)),
    st.none() | TEXTS,
)


@given(st.lists(SPANS, max_size=5))
def test_batch_is_redacted_like_single_spans(spans: list[Span]) -> None:
    together, counts = redact_spans(spans)

    alone = [redact_spans([span]) for span in spans]
    assert list(together) == [cleaned for (cleaned,), _ in alone]
    assert counts == sum((Counter(each) for _, each in alone), Counter())
    assert KEY not in repr(together)
