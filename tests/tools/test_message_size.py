"""Tool messages within a number of tokens: valid JSON, whatever the number is."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.examples import draw
from treadle.events.types import ErrorKind, ToolFailure
from treadle.tokens import estimate
from treadle.tools.failures import failure_content
from treadle.tools.message_size import fit_message, with_note

parts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["def f(x):\n    return x\n", " " * 50, "0f3a9c" * 5, "\\", '"', "\x00\x1b"]),
    st.sampled_from(["🙂", "👩\u200d👩\u200d👧", "漢字", "\ud800"]),
)
texts = st.builds(
    lambda some, times: "".join(some) * times, st.lists(parts, max_size=30), st.integers(1, 30)
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=9,
)


@draw(times=3)
@given(value=values, limit=st.integers(10, 20_000))
def test_a_result_of_any_content_fits_any_limit_and_is_json(value: Any, limit: int) -> None:
    content = json.dumps({"ok": True, "type": "external", "v": 1, "result": value})
    fitted = fit_message(content, limit)
    assert estimate(fitted) <= limit
    assert json.loads(fitted)["ok"] is True
    if estimate(content) <= limit:
        assert fitted == content


@draw(times=2)
@given(text=texts, limit=st.integers(60, 2_000))
def test_a_message_that_is_not_json_becomes_json(text: str, limit: int) -> None:
    if estimate(text) > limit:
        shown = json.loads(fit_message(text, limit))
        assert shown["characters"] == len(text)
        assert shown["limit"] == limit
        if "head" in shown:
            assert text.encode("utf-8", "replace").decode().startswith(shown["head"])
            assert text.encode("utf-8", "replace").decode().endswith(shown["tail"])


@draw(times=2)
@given(
    message=texts, hint=texts | st.none(), received=texts | st.none(), limit=st.integers(10, 900)
)
@example(message="\x1f\x07" * 13, hint=None, received=None, limit=100)  # escapes take tokens
def test_a_failure_stays_a_failure_of_its_kind(
    message: str, hint: str | None, received: str | None, limit: int
) -> None:
    failure = ToolFailure(ErrorKind.NOT_FOUND, message, hint=hint, received=received)
    shown = fit_message(failure_content(failure), limit)
    assert estimate(shown) <= limit
    assert json.loads(shown)["ok"] is False
    if limit >= 100:
        assert json.loads(shown)["kind"] == "not_found"


@draw(times=2)
@given(value=values, limit=st.integers(60, 2_000))
def test_a_note_is_a_field_of_the_object_and_within_the_limit(value: Any, limit: int) -> None:
    content = json.dumps({"ok": True, "result": value})
    noted = with_note(content, "repeated", "You made this call before.", limit)
    assert json.loads(noted)["repeated"] == "You made this call before."
    assert estimate(noted) <= limit


def test_a_note_can_be_added_to_plain_text_and_to_an_empty_object() -> None:
    assert json.loads(with_note("An answer.", "repeated", "x", 100)) == {
        "ok": True,
        "result": "An answer.",
        "repeated": "x",
    }
    assert json.loads(with_note("{}", "repeated", "x", 100)) == {"repeated": "x"}


def test_an_excerpt_states_the_full_size_and_uses_most_of_the_limit() -> None:
    content = json.dumps({"ok": True, "text": "a line of words\n" * 100_000})
    fitted = fit_message(content, 1_000)
    assert 900 <= estimate(fitted) <= 1_000
    shown = json.loads(fitted)
    assert shown["type"] == "excerpt"
    assert shown["characters"] == len(content)
    assert shown["tokens"] == estimate(content)
    assert "Request less" in shown["hint"]


def test_a_short_message_is_left_alone() -> None:
    assert fit_message("short", 200) == "short"
