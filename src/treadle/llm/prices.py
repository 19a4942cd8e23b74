"""The cost of replies and the windows of models, from the public data of genai-prices.

An unknown value is None and never 0. Otherwise a sum with unknown values would look complete.
Servers on this machine have no price, so their cost is unknown. The first import of the data takes
a third of a second.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from treadle.events.types import Usage
from treadle.llm.endpoint import Endpoint, is_loopback

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

_KNOWN_MODELS = 2_048
"""The maximum number of models whose prices are cached.

Finding a model that is not cached takes 1 ms.
"""

_PROVIDERS = {
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "aws.bedrock": "aws",
    "gcp.gen_ai": "google",
    "gcp.gemini": "google",
    "gcp.vertex_ai": "google",
    "mistral_ai": "mistral",
    "together_ai": "together",
    "x_ai": "x-ai",
    "xai": "x-ai",
}
"""Maps the provider names of OpenTelemetry to the provider names of genai-prices."""

_PREFIXES = {
    "openrouter": "openrouter",
    "azure": "azure",
    "bedrock": "aws",
    "vertex_ai": "google",
    "gemini": "google",
    "models": "google",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "xai": "x-ai",
}
"""Maps the prefixes that routers add to model names to the provider names of genai-prices."""


_MAKERS = ("openai", "cohere")
"""The makers of embedding models that are tried when the provider is unknown.

genai-prices derives the provider from the name of a chat model, but not from the name of an
embedding model.
"""

_SNAPSHOT = re.compile(r"(?:[-@](\d{4}-?\d\d-?\d\d)|-(\d\d-\d{4}|\d{4})|[-@]\d{3})(?:-v\d+:\d+)?\Z")
"""Matches the end of a model's name that identifies a snapshot: a date or a revision.

Examples are `-2024-07-18`, `@20240718`, `-08-2024`, `-0613`, `-2411` and `-002`. Bedrock appends a
version such as `-v1:0`.
"""


class Price(NamedTuple):
    """The cost of a call in US dollars.

    `of_base_model` is true if the price table lacks the model, and the price is that of its base
    model. In this case, the cost is an estimate.
    """

    dollars: float
    of_base_model: bool


def cost(endpoint: Endpoint, usage: Usage) -> float | None:
    """Return the cost of a reply in US dollars, or None if the price or the tokens are unknown.

    Call this in a thread, since it may import the price data.
    """
    return price(endpoint.model, endpoint.provider, usage, base_url=endpoint.base_url)


def price(
    model: str,
    provider: str | None,
    usage: Usage,
    *,
    base_url: str | None = None,
    at_us: int | None = None,
) -> float | None:
    """Return the cost of a call in US dollars, or None if it is unknown; see `find_price`."""
    found = find_price(model, provider, usage, base_url=base_url, at_us=at_us)
    return None if found is None else found.dollars


def find_price(
    model: str,
    provider: str | None,
    usage: Usage,
    *,
    base_url: str | None = None,
    at_us: int | None = None,
) -> Price | None:
    """Return the cost of a call, or None if the price or the tokens are unknown.

    If the price table lacks a snapshot of a model, the price of its base model is used.

    `base_url` identifies the provider whose prices apply. If `base_url` is None, `provider`
    identifies it. If both are None, the name of the model identifies it. `at_us` is the time of the
    call in Unix microseconds, or None for now. The first call may import the price data. Later
    calls take microseconds.
    """
    if usage.input is None or usage.output is None:
        return None
    choose = _table(model, provider, base_url)
    rates = choose(at_us) if choose is not None else None
    total = None if rates is None else rates.total(usage, usage.input, usage.output)
    if total is None:
        return None
    return Price(total, _is_of_base_model(model, provider, base_url))


def context_window(endpoint: Endpoint) -> int | None:
    """Return the window of the model in tokens, or None if it is unknown. Call this in a thread."""
    found = _find(endpoint.model, endpoint.provider, endpoint.base_url)
    return None if found is None else found.model.context_window


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """The current entry of a model in the price list, in US dollars for a million tokens.

    If `stepped` is True, these prices apply only to short inputs, and the price of a token is
    higher for long inputs. `cached` and `cache_write` are prices of input tokens that are read from
    or written to a cache. `request` is US dollars for each call. `provider` and `entry` are the
    names of the provider and of the model in the list.
    """

    provider: str
    entry: str
    input: float | None
    output: float | None
    cached: float | None
    cache_write: float | None
    reasoning: float | None
    request: float
    stepped: bool
    context_window: int | None
    pages: tuple[str, ...]
    comment: str | None


def listed_price(
    model: str, provider: str | None, *, base_url: str | None = None
) -> ListedPrice | None:
    """Return the prices that `price` uses, or None if the list does not have the model.

    If the list lacks a snapshot of a model, the result has the prices of its base model. Call this
    in a thread. A model without prices may still have an entry with its window.
    """
    found = _find(model, provider, base_url)
    if found is None:
        return None
    owner, entry, _ = found
    choose = _table(model, provider, base_url)
    rates = (choose(None) if choose is not None else None) or _UNKNOWN
    parts = (rates.input, rates.output, rates.cached, rates.cache_write, rates.reasoning)
    return ListedPrice(
        provider=owner.id,
        entry=entry.id,
        input=_million(rates.input),
        output=_million(rates.output),
        cached=_million(rates.cached),
        cache_write=_million(rates.cache_write),
        reasoning=_million(rates.reasoning),
        request=rates.request,
        stepped=any(rate.steps for rate in parts if rate is not None),
        context_window=entry.context_window,
        pages=tuple(owner.pricing_urls or ()),
        comment=entry.price_comments,
    )


def _million(rate: "_Rate | None") -> float | None:
    return None if rate is None else round(rate.base * 1e6, 6)


def list_version() -> str:
    """Return the name and the version of the price list."""
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"


@dataclass(frozen=True, slots=True)
class _Rate:
    """The price of a token in US dollars.

    `steps` are pairs of a number of input tokens and the price that applies above this number.
    """

    base: float
    steps: tuple[tuple[int, float], ...] = ()

    def rate_for(self, whole_input: int) -> float:
        rate = self.base
        for start, higher in self.steps:
            if whole_input > start:
                rate = higher
        return rate


@dataclass(frozen=True, slots=True)
class _Rates:
    """The prices of one model. None means that the list has no price for this kind of tokens."""

    input: _Rate | None
    output: _Rate | None
    cached: _Rate | None
    cache_write: _Rate | None
    reasoning: _Rate | None
    request: float

    def total(self, usage: Usage, input_tokens: int, output_tokens: int) -> float | None:
        """Return the cost of a call in US dollars, or None if a price is missing.

        If the list has no price for tokens that are read from or written to a cache, they have the
        price of input. If it has no price for reasoning tokens, they have the price of output.
        """
        if (input_tokens and self.input is None) or (output_tokens and self.output is None):
            return None
        cached = min(usage.cached or 0, input_tokens)
        written = min(usage.cache_write or 0, input_tokens - cached)
        thought = min(usage.reasoning or 0, output_tokens)
        counted = (
            (input_tokens - cached - written, self.input),
            (cached, self.cached or self.input),
            (written, self.cache_write or self.input),
            (output_tokens - thought, self.output),
            (thought, self.reasoning or self.output),
        )
        total = sum(
            tokens * rate.rate_for(input_tokens) for tokens, rate in counted if rate is not None
        )
        return round(self.request + total, 12)


_UNKNOWN = _Rates(None, None, None, None, None, 0.0)
_FREE = _Rates(_Rate(0.0), _Rate(0.0), None, None, None, 0.0)

_Table = Callable[[int | None], _Rates | None]
"""A function that returns the prices of a model at a time in Unix microseconds, or now for None."""


@lru_cache(maxsize=_KNOWN_MODELS)
def _table(model: str, provider: str | None, base_url: str | None) -> _Table | None:
    entry = _find(model, provider, base_url)
    if entry is None:
        return None
    found = entry.model
    if not isinstance(found.prices, list):
        constant = _rates(found.prices, found)
        return lambda _at_us: constant
    rates = [(each.constraint, _rates(each.prices, found)) for each in found.prices]

    def choose(at_us: int | None) -> _Rates | None:
        at = datetime.now(UTC) if at_us is None else datetime.fromtimestamp(at_us / 1e6, UTC)
        held = (each for limit, each in reversed(rates) if limit is None or limit.active(at))
        return next(held, rates[0][1])

    return choose


class _Entry(NamedTuple):
    """An entry of the price list. `of_base_model` is as in `Price`."""

    provider: "Provider"
    model: "ModelInfo"
    of_base_model: bool


@lru_cache(maxsize=_KNOWN_MODELS)
def _is_of_base_model(model: str, provider: str | None, base_url: str | None) -> bool:
    found = _find(model, provider, base_url)
    return found is not None and found.of_base_model


def _find(model: str, provider: str | None, base_url: str | None) -> _Entry | None:
    """Return the entry of a model in the price list, or else the entry of its base model, or None.

    Routers and tracing libraries use different names for one model, so several names are tried.
    """
    if base_url is not None and is_loopback(base_url):
        return None
    base = base_model(model)
    for of_base_model, name in ((False, model), (True, base)):
        if name is None:
            continue
        candidates = [*_candidates(name, None if base_url is not None else provider)]
        if provider is None and base_url is None:
            candidates += [(maker, name) for maker in _MAKERS]
        for owner, candidate in candidates:
            found = _look(candidate, owner, base_url)
            if found is not None:
                return _Entry(*found, of_base_model)
    return None


def base_model(model: str) -> str | None:
    """Return the name without its date or revision, or None if it has neither.

    All other suffixes, such as `-mini` or `-audio`, identify other models with other prices.
    """
    match = _SNAPSHOT.search(model)
    if match is None:
        return None
    digits = (match[1] or match[2] or "").replace("-", "")
    return model[: match.start()] if not digits or _is_date(digits) else None


def _is_date(digits: str) -> bool:
    """Return whether eight, six or four digits are a date, such as 20240718, 082024 or 0613."""
    dates = {
        8: ((digits, "%Y%m%d"),),
        6: ((digits, "%m%Y"),),
        4: ((f"2024{digits}", "%Y%m%d"), (f"20{digits}", "%Y%m")),  # month and day; year and month
    }
    return any(_fits(text, form) for text, form in dates[len(digits)])


def _fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError:
        return False
    return True


def _candidates(model: str, provider: str | None) -> Sequence[tuple[str | None, str]]:
    """Return pairs of provider and name under which to look up a model, the most specific first."""
    own = _PROVIDERS.get(provider, provider) if provider else None
    candidates = [(own, model)]
    prefix, _, rest = model.partition("/")
    if rest:
        named = _PREFIXES.get(prefix, prefix)
        if own is None or named == own:
            candidates.append((named, rest))
    if own is None and ".anthropic." in f".{model}":  # an id of Bedrock
        candidates.insert(0, ("aws", model))
    return candidates


def _look(
    model: str, provider: str | None, base_url: str | None
) -> tuple["Provider", "ModelInfo"] | None:
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(model, None, provider, base_url)
    except LookupError:
        return None


def _rates(prices: "ModelPrice", model: "ModelInfo") -> _Rates | None:
    """Convert the prices of a model.

    Returns None if neither input nor output has a price. If the data has no price at all, the model
    is free. It is not free if the data has a comment without the word "free".
    """
    known = {name: value for name, value in vars(prices).items() if value is not None}
    if not known:
        comment = (model.price_comments or "").lower()
        return _FREE if not comment or "free" in comment else None
    if "input_mtok" not in known and "output_mtok" not in known:
        return None
    return _Rates(
        input=_rate(known.get("input_mtok")),
        output=_rate(known.get("output_mtok")),
        cached=_rate(known.get("cache_read_mtok")),
        cache_write=_rate(known.get("cache_write_mtok")),
        reasoning=_rate(known.get("output_reasoning_mtok")),
        request=float(known.get("requests_kcount", 0)) / 1_000,
    )


def _rate(value: Any) -> _Rate | None:
    """Convert a price for a million tokens to a price for one token, in US dollars."""
    if value is None:
        return None
    steps = getattr(value, "tiers", ())
    base = value.base if steps else value
    return _Rate(float(base) / 1e6, tuple((step.start, float(step.price) / 1e6) for step in steps))
