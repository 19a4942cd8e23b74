"""Instructions that conflict, and instructions that do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.diagnosis.report.prompt_conflicts import contradictions


@pytest.mark.parametrize(
    ("prompt", "about"),
    [
        ("Answer in English. You sell shoes. Respond only in German.", "the language"),
        ("Reply in plain text. Always return JSON with two fields.", "the form"),
        ("Use at most 100 words. Write at least 400 words.", "the length"),
        ("Be formal. Keep an informal tone.", "the tone"),
        (
            "Always call check_stock before you name a price. Never call check_stock.",
            "what is to be done",
        ),
        (
            (
                "Confirm the dates and the number of passengers before you hold a seat."
                " Never confirm the dates or the number of passengers."
            ),
            "what is to be done",
        ),
    ],
)
def test_conflicts_are_found_and_quoted(prompt: str, about: str) -> None:
    (found,) = contradictions(prompt)
    assert found.about == about
    for sentence in (found.one, found.other):
        assert prompt[sentence.start : sentence.end] == sentence.text
    assert found.one.start < found.other.start


@pytest.mark.parametrize(
    "prompt",
    [
        "Answer in English. If the customer writes German, answer in German.",
        "Never share prices. Always share the size.",
        "Use at most 100 words. Name at least 3 sources.",
        "Use at least 50 words. Use at most 100 words.",
        "Never ask for passwords. Always ask for the order number.",
        "Do not answer in German. Answer in English.",
        "Return JSON. Do not return Markdown.",
        "Never guess. Always guess only when the customer insists.",
        "",
    ],
)
def test_compatible_instructions_do_not_conflict(prompt: str) -> None:
    assert contradictions(prompt) == ()


@given(st.text(max_size=400))
def test_any_text_is_quoted_exactly(text: str) -> None:
    for found in contradictions(text):
        for sentence in (found.one, found.other):
            assert text[sentence.start : sentence.end] == sentence.text
