import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.events.types import Usage
from treadle.llm.usage import read_usage


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        ({}, Usage()),
        ({"prompt_tokens": 10**30, "completion_tokens": -1}, Usage()),
        ({"prompt_tokens": 10, "completion_tokens": 5}, Usage(input=10, output=5)),
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "prompt_tokens_details": {"cached_tokens": 64},
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            Usage(input=100, output=50, cached=64, reasoning=30),
        ),
        (  # OpenRouter
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 80},
            },
            Usage(input=100, output=5, cached=0, cache_write=80),
        ),
        (  # DeepSeek
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "prompt_cache_hit_tokens": 60,
                "prompt_cache_miss_tokens": 40,
            },
            Usage(input=100, output=5, cached=60),
        ),
        (  # the responses API
            {
                "input_tokens": 100,
                "output_tokens": 50,
                "input_tokens_details": {"cached_tokens": 20},
                "output_tokens_details": {"reasoning_tokens": 30},
                "total_tokens": 150,
            },
            Usage(input=100, output=50, cached=20, reasoning=30),
        ),
        (  # Anthropic: cached tokens separate from the input
            {
                "input_tokens": 10,
                "output_tokens": 5,
                "cache_creation_input_tokens": 200,
                "cache_read_input_tokens": 3_000,
            },
            Usage(input=3_210, output=5, cached=3_000, cache_write=200),
        ),
        (  # the same with few cached tokens: Anthropic's names always mean separate counts
            {"input_tokens": 500, "output_tokens": 5, "cache_read_input_tokens": 100},
            Usage(input=600, output=5, cached=100),
        ),
        (  # a compatible server that passes on Anthropic's counts
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 15,
                "cache_read_input_tokens": 3_000,
            },
            Usage(input=3_010, output=5, cached=3_000),
        ),
        (  # LiteLLM: both forms, and the prompt contains everything
            {
                "prompt_tokens": 3_210,
                "completion_tokens": 5,
                "total_tokens": 3_215,
                "prompt_tokens_details": {"cached_tokens": 3_000},
                "cache_creation_input_tokens": 200,
                "cache_read_input_tokens": 3_000,
            },
            Usage(input=3_210, output=5, cached=3_000, cache_write=200),
        ),
        (  # sums that show that the cache is inside
            {
                "prompt_tokens": 500,
                "completion_tokens": 5,
                "total_tokens": 505,
                "cache_read_input_tokens": 100,
            },
            Usage(input=500, output=5, cached=100),
        ),
        (
            {"prompt_tokens": "many", "completion_tokens": True, "prompt_tokens_details": None},
            Usage(),
        ),
        ({"prompt_tokens": -1, "completion_tokens": 5}, Usage(output=5)),
    ],
)
def test_the_usage_of_every_server_is_read(reported: dict[str, object], usage: Usage) -> None:
    assert read_usage(reported) == usage


COUNTS = st.none() | st.integers(0, 10**6)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "prompt_tokens",
                "input_tokens",
                "completion_tokens",
                "total_tokens",
                "cache_read_input_tokens",
                "cache_creation_input_tokens",
            ]
        ),
        COUNTS,
    )
)
def test_anthropics_parts_never_outgrow_the_input(reported: dict[str, object]) -> None:
    usage = read_usage(reported)
    if usage.input is not None:
        assert (usage.cached or 0) + (usage.cache_write or 0) <= usage.input


@pytest.mark.parametrize(
    ("total", "output"),
    [(1600, 1500), (1100, 1000), (None, 1000)],
    ids=["beside", "part", "unsaid"],
)
def test_thoughts_that_the_total_counts_separately_are_added(
    total: int | None, output: int
) -> None:
    """router-for-me/CLIProxyAPI#5743, mozilla-ai/any-llm#1290: Gemini's thoughts went unbilled."""
    reported: dict[str, object] = {
        "prompt_tokens": 100,
        "completion_tokens": 1000,
        "completion_tokens_details": {"reasoning_tokens": 500},
        "total_tokens": total,
    }
    assert read_usage(reported) == Usage(input=100, output=output, reasoning=500)


def test_more_thoughts_than_answer_are_counted_separately() -> None:
    details = {"reasoning_tokens": 500}
    reported = {"prompt_tokens": 9, "completion_tokens": 5, "completion_tokens_details": details}
    assert read_usage(reported).output == 505


def test_whole_numbers_with_a_decimal_point_are_counts() -> None:
    reported = {"prompt_tokens": 100.0, "completion_tokens": 2.0, "total_tokens": 102.0}
    assert read_usage(reported) == Usage(input=100, output=2)
    assert read_usage({"prompt_tokens": 1.5, "completion_tokens": 2}) == Usage(output=2)
