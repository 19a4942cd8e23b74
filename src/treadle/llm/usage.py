"""The tokens of a reply, read from the usage object of any OpenAI-compatible server."""

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache
from typing import Any

from treadle.events.types import Usage


class Meaning(Enum):
    """What a name counts, where that is a part of the input or output."""

    CACHED = auto()
    CACHE_WRITE = auto()
    CACHE_WRITE_PART = auto()
    """Written for a certain time; the parts add up to what was written."""
    REASONING = auto()
    UNKNOWN_CACHE = auto()
    """About a cache, but not whether it was read or written."""
    AUDIO = auto()
    """Audio has prices of its own, which no list here has."""


_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+[a-z]*")
_COUNTS = frozenset({"token", "tokens", "usage"})
_OTHER_UNITS = frozenset({
    "cost", "costs", "price", "rate", "ratio", "percent", "percentage", "fraction", "ms",
    "seconds", "ttl", "limit", "max", "budget", "miss", "misses", "uncached", "details",
})  # fmt: skip
_WRITES = frozenset({"write", "writes", "written", "creation", "create", "created", "creating",
                     "store", "stored"})  # fmt: skip
_READS = frozenset({"read", "reads", "hit", "hits", "cached", "input", "prompt", "content"})
_THOUGHTS = frozenset({"reasoning", "thinking", "thoughts", "thought"})
_LAST_ONLY = frozenset({"details"})
"""Words that say what a name is about only where they end it."""


@lru_cache(maxsize=4_096)
def meaning_of(name: str) -> Meaning | None:
    """What a count of that name counts; None for anything that is not such a part."""
    words = [word.lower() for word in _WORDS.findall(name)]
    said = set(words[:-1]) - _LAST_ONLY | set(words[-1:])
    if said.isdisjoint(_COUNTS) or not said.isdisjoint(_OTHER_UNITS):
        return None
    if "audio" in said:
        return Meaning.AUDIO
    if any(word.startswith("cach") for word in said):
        if "ephemeral" in said:
            return Meaning.CACHE_WRITE_PART
        if said & _WRITES:
            return Meaning.CACHE_WRITE
        return Meaning.CACHED if said & _READS else Meaning.UNKNOWN_CACHE
    return Meaning.REASONING if said & _THOUGHTS else None


def counts_of(values: Mapping[str, Any], prefix: str = "") -> dict[Meaning, int]:
    """What the numbers in `values` count, also in objects within them; the largest of each."""
    found: dict[Meaning, int] = {}
    parts = 0
    for name, value in values.items():
        full = f"{prefix}.{name}" if prefix else name
        if isinstance(value, Mapping) and prefix.count(".") < 8:
            for inner, count in counts_of(value, full).items():
                found[inner] = max(count, found.get(inner, 0))
        elif (meaning := _counted(full, value)) is Meaning.CACHE_WRITE_PART:
            parts += int(value)
        elif meaning is not None:
            found[meaning] = max(int(value), found.get(meaning, 0))
    if parts:
        found[Meaning.CACHE_WRITE] = max(parts, found.get(Meaning.CACHE_WRITE, 0))
    return found


def completed(usage: Usage, values: Mapping[str, Any]) -> Usage:
    """`usage` with what `values` count under names that nobody asked for."""
    if None not in (usage.cached, usage.cache_write, usage.reasoning):
        return usage
    found = counts_of(values, "usage")
    return Usage(
        input=usage.input,
        output=usage.output,
        cached=found.get(Meaning.CACHED) if usage.cached is None else usage.cached,
        reasoning=found.get(Meaning.REASONING) if usage.reasoning is None else usage.reasoning,
        cache_write=(
            found.get(Meaning.CACHE_WRITE) if usage.cache_write is None else usage.cache_write
        ),
    )


def _counted(name: str, value: Any) -> Meaning | None:
    if isinstance(value, str):
        whole = value.isdecimal() and len(value) < 12
    else:
        whole = type(value) is int or (isinstance(value, float) and value.is_integer())
    return meaning_of(name) if whole and int(value) >= 0 else None


def with_thoughts(
    given: int | None, answered: int | None, thoughts: int | None, total: int | None
) -> int | None:
    """The output tokens, of which thoughts are a part.

    Gemini and xAI count thoughts beside the answer: the total says so, or that they are more.
    """
    if answered is None or not thoughts:
        return answered
    beside = given is not None and total == given + answered + thoughts
    return answered + thoughts if beside or thoughts > answered else answered


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
