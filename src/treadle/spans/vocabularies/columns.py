"""The columns that vocabularies derive from span attributes, and the type of a vocabulary."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from treadle.spans.raw_span import RawSpan
from treadle.spans.span import JsonValue, Scalar, SpanKind, flat_metadata
from treadle.spans.vocabularies.values import as_count


@dataclass(slots=True)
class SpanColumns:
    """The columns of one span. Each vocabulary sets the columns that are still None."""

    raw: RawSpan
    kind: SpanKind | None = None
    operation: str | None = None
    name: str | None = None
    tool: str | None = None
    model: str | None = None
    provider: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    total_tokens: int | None = None
    cache_outside_input: bool | None = None
    """Whether the source's input count excludes cached tokens.

    The value is None if this is unknown.
    """
    cost: float | None = None
    priceable: bool = True
    """Whether the call can be priced. It is False if the price depends on an unreadable count."""
    time_to_first_token_us: int | None = None
    labels: list[str] = field(default_factory=list)
    thread_id: str | None = None
    run_id: str | None = None
    user: str | None = None
    release: str | None = None
    metadata: dict[str, Scalar] = field(default_factory=dict)
    input: str | None = None
    output: str | None = None
    failed: bool = False
    error: str | None = None
    start_ns: int | None = None
    """The start in nanoseconds, if attributes state a different start than the span itself."""

    def set_kind(self, kind: SpanKind | None, operation: str | None = None) -> None:
        """Set the kind and the operation, unless an earlier vocabulary set the kind."""
        if self.kind is None and kind is not None:
            self.kind, self.operation = kind, operation or _OPERATIONS[kind]

    def set_tokens(
        self,
        *,
        input: JsonValue = None,  # noqa: A002
        output: JsonValue = None,
        cached: JsonValue = None,
        cache_write: JsonValue = None,
        reasoning: JsonValue = None,
        total: JsonValue = None,
    ) -> None:
        """Set all counts from one vocabulary. Counts from two vocabularies are never combined."""
        if self.input_tokens is None and self.output_tokens is None:
            self.input_tokens, self.output_tokens = as_count(input), as_count(output)
            self.cached, self.cache_write = as_count(cached), as_count(cache_write)
            self.reasoning, self.total_tokens = as_count(reasoning), as_count(total)

    def add_metadata(self, values: Mapping[str, JsonValue]) -> None:
        """Add the values whose keys are not in the metadata yet. `flat_metadata` has the limits."""
        missing = {key: value for key, value in values.items() if key not in self.metadata}
        self.metadata = flat_metadata({**self.metadata, **missing})

    def set_first_token(self, at_us: int | None) -> None:
        """Set the time to the first token.

        `at_us` is the moment of the token in Unix microseconds.
        """
        if self.time_to_first_token_us is None and at_us is not None:
            after = at_us - self.raw.start_ns // 1_000
            self.time_to_first_token_us = after if after >= 0 else None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The attribute names of one family of programs.

    A vocabulary reads a span if the name of an attribute is in `names`, or if the part of the name
    before the first dot is in `prefixes`.
    """

    read: Callable[[SpanColumns], None]
    """Sets the columns of a span from its attributes. Never raises."""
    prefixes: frozenset[str]
    names: frozenset[str] = frozenset()


_OPERATIONS = {
    SpanKind.RUN: "invoke_agent",
    SpanKind.MODEL: "chat",
    SpanKind.TOOL: "execute_tool",
    SpanKind.RETRIEVAL: "retrieval",
    SpanKind.EMBEDDING: "embeddings",
    SpanKind.AGENT: "invoke_agent",
    SpanKind.APPROVAL: "approval",
    SpanKind.OTHER: "span",
}
"""Maps a kind to its operation, which is used if no attribute states a more specific one."""
