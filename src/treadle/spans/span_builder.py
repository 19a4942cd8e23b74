"""Builds the spans of one request, with their common ids and labels."""

from hashlib import blake2b
from uuid import UUID

from treadle.spans.span import Attributes, JsonValue, Span, SpanKind


class SpanBuilder:
    """Builds the spans of one request. The parent of a span is the operation that contains it."""

    def __init__(
        self,
        request_id: UUID,
        *,
        within: Span | None = None,
        labels: tuple[str, ...] = (),
        resource: Attributes,
    ) -> None:
        """Create a builder. `within` is the span of another request that contains this request.

        Every span has `resource`, `labels` and the labels of `within`.
        """
        self.within = within
        self._resource = dict(resource)
        self._identity = str(request_id)
        self._trace_id = within.trace_id if within else request_id.hex
        self._run_id = within.run_id if within else str(request_id)
        self.thread_id = within.thread_id if within else None
        self.labels: tuple[str, ...] = tuple(sorted({*labels, *(within.labels if within else ())}))
        self.root_id: str | None = None
        self.operations: dict[UUID, str] = {}
        """The span id of each operation that can contain other operations."""

    def span(
        self,
        *identity: object,
        parent_id: str | None,
        kind: SpanKind,
        operation: str,
        subject: str,
        start_us: int,
        attributes: Attributes,
    ) -> Span:
        """Return a started span.

        Equal `identity` values give equal ids, so a replay of the events gives the same ids.
        """
        return Span(
            trace_id=self._trace_id,
            span_id=_span_id(self._identity, *identity),
            parent_id=parent_id,
            kind=kind,
            operation=operation,
            name=f"{operation} {subject}",
            start_us=start_us,
            thread_id=self.thread_id,
            run_id=self._run_id,
            labels=self.labels,
            attributes=attributes,
            resource=self._resource,
        )

    def parent(self, parent_id: UUID | None) -> str | None:
        """Return the span id of the operation `parent_id`.

        If `parent_id` is None or unknown, return the span id of the root.
        """
        return (self.operations.get(parent_id) if parent_id else None) or self.root_id


def call_identity(turn: int, slot: int) -> tuple[object, ...]:
    """Return the identity of a tool call among the spans of its request."""
    return "tool", turn, slot


def call_span_id(request_id: UUID, turn: int, slot: int) -> str:
    """Return the span id of a tool call."""
    return _span_id(request_id, *call_identity(turn, slot))


def _span_id(*identity: object) -> str:
    named = "/".join(map(str, identity))
    return blake2b(named.encode(), digest_size=8).hexdigest()


def microseconds(seconds: float) -> int:
    """Convert seconds to whole microseconds."""
    return round(seconds * 1_000_000)


def known(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return `values` without the entries that are None."""
    return {name: value for name, value in values.items() if value is not None}
