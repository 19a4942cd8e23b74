"""Which trace, thread and run a call belongs to, and its labels, as its headers say."""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass

from treadle.spans.span import given_labels

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")
"""W3C Trace Context, section 3.2; later versions may have more behind the flags."""

_ID_LIMIT = 256
"""Characters of a thread's or run's id; what is longer is no id."""
_LABEL_LIMIT = 128
_LABELS = 32


@dataclass(frozen=True, slots=True)
class TraceContext:
    """Where a call stands. `parent_id` is the client's own span, if it told of one."""

    trace_id: str
    parent_id: str | None
    thread_id: str | None
    run_id: str | None
    labels: tuple[str, ...]


def read_context(headers: Mapping[str, str]) -> TraceContext:
    """What the headers, by names in lower case, say; what makes no sense is passed over."""
    parent = _parent(headers.get("traceparent", ""))
    trace_id, parent_id = parent or (_new_id(128), None)
    labels = (label.strip()[:_LABEL_LIMIT] for label in headers.get("x-label", "").split(","))
    return TraceContext(
        trace_id=trace_id,
        parent_id=parent_id,
        thread_id=_id(headers.get("x-thread-id")),
        run_id=_id(headers.get("x-run-id")),
        labels=given_labels(labels)[:_LABELS],
    )


def new_span_id() -> str:
    """An id of a span as OpenTelemetry wants it: 8 bytes."""
    return _new_id(64)


def traceparent(trace_id: str, span_id: str) -> str:
    """The header that makes whoever gets it a child of that span."""
    return f"00-{trace_id}-{span_id}-01"


def _new_id(bits: int) -> str:
    """Random bits in hex, not all of them 0.

    They have to differ, not to be secret; the system's random numbers cost a turn of all threads.
    """
    return f"{random.getrandbits(bits) or 1:0{bits // 4}x}"


def _parent(text: str) -> tuple[str, str] | None:
    match = _TRACEPARENT.fullmatch(text.strip())
    if match is None:
        return None
    version, trace_id, span_id, more = match.groups()
    if version == "ff" or (version == "00" and more):
        return None
    if not (trace_id.strip("0") and span_id.strip("0")):
        return None
    return trace_id, span_id


def _id(text: str | None) -> str | None:
    text = (text or "").strip()
    return text if text and len(text) <= _ID_LIMIT else None
