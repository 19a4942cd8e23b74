"""The tokens of a call, always with cached ones inside the input, and what the call cost.

Providers count in two ways: OpenAI's input holds the tokens that were read from or written to its
cache, Anthropic's and Bedrock's does not. Most instrumentations add up, as OpenTelemetry asks; the
others are known by what made the span. If the numbers themselves show it, the numbers count.
"""

from collections.abc import Mapping

from treadle.events.types import Usage
from treadle.llm.prices import price
from treadle.llm.usage import Meaning, counts_of, with_thoughts
from treadle.spans.span import CostSource, SpanKind
from treadle.spans.vocabularies.columns import Reading, count, parsed

_BESIDE_SCOPES = ("opentelemetry.instrumentation.bedrock",)
"""Instrumentations that forward what the provider counts outside of its input."""

_USUAL_TIERS = {"", "none", "auto", "default", "standard", "standard_only", "on_demand"}


def usage_of(reading: Reading) -> tuple[Usage, bool | None]:
    """The tokens, and whether the source counted cached ones inside its input (None: it has none).

    What is not known stays unknown.
    """
    _complete(reading)
    told = reading.input_tokens
    cache = (reading.cached or 0) + (reading.cache_write or 0)
    inside = None if not cache or told is None else _counts_inside(reading, told, cache)
    given = told + cache if told is not None and inside is False else told
    usage = Usage(
        input=given,
        output=with_thoughts(given, reading.output_tokens, reading.reasoning, reading.total_tokens),
        cached=reading.cached,
        reasoning=reading.reasoning,
        cache_write=reading.cache_write,
    )
    return usage, inside


def _complete(reading: Reading) -> None:
    """Take counts under names that no vocabulary has.

    Without a place for one of them the price of the call is unknown, rather than wrong.
    """
    if reading.kind not in (SpanKind.MODEL, SpanKind.EMBEDDING) or reading.input_tokens is None:
        return
    said = {
        name: value if type(value) is int else _within(value)
        for name, value in reading.raw.attributes.items()
        if "sage" in name or "oken" in name
    }
    found = counts_of(said)
    if reading.cached is None:
        reading.cached = count(found.get(Meaning.CACHED))
        if not reading.cached and found.get(Meaning.UNKNOWN_CACHE):
            reading.priceable = False
    if reading.cache_write is None:
        reading.cache_write = count(found.get(Meaning.CACHE_WRITE))
    if reading.reasoning is None:
        reading.reasoning = count(found.get(Meaning.REASONING))
    if found.get(Meaning.AUDIO):
        reading.priceable = False


def _has_other_prices(attributes: Mapping[str, object]) -> bool:
    """Whether the call ran in a service tier whose prices are not those of the table."""
    said = {
        name: str(value).lower()
        for name, value in attributes.items()
        if name.replace("_", "").lower().endswith("servicetier")
    }
    answered = {tier for name, tier in said.items() if "request" not in name.lower()}
    return bool((answered or set(said.values())) - _USUAL_TIERS)


def _within(value: object) -> object:
    """An object that was sent as JSON text."""
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    made = parsed(value)
    return made if isinstance(made, Mapping) else None


def _counts_inside(reading: Reading, told: int, cache: int) -> bool:
    if cache > told:
        return False
    if reading.total_tokens is not None and reading.output_tokens is not None:
        sums = {told + reading.output_tokens: True, told + cache + reading.output_tokens: False}
        if reading.total_tokens in sums:
            return sums[reading.total_tokens]
    return not (reading.beside or reading.raw.scope.startswith(_BESIDE_SCOPES))


def cost_of(reading: Reading, usage: Usage) -> tuple[float | None, CostSource | None]:
    """US dollars, as they were reported, else by the table of prices; None when nobody knows."""
    if reading.cost is not None:
        return reading.cost, CostSource.REPORTED
    if reading.model is None or reading.kind not in (SpanKind.MODEL, SpanKind.EMBEDDING):
        return None, None
    if reading.kind is SpanKind.EMBEDDING and usage.output is None and usage.input is not None:
        usage = Usage(input=usage.input, output=0)  # an embedding has no tokens
    if not reading.priceable or _has_other_prices(reading.raw.attributes):
        return None, None
    reckoned = price(reading.model, reading.provider, usage, at_us=reading.raw.start_ns // 1_000)
    return reckoned, None if reckoned is None else CostSource.PRICES
