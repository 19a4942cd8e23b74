"""Derives the tokens and the cost of a call. Input tokens include cached tokens.

Providers count in two ways. OpenAI's input count includes the tokens that were read from or written
to its cache. The input counts of Anthropic and Bedrock do not include these tokens. OpenTelemetry
requires that an instrumentation adds cached tokens to the input, but some instrumentations do not.
The scope of a span identifies its instrumentation. If the counts of a span show another way of
counting, the counts decide.
"""

from collections.abc import Mapping

from treadle.events.types import Usage
from treadle.llm.prices import Price, find_price
from treadle.llm.usage import Meaning, counts_of, with_thoughts
from treadle.spans.span import CostSource, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns
from treadle.spans.vocabularies.values import as_count, parse_mapping

_BESIDE_SCOPES = ("opentelemetry.instrumentation.bedrock",)
"""Instrumentations that forward a provider's counts, in which the input excludes cached tokens."""

_TABLE_TIERS = {"", "none", "auto", "default", "standard", "standard_only", "on_demand"}
"""Service tiers whose prices are in the table."""


_RATIOS = "pydantic_ai.cache."
"""The prefix of attributes that describe the cache of a conversation, not the tokens of a call."""


def read_usage(columns: SpanColumns) -> tuple[Usage, bool | None]:
    """Return the tokens, and whether the source's input count includes cached tokens.

    The second value is None if there are no cached tokens. Unknown counts are None.
    """
    if columns.kind is SpanKind.MODEL and (columns.input_tokens, columns.output_tokens) == (0, 0):
        # Every call has tokens. Some clients report zeros for a stream without usage.
        columns.input_tokens = columns.output_tokens = columns.total_tokens = None
        columns.cached = columns.cache_write = columns.reasoning = None
    _add_unnamed_counts(columns)
    reported = columns.input_tokens
    cache = (columns.cached or 0) + (columns.cache_write or 0)
    inside = None if not cache or reported is None else _counts_inside(columns, reported, cache)
    whole = reported + cache if reported is not None and inside is False else reported
    usage = Usage(
        input=whole,
        output=with_thoughts(whole, columns.output_tokens, columns.reasoning, columns.total_tokens),
        cached=columns.cached,
        reasoning=columns.reasoning,
        cache_write=columns.cache_write,
    )
    return usage, inside


def _add_unnamed_counts(columns: SpanColumns) -> None:
    """Set counts from attributes that no vocabulary names.

    If a count has no column, the call gets no price, since the price could be wrong.
    """
    if columns.kind not in (SpanKind.MODEL, SpanKind.EMBEDDING) or columns.input_tokens is None:
        return
    candidates = {
        name: parse_mapping(value) if isinstance(value, str) and value[:1] == "{" else value
        for name, value in columns.raw.attributes.items()
        if ("sage" in name or "oken" in name) and not name.startswith(_RATIOS)
    }
    found = counts_of(candidates)
    if columns.cached is None:
        columns.cached = as_count(found.get(Meaning.CACHED))
        if not columns.cached and found.get(Meaning.UNKNOWN_CACHE):
            columns.priceable = False
    if columns.cache_write is None:
        columns.cache_write = as_count(found.get(Meaning.CACHE_WRITE))
    if columns.reasoning is None:
        columns.reasoning = as_count(found.get(Meaning.REASONING))
    if found.get(Meaning.AUDIO):
        columns.priceable = False


def _has_other_prices(attributes: Mapping[str, object]) -> bool:
    """Return whether the call used a service tier whose prices are not in the table."""
    tiers = {
        name: tier
        for name, value in attributes.items()
        if name.endswith(("tier", "Tier"))
        and name.replace("_", "").lower().endswith("servicetier")
        # Some clients send the tier as JSON, or a placeholder such as `<openai.Omit object>`.
        and not (tier := str(value).strip('"').lower()).startswith("<")
    }
    answered = {tier for name, tier in tiers.items() if "request" not in name.lower()}
    return bool((answered or set(tiers.values())) - _TABLE_TIERS)


def _counts_inside(columns: SpanColumns, reported: int, cache: int) -> bool:
    if cache > reported:
        return False
    if columns.total_tokens is not None and columns.output_tokens is not None:
        output = columns.output_tokens
        sums = {reported + output: True, reported + cache + output: False}
        if columns.total_tokens in sums:
            return sums[columns.total_tokens]
    return not (columns.cache_outside_input or columns.raw.scope.startswith(_BESIDE_SCOPES))


def price_call(columns: SpanColumns, usage: Usage) -> tuple[float | None, CostSource | None]:
    """Return the reported cost, or the cost from the price table, in US dollars, with its source.

    Both are None if the cost is unknown.
    """
    if columns.cost:
        return columns.cost, CostSource.REPORTED
    cost, source = _table_price(columns, usage)
    # Some clients report 0 if they do not know the price of the model.
    if cost is None and columns.cost is not None:
        return columns.cost, CostSource.REPORTED
    return cost, source


def _table_price(columns: SpanColumns, usage: Usage) -> tuple[float | None, CostSource | None]:
    if columns.model is None or columns.kind not in (SpanKind.MODEL, SpanKind.EMBEDDING):
        return None, None
    if not columns.priceable or _has_other_prices(columns.raw.attributes):
        return None, None
    billed = billed_usage(columns.kind, usage)
    at_us = columns.raw.start_ns // 1_000
    return cost_and_source(find_price(columns.model, columns.provider, billed, at_us=at_us))


def billed_usage(kind: SpanKind | None, usage: Usage) -> Usage:
    """Return the usage that determines the cost. An embedding has no output tokens."""
    if kind is SpanKind.EMBEDDING and usage.output is None and usage.input is not None:
        return Usage(input=usage.input, output=0)
    return usage


def cost_and_source(price: Price | None) -> tuple[float | None, CostSource | None]:
    """Return the cost and its source. Both are None if the price is unknown."""
    if price is None:
        return None, None
    return price.dollars, CostSource.BASE_MODEL if price.of_base_model else CostSource.PRICES
