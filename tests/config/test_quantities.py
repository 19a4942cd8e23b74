import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.config.quantities import age_us, shown_size, size_bytes


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1.5h", 5_400), ("30d", 2_592_000), ("4 W", 2_419_200)]
)
def test_ages_are_parsed(text: str, seconds: int) -> None:
    assert age_us(text) == seconds * 1_000_000


@pytest.mark.parametrize(
    ("text", "count"), [("512B", 512), ("1.5kb", 1_500), ("2GB", 2 * 10**9), ("1 TB", 10**12)]
)
def test_sizes_are_parsed(text: str, count: int) -> None:
    assert size_bytes(text) == count


@pytest.mark.parametrize(
    "text", ["", "30", "d", "0d", "-1d", "1y", "1e3d", "3 d d", "٣d", "9" * 40 + "d"]
)
def test_invalid_ages_and_sizes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="should be an age"):
        age_us(text)
    with pytest.raises(ValueError, match="should be a size"):
        size_bytes(text)


@given(st.integers(0, 10**15))
def test_a_size_is_shown_with_one_decimal(count: int) -> None:
    shown = shown_size(count)

    if count:
        assert abs(size_bytes(shown) - count) <= 0.06 * max(count, 1)
    assert len(shown) < 12
