"""Long texts cut to a number of tokens."""

from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.session.cutting import cut_to_tokens
from treadle.tokens import estimate

pieces = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["def f(x):\n    return x\n", " " * 50, "0f3a9c" * 5, "\ud800"]),
    st.sampled_from(["🙂", "👩\u200d👩\u200d👧", "漢字"]),
)


@settings(max_examples=200, deadline=None)
@given(
    text=st.lists(pieces, max_size=30).map("".join),
    times=st.integers(1, 30),
    limit=st.integers(60, 2_000),
)
def test_a_cut_text_fits_and_keeps_its_head_and_tail(text: str, times: int, limit: int) -> None:
    whole = text * times
    cut = cut_to_tokens(whole, limit)
    assert estimate(cut) <= limit
    if estimate(whole) <= limit:
        assert cut == whole
        return
    head, notice, tail = cut.partition("\n[… ")
    assert notice
    _, _, tail = tail.partition(" …]\n")
    assert whole.startswith(head)
    assert whole.endswith(tail)
    kept = len(head) + len(tail)
    assert f"{len(whole) - kept:,} of {len(whole):,} characters left out" in cut


def test_a_cut_uses_most_of_what_it_may() -> None:
    cut = cut_to_tokens("a line of words\n" * 100_000, 1_000)
    assert 900 <= estimate(cut) <= 1_000


def test_a_short_text_is_left_alone() -> None:
    assert cut_to_tokens("short", 200) == "short"
