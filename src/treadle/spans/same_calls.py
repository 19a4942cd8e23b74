"""Decides which spans of an exporter and of the gateway are records of the same call.

A client may export its spans, and also call a provider through the gateway without the header
`traceparent`. Then two spans in different traces record one call. Such spans are matched by the id
of the response, the model, the time, and the content:

- The models are equal, apart from a prefix and the date of a snapshot.
- If both spans have the id of the response, the ids are equal and the times of the spans overlap.
  Some providers always send the same id, so the answers must be equal if both spans have them.
- Otherwise, the questions and the answers are equal, and the client's span contains the gateway's.
- Each of the two spans is the closest match of the other one.

Texts are compared by checksums of their beginnings, so that a shortened text still matches.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

from treadle.llm.prices import base_model
from treadle.spans.span import Span, SpanKind, SpanStatus
from treadle.spans.vocabularies.values import parse_json

GATEWAY_SCOPE = "treadle.gateway"
"""The value of `otel.scope.name` in the resource of the gateway's spans."""

_RESPONSE_IDS = ("gen_ai.response.id", "ai.response.id", "llm.response.id", "response_id")
_RAW_ANSWERS = ("output.value", "mlflow.spanOutputs")
"""Attributes that may contain the whole answer of the provider as JSON."""

_FIRST_ID = re.compile(r'\s*\{\s*"id"\s*:\s*"([^"\\]{1,200})"')

_COMPARED = 2_000
"""The number of characters of a text that are compared."""
_PARSED = 200_000
"""The maximum number of characters of an answer that is parsed."""

SKEW_US = 5_000_000
"""The maximum difference between the clocks of the client and the gateway, in microseconds."""
STRICT_SKEW_US = 1_000_000
"""The same, for spans that are matched without the id of the response."""
LEAD_US = 600_000_000
"""The maximum time between the starts of both spans: the client may repeat a failed request."""

_BUCKET_BITS, _HASH_BITS = 31, 42
_BUCKETS = 1 << 20
_HALF = (1 << _HASH_BITS // 2) - 1


class CallKeys(NamedTuple):
    """Keys by which a store finds the other record of a call. None means unknown.

    A key consists of a period of 36 minutes, a checksum, and a bit that is 1 for the gateway's
    spans. The period keeps the keys of recent calls together in an index. `response` has the
    checksum of the response's id. `content` has the checksums of the question, which is 0 if it is
    unknown, and of the answer.
    """

    response: int | None
    content: int | None


NO_KEYS = CallKeys(None, None)


def call_keys(span: Span, question: str) -> CallKeys:
    """Return the keys of a finished model call or embedding. `question` is its newest input."""
    if span.duration_us is None:
        return NO_KEYS
    gateway = span.resource.get("otel.scope.name") == GATEWAY_SCOPE
    base = (span.start_us >> _BUCKET_BITS) % _BUCKETS << _HASH_BITS
    response_id = _response_id(span)
    answer = _checksum(_answer(span))
    content = _checksum(question) << _HASH_BITS // 2 | answer
    return CallKeys(
        None if response_id is None else (base | _long_checksum(response_id)) << 1 | gateway,
        None if not answer else (base | content) << 1 | gateway,
    )


def _response_id(span: Span) -> str | None:
    for name in _RESPONSE_IDS:
        value = span.attributes.get(name)
        if isinstance(value, str) and value:
            return value
    for name in _RAW_ANSWERS:
        raw = span.attributes.get(name)
        match = _FIRST_ID.match(raw) if isinstance(raw, str) else None
        if match is not None:
            return match[1]
    return None


def _answer(span: Span) -> str:
    """Return the text of the answer and its tool calls. It is empty if the answer is unknown."""
    if span.kind is SpanKind.EMBEDDING:
        return "an embedding"
    if span.output is None:
        return "an error" if span.status is SpanStatus.ERROR else ""
    messages = parse_json(span.output) if len(span.output) <= _PARSED else span.output
    if not isinstance(messages, list):
        return span.output
    return "".join(chain.from_iterable(map(_texts, messages)))


def _texts(message: Any) -> Iterator[str]:
    if not isinstance(message, dict):
        return
    content = message.get("content")
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            yield text
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield str(function.get("name"))
            yield json.dumps(parse_json(function.get("arguments")), sort_keys=True)


def _checksum(text: str) -> int:
    """Return a checksum of the beginning of a text without spaces. It is 0 for no text."""
    words = "".join(text[: 2 * _COMPARED].split())[:_COMPARED]
    return _long_checksum(words) & _HALF or 1 if words else 0


def _long_checksum(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) % (1 << _HASH_BITS)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A counted model call or embedding. `identity` distinguishes it from all other calls."""

    identity: tuple[str, str]
    kind: str
    model: str | None
    start_us: int
    end_us: int
    keys: CallKeys
    input_tokens: int | None
    output_tokens: int | None
    cost_nano: int | None

    @property
    def gateway(self) -> bool:
        """Whether the gateway recorded the call."""
        return any(key is not None and bool(key & 1) for key in self.keys)

    def partner_keys(self) -> CallKeys:
        """Return the keys that the other record of the call may have in the same period."""
        response, content = self.keys
        known = content is not None and content >> 1 + _HASH_BITS // 2 & _HALF
        return CallKeys(
            None if response is None else response ^ 1,
            content ^ 1 if content is not None and known else None,
        )

    def partner_starts(self) -> tuple[int, int]:
        """Return the first and the last moment at which the other record may start."""
        if self.gateway:
            return self.start_us - LEAD_US, self.start_us + SKEW_US
        last = min(self.end_us, self.start_us + LEAD_US)
        return self.start_us - SKEW_US, last + SKEW_US


def keys_in_period(key: int, first_us: int, last_us: int) -> Iterator[int]:
    """Yield the forms of a key in all periods between two moments."""
    shift = 1 + _HASH_BITS
    checksum = key & (1 << shift) - 1
    for bucket in range(first_us >> _BUCKET_BITS, (last_us >> _BUCKET_BITS) + 1):
        yield bucket % _BUCKETS << shift | checksum


class Distance(NamedTuple):
    """How similar two records of a call are. The smallest distance is the closest match."""

    without_id: bool
    starts_us: int
    exporter: tuple[str, str]
    gateway: tuple[str, str]


def distance(one: RecordedCall, other: RecordedCall) -> Distance | None:
    """Return the distance between two records of the same call, or None for different calls."""
    if one.gateway == other.gateway or one.kind != other.kind:
        return None
    exporter, gateway = (other, one) if one.gateway else (one, other)
    first, last = exporter.partner_starts()
    if not first <= gateway.start_us <= last:
        return None
    ids = _checksums(exporter.keys.response, gateway.keys.response)
    texts = _checksums(exporter.keys.content, gateway.keys.content)
    models = (_model_name(exporter.model), _model_name(gateway.model))
    if ids is not None:
        same_model = None in models or models[0] == models[1]
        same_answer = texts is None or texts[0] & _HALF == texts[1] & _HALF
        same = ids[0] == ids[1] and same_model and same_answer
        same = same and gateway.end_us >= exporter.start_us - SKEW_US
    else:
        asked = texts is not None and texts[0] >> _HASH_BITS // 2 != 0
        same = asked and texts is not None and texts[0] == texts[1]
        same = same and models[0] is not None and models[0] == models[1]
        same = same and gateway.start_us >= exporter.start_us - STRICT_SKEW_US
        same = same and gateway.end_us <= exporter.end_us + STRICT_SKEW_US
    if not same:
        return None
    starts_us = abs(gateway.start_us - exporter.start_us)
    return Distance(ids is None, starts_us, exporter.identity, gateway.identity)


def closest(call: RecordedCall, others: Sequence[RecordedCall]) -> RecordedCall | None:
    """Return the closest match of a call, or None if no other call matches."""
    found = [(far, other) for other in others if (far := distance(call, other)) is not None]
    return min(found, key=lambda each: each[0])[1] if found else None


def counts_instead(gateway: RecordedCall, exporter: RecordedCall) -> bool:
    """Return whether the gateway's span of a call counts, and not the exporter's span.

    The exporter's span has the run, the thread and the labels of its program, so it counts if its
    figures are right. The gateway read the answer of the provider. If both spans state different
    tokens or costs, the gateway's span counts.
    """
    if gateway.input_tokens is None and gateway.cost_nano is None:
        return False
    tokens = gateway.input_tokens, gateway.output_tokens or 0
    if tokens != (exporter.input_tokens, exporter.output_tokens or 0):
        return True
    if gateway.cost_nano is None or exporter.cost_nano is None:
        return gateway.cost_nano is not None
    return abs(gateway.cost_nano - exporter.cost_nano) * 100 > gateway.cost_nano


def _checksums(one: int | None, other: int | None) -> tuple[int, int] | None:
    """Return the checksums of two keys, or None if one of the keys is unknown."""
    if one is None or other is None:
        return None
    mask = (1 << _HASH_BITS) - 1
    return one >> 1 & mask, other >> 1 & mask


def _model_name(model: str | None) -> str | None:
    """Return the name of a model without a prefix and the date of a snapshot."""
    if not model:
        return None
    name = model.rpartition("/")[2].lower()
    return base_model(name) or name
