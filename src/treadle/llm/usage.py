"""The tokens of a reply, read from the usage object of any OpenAI-compatible server."""

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum, auto
from functools import lru_cache
from typing import Any

from treadle.events.types import Usage


class Meaning(Enum):
    """The kind of tokens that a field of a usage object counts."""

    CACHED = auto()
    CACHE_WRITE = auto()
    CACHE_WRITE_PART = auto()
    """Tokens that were written to a cache for a certain lifetime.

    A usage may have one such field for each lifetime. Their sum is the number of written tokens.
    """
    REASONING = auto()
    UNKNOWN_CACHE = auto()
    """Tokens of a cache. The name of the field does not say whether they were read or written."""
    AUDIO = auto()
    """Audio tokens.

    They are kept apart because their prices differ and Treadle does not know them.
    """


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
"""Words that are ignored unless they are the last word of a name."""


@lru_cache(maxsize=4_096)
def meaning_of(name: str) -> Meaning | None:
    """Return the kind of tokens that the field `name` counts, or None for an unknown name."""
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
    """Return the counts in `values` and its nested objects.

    If fields of one kind differ, the largest count is used. Fields of the kind CACHE_WRITE_PART are
    added up first.
    """
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
    """Return `usage` with its unknown counts replaced by counts from fields of `values`."""
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
    input_tokens: int | None, answered: int | None, thoughts: int | None, total: int | None
) -> int | None:
    """Return the output tokens, including thoughts.

    Most servers include the thoughts in `answered`. Gemini and xAI count them separately. The
    thoughts were counted separately if `total` is the sum of input, answer and thoughts, or if
    `thoughts` is larger than `answered`.
    """
    if answered is None or not thoughts:
        return answered
    separate = input_tokens is not None and total == input_tokens + answered + thoughts
    return answered + thoughts if separate or thoughts > answered else answered


MAX_TOKENS = 1_000_000_000
"""The maximum number of tokens of a call.

A larger number is not a count of tokens, so it is ignored.
"""
MAX_DOLLARS = 100_000
"""The maximum cost of a call in US dollars. A larger number is ignored."""


def read_usage(usage: Mapping[str, object]) -> Usage:
    """Return the counts of a `usage` object. Missing counts are unknown.

    The function reads the field names of OpenAI's Chat Completions and Responses APIs, and of
    Anthropic's API. Some OpenAI-compatible servers send the names of Anthropic. `Usage.input`
    includes cached tokens, and `Usage.output` includes thoughts. If the server counts one of them
    separately, it is added.
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
    # If a usage has the cache fields of OpenAI, the input includes the cached tokens.
    if given is not None and inside is None and written is None:
        given += _uncounted_cache(usage, given, answered, (read or 0) + (created or 0))
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
    """Return `value` as a cost in US dollars, or None if it is not a valid cost."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= MAX_DOLLARS else None  # the comparison is false for NaN


def _uncounted_cache(
    usage: Mapping[str, object], input_tokens: int, output_tokens: int | None, cache: int
) -> int:
    """Return the number of cached tokens that `input_tokens` does not include.

    `input_tokens` includes all cached tokens if the reported total is the sum of input and output.
    """
    total = _first(usage, "total_tokens")
    included = total == input_tokens + (output_tokens or 0) and cache <= input_tokens
    return 0 if included and "prompt_tokens" in usage else cache


def _details(usage: Mapping[str, object], *names: str) -> Mapping[str, object]:
    found = (usage.get(name) for name in names)
    return next((each for each in found if isinstance(each, Mapping)), {})


def _first(source: Mapping[str, object], *names: str) -> int | None:
    """Return the first value under these names that is a valid count, or None."""
    for name in names:
        value = source.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if type(value) is int and 0 <= value <= MAX_TOKENS:
            return value
    return None
