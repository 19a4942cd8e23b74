"""Decides which spans of an exporter and of the gateway are records of the same call.

A client may export its spans, and also call a provider through the gateway without the header
`traceparent`. Then two spans in different traces record one call. Such spans are matched by the id
of the response, the model, the time, and the content:

- The models are equal, apart from a prefix and the date of a snapshot.
- If both spans have the id of the response, the ids are equal and the times of the spans overlap.
  Some providers always send the same id, so the answers must be equal if both spans have them.
- Otherwise, the questions and the answers are equal, and the client's span contains the gateway's
  span in time.
- Each of the two spans is the closest match of the other one.

Texts are compared by checksums of their beginnings and ends.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

from treadle.llm.prices import base_model
from treadle.spans.span import Span, SpanKind, SpanStatus

GATEWAY_SCOPE = "treadle.gateway"
"""The value of `otel.scope.name` in the resource of the gateway's spans."""

_RESPONSE_IDS = ("gen_ai.response.id", "ai.response.id", "llm.response.id", "response_id")
_RAW_ANSWERS = ("output.value", "mlflow.spanOutputs")
"""Attributes that may contain the whole answer of the provider as JSON."""

_FIRST_ID = re.compile(r'\s*\{\s*"id"\s*:\s*"([^"\\]{1,200})"')

_COMPARED = 1_000
"""The number of characters at each end of a long text that are compared."""

SKEW_US = 5_000_000
"""The maximum difference between the clocks of the client and the gateway, in microseconds."""
STRICT_SKEW_US = 1_000_000
"""The maximum difference for spans that are matched without the id of the response."""
LEAD_US = 600_000_000
"""The maximum time between the starts of both spans.

The gateway's span may start late, since the client's span includes failed attempts before it.
"""

_PERIOD_BITS, _HASH_BITS = 31, 42
_PERIODS = 1 << 20
_MASK = (1 << _HASH_BITS) - 1
_HALF = (1 << _HASH_BITS // 2) - 1
GATEWAY_BIT = 1 << _HASH_BITS
"""The bit of a key that is 1 for the spans of the gateway."""


class CallKeys(NamedTuple):
    """Keys by which a store finds the other record of a call. None means unknown.

    A key consists of the number of a period of 36 minutes, a bit that is 1 for the gateway's spans,
    and a checksum. The period keeps the keys of recent calls together in an index. `response` has
    the checksum of the response's id. `content` has the checksum of the question and then that of
    the answer. The checksum of an unknown question is 0.
    """

    response: int | None
    content: int | None


NO_KEYS = CallKeys(None, None)


def call_keys(span: Span, question: str, answer: str) -> CallKeys:
    """Return the keys of a finished model call or embedding.

    `question` is the new text in the input of the call, and `answer` is the text of its output.
    Both are valid Unicode.
    """
    if span.duration_us is None:
        return NO_KEYS
    gateway = span.resource.get("otel.scope.name") == GATEWAY_SCOPE
    base = ((span.start_us >> _PERIOD_BITS) % _PERIODS << 1 | gateway) << _HASH_BITS
    response_id = _response_id(span)
    answer_checksum = _checksum(_answer(span, answer))
    content = _checksum(question) << _HASH_BITS // 2 | answer_checksum
    return CallKeys(
        None if response_id is None else base | _id_checksum(response_id),
        None if not answer_checksum else base | content,
    )


def _id_checksum(response_id: str) -> int:
    digest = blake2b(response_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) & _MASK


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


def _answer(span: Span, text: str) -> str:
    """Return the compared form of the answer. It is empty if the answer is unknown."""
    if span.kind is SpanKind.EMBEDDING:
        return "an embedding"
    if span.output is None:
        return "an error" if span.status is SpanStatus.ERROR else ""
    return text


def _checksum(text: str) -> int:
    """Return a checksum of the beginning and the end of a valid text. It is 0 for no text."""
    text = text.strip()
    if len(text) > 2 * _COMPARED:
        text = text[:_COMPARED] + text[-_COMPARED:]
    return crc32(text.encode()) & _HALF or 1 if text else 0


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A model call or an embedding that may count. `identity` differs between all such calls."""

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
        return any(key is not None and is_of_gateway(key) for key in self.keys)

    def partner_keys(self) -> CallKeys:
        """Return the keys that the other record of the call may have in the same period."""
        response, content = self.keys
        known = content is not None and content >> _HASH_BITS // 2 & _HALF
        return CallKeys(
            None if response is None else response ^ GATEWAY_BIT,
            content ^ GATEWAY_BIT if content is not None and known else None,
        )

    def partner_starts(self) -> tuple[int, int]:
        """Return the first and the last moment at which the other record may start."""
        return partner_starts(self.start_us, self.end_us, gateway=self.gateway)


def is_of_gateway(key: int) -> bool:
    """Return whether a key is that of a span of the gateway."""
    return bool(key & GATEWAY_BIT)


def partner_starts(start_us: int, end_us: int, *, gateway: bool) -> tuple[int, int]:
    """Return the first and the last moment at which the other record of a call may start."""
    if gateway:
        return start_us - LEAD_US, start_us + SKEW_US
    return start_us - SKEW_US, min(end_us, start_us + LEAD_US) + SKEW_US


def keys_in_period(key: int, first_us: int, last_us: int) -> Iterator[int]:
    """Yield the key once for each period between two moments, with that period in the key."""
    shift = 1 + _HASH_BITS
    checksum = key & (1 << shift) - 1
    for period in _periods(first_us, last_us):
        yield period << shift | checksum


def key_ranges(first_us: int, last_us: int, *, gateway: bool) -> Iterator[tuple[int, int]]:
    """Yield the lowest and the highest possible key for each period between two moments.

    The keys are those of the gateway's spans if `gateway` is true, and otherwise of other spans.
    """
    for period in _periods(first_us, last_us):
        lowest = (period << 1 | gateway) << _HASH_BITS
        yield lowest, lowest | _MASK


def _periods(first_us: int, last_us: int) -> Iterator[int]:
    for period in range(first_us >> _PERIOD_BITS, (last_us >> _PERIOD_BITS) + 1):
        yield period % _PERIODS


class Distance(NamedTuple):
    """The distance between two records of a call. The record at the smallest distance matches."""

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
    figures are right. The figures of the gateway are right, since it read the answer of the
    provider. Therefore the gateway's span counts if the exporter's span lacks its tokens or its
    cost, or states other ones. Costs may differ by one percent.
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
    return one & _MASK, other & _MASK


def _model_name(model: str | None) -> str | None:
    """Return the name of a model without a prefix and the date of a snapshot."""
    if not model:
        return None
    name = model.rpartition("/")[2].lower()
    return base_model(name) or name
