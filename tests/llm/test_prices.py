import pytest

from treadle.events.types import Usage
from treadle.llm.endpoint import Endpoint
from treadle.llm.prices import context_window, cost

OPENAI = Endpoint("openai", "gpt-4o-mini", "https://api.openai.com/v1")


def test_a_known_model_has_a_price_to_the_cent() -> None:
    # 0.15 and 0.60 dollars for a million tokens of input and output, 0.075 for cached ones
    assert cost(OPENAI, Usage(input=1_000_000, output=1_000_000)) == pytest.approx(0.75)
    assert cost(OPENAI, Usage(input=1_000_000, output=0, cached=1_000_000)) == pytest.approx(0.075)


@pytest.mark.parametrize(
    ("endpoint", "usage"),
    [
        (OPENAI, Usage()),
        (OPENAI, Usage(input=5)),
        (Endpoint("openai", "nobody-knows-it", OPENAI.base_url), Usage(input=5, output=5)),
        (Endpoint("mine", "gpt-4o-mini", "https://models.example/v1"), Usage(input=5, output=5)),
        (Endpoint("ollama", "gpt-4o-mini", "http://127.0.0.1:1/v1"), Usage(input=5, output=5)),
    ],
)
def test_what_is_not_known_is_none(endpoint: Endpoint, usage: Usage) -> None:
    assert cost(endpoint, usage) is None


def test_the_window_of_a_known_model() -> None:
    assert context_window(OPENAI) == 128_000
    assert context_window(Endpoint("mine", "m", "https://models.example/v1")) is None
