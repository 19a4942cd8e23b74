"""The tokens of a reply, out of the `usage` object of any OpenAI-like server."""

from collections.abc import Mapping
from dataclasses import replace

from treadle.events.types import Usage
from treadle.llm.token_names import completed, with_thoughts

MOST_TOKENS = 1_000_000_000
"""More tokens than any call can have: what counts more is no count."""
MOST_DOLLARS = 100_000
"""More than any call can cost."""


def read_usage(usage: Mapping[str, object]) -> Usage:
    """What a `usage` object counts; what it does not say is unknown.

    Understood are the names of chat completions, of responses (`input_tokens`) and of Anthropic's,
    which some OpenAI-compatible servers hand on. Cached tokens are parts of `Usage.input`, so they
    are added where the server counts them beside it; so are thoughts to `Usage.output`.
    """
    given = _first(usage, "prompt_tokens", "input_tokens")
    answered = _first(usage, "completion_tokens", "output_tokens")
    within = _details(usage, "prompt_tokens_details", "input_tokens_details")
    thought = _details(usage, "completion_tokens_details", "output_tokens_details")
    inside = _first(within, "cached_tokens")
    if inside is None:
        inside = _first(usage, "prompt_cache_hit_tokens")
    read = _first(usage, "cache_read_input_tokens")
    created = _first(usage, "cache_creation_input_tokens")
    written = _first(within, "cache_write_tokens", "cache_creation_tokens")
    # A server that has both forms means the same by both, and counts as OpenAI does.
    if given is not None and inside is None and written is None:
        given += _beside(usage, given, answered, (read or 0) + (created or 0))
    known = Usage(
        input=given,
        output=answered,
        cached=read if inside is None else inside,
        reasoning=_first(thought, "reasoning_tokens"),
        cache_write=created if written is None else written,
    )
    found = completed(known, usage)
    total = _first(usage, "total_tokens")
    return replace(found, output=with_thoughts(given, answered, found.reasoning, total))


def read_cost(value: object) -> float | None:
    """A cost in US dollars; None for what cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= MOST_DOLLARS else None  # which NaN is not


def _beside(usage: Mapping[str, object], given: int, answered: int | None, cache: int) -> int:
    """How many of the cached tokens are not in `given`: all, unless the sums say otherwise."""
    total = _first(usage, "total_tokens")
    within = total is not None and total == given + (answered or 0) and cache <= given
    return 0 if within and "prompt_tokens" in usage else cache


def _details(usage: Mapping[str, object], *names: str) -> Mapping[str, object]:
    found = (usage.get(name) for name in names)
    return next((each for each in found if isinstance(each, Mapping)), {})


def _first(source: Mapping[str, object], *names: str) -> int | None:
    """The first of these that is a count."""
    for name in names:
        value = source.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is int and 0 <= value <= MOST_TOKENS:
            return value
    return None
