"""What a reply costs and how much a model can take, by the public data of genai-prices.

Unknown is None, never 0: a sum with a hole in it must not look complete. Servers on this machine
have no price, so their cost is unknown too.
"""

from treadle.events.types import Usage
from treadle.llm.endpoint import Endpoint


def cost(endpoint: Endpoint, usage: Usage) -> float | None:
    """US dollars for one reply, or None when the price or the tokens are not known.

    Imports the price data, which takes half a second: call it in a thread.
    """
    if endpoint.loopback or usage.input is None or usage.output is None:
        return None
    from genai_prices import Usage as PricedUsage
    from genai_prices import calc_price

    tokens = PricedUsage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=min(usage.cached or 0, usage.input),
    )
    try:
        price = calc_price(tokens, endpoint.model, provider_api_url=endpoint.base_url)
    except (LookupError, ValueError):
        return None
    return float(price.total_price)


def context_window(endpoint: Endpoint) -> int | None:
    """Tokens that the model takes, or None when the data does not say. Call it in a thread."""
    if endpoint.loopback:
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, model = get_snapshot().find_provider_model(endpoint.model, None, None, endpoint.base_url)
    except LookupError:
        return None
    return model.context_window


def price(
    model: str, provider: str | None, usage: Usage, *, base_url: str | None = None
) -> float | None:
    """US dollars for a call of `model`, whoever made it; None when price or tokens are unknown."""
    if usage.input is None or usage.output is None:
        return None
    from genai_prices import Usage as PricedUsage
    from genai_prices import calc_price

    tokens = PricedUsage(input_tokens=usage.input, output_tokens=usage.output)
    try:
        if base_url is None:
            found = calc_price(tokens, model, provider_id=provider)
        else:
            found = calc_price(tokens, model, provider_api_url=base_url)
    except (LookupError, ValueError):
        return None
    return float(found.total_price)
