"""Texts are cut between visible characters and between escapes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.spans.text_cuts import cut_before, cut_behind

WHOLE = (
    "e\u0301",  # an e with a combining accent
    "👩\u200d👩\u200d👧",
    "👍🏽",
    "❤\ufe0f",
    "🇳🇴",
    "\r\n",
    "\\n",
    "\\\\",
    '\\"',
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\u{202e}",
    "\ud83d\ude00",  # halves without the other half
)


@pytest.mark.parametrize("whole", WHOLE)
def test_visible_characters_are_not_cut(whole: str) -> None:
    text = f"ab{whole}cd"
    for place in range(3, 2 + len(whole)):
        assert (cut_before(text, place), cut_behind(text, place)) == (2, 2 + len(whole))
    for place in (0, 1, 2, 2 + len(whole), len(text)):
        assert cut_before(text, place) == cut_behind(text, place) == place


def test_flags_are_cut_between_pairs() -> None:
    text = "🇳🇴🇸🇪🇩🇰"
    assert [cut_before(text, place) for place in range(7)] == [0, 0, 2, 2, 4, 4, 6]


PIECES = st.lists(st.one_of(st.sampled_from(WHOLE), st.text(), st.just("\u0301")), max_size=8)


@given(PIECES.map("".join), st.integers(-5, 60))
def test_cut_positions_stay_in_order(text: str, place: int) -> None:
    before, behind = cut_before(text, place), cut_behind(text, place)
    inside = max(0, min(place, len(text)))
    assert 0 <= before <= inside <= behind <= len(text)
    assert cut_before(text, before) == before or "\u0301" in text or "\u200d" in text


@given(st.text(), st.integers(0, 60))
def test_cut_json_text_stays_valid_json_text(said: str, place: int) -> None:
    text = json.dumps(said)[1:-1]
    cut = cut_before(text, place)
    assert json.loads(f'"{text[:cut]}"') + json.loads(f'"{text[cut:]}"') == said
