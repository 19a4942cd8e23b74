"""A span as OpenTelemetry reports it, before its attributes are interpreted."""

from dataclasses import dataclass, field
from enum import IntEnum

from treadle.spans.span import Attributes, JsonValue, SpanEvent, SpanLink


class RawStatus(IntEnum):
    """The status code of OpenTelemetry. Most exporters leave it unset on success."""

    UNSET = 0
    OK = 1
    ERROR = 2


@dataclass(slots=True, kw_only=True)
class RawSpan:
    """The reported fields of one operation. Ids are opaque strings.

    Times are nanoseconds since the Unix epoch, from 0 to below 2^63. `end_ns` is None while the
    operation runs. Attributes are JSON values of any depth. Bytes become `{"base64": "…"}`.
    `resource` describes the program, and its keys `otel.scope.…` describe the instrumentation.
    Spans of one export may share one `resource`. Only the decoder sets the fields.
    """

    trace_id: str = ""
    span_id: str = ""
    parent_id: str | None = None
    name: str = ""
    start_ns: int = 0
    end_ns: int | None = None
    status: RawStatus = RawStatus.UNSET
    status_message: str = ""
    attributes: dict[str, JsonValue] = field(default_factory=dict)
    resource: Attributes = field(default_factory=dict)
    events: list[SpanEvent] = field(default_factory=list)
    links: list[SpanLink] = field(default_factory=list)

    @property
    def scope(self) -> str:
        """The name of the instrumentation, or an empty text."""
        name = self.resource.get("otel.scope.name")
        return name if isinstance(name, str) else ""
