"""OTLP/protobuf: reads export requests record by record, and writes responses.

A broken span does not affect other spans. The field numbers are defined in
opentelemetry/proto/trace/v1/trace.proto and common/v1/common.proto, and never change. The official
parser is not used (decision 0035). It refuses the whole message for one text that is not UTF-8,
loses lone surrogates, and is not faster.
"""

import struct
from collections.abc import Iterator

from treadle.spans.otlp.span_collector import (
    DROPPED,
    TRACES,
    UNREADABLE,
    OtlpError,
    Signal,
    SpanCollector,
    SpanFaultError,
    build_event,
    bytes_value,
    check_depth,
    describe_duplicate,
    double_value,
    read_status,
    resource_attributes,
)
from treadle.spans.raw_span import RawSpan
from treadle.spans.span import Attributes, JsonValue, SpanEvent, SpanLink
from treadle.spans.span_batch import ExportReport, SpanBatch

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_U64 = struct.Struct("<Q")
_DOUBLE = struct.Struct("<d")
_SIGN_BIT = 1 << 63
_TAG_LIMIT = 1 << 32

_NESTED = {0x5A: "one of its events", 0x6A: "one of its links", 0x7A: "its status"}
_DROPPED = dict(zip((0x50, 0x60, 0x70), DROPPED, strict=True))
"""Maps the tag of a field that counts dropped data to the attribute that stores the count."""

_Field = tuple[int, int, int]
"""The tag of a field (number << 3 | wire type), then the start and the end of its bytes.

For a number, the value takes the place of the start. A field of an unexpected type is treated as
unknown.
"""


class MalformedError(Exception):
    """Raised when bytes are not a protobuf message."""


BROKEN = (SpanFaultError, MalformedError, IndexError, struct.error)
"""The errors that reading a field can raise."""

_SCOPE_SPANS, _EARLIER_SCOPE_SPANS = 0x12, 1000 << 3 | _BYTES
"""Earlier versions of the protocol use field 1000 for scopes (instrumentation libraries)."""
_SCHEMA_URL = 0x1A


def decode_protobuf(body: bytes) -> SpanBatch[RawSpan]:
    """Return the spans of an ExportTraceServiceRequest. Raises OtlpError for any other body."""
    return ProtobufReader(body).read()


def respond_protobuf(report: ExportReport) -> bytes:
    """Return the response to an export. The responses of all signals have the same fields.

    The response is empty if every record was accepted with all its fields.
    """
    message = report.problems().encode(errors="replace")
    if not message:
        return b""
    rejected = varint_field(1, report.rejected) if report.rejected else b""
    return bytes_field(1, rejected + bytes_field(2, message))


class ProtobufReader:
    """Reads one body with spans. A subclass reads log records, which have the same outer levels.

    The reader decodes each attribute key only once, since keys are often repeated.
    """

    signal = TRACES

    def __init__(self, body: bytes) -> None:
        self._data = body
        self._keys: dict[bytes, str] = {}
        self._collector = SpanCollector(self.signal)
        self._unknown_fields: list[str] = []

    def read(self) -> SpanBatch[RawSpan]:
        try:
            for tag, start, end in read_fields(self._data, 0, len(self._data)):
                if tag == 0x0A:
                    self._resource_records(start, end)
                else:
                    self._unknown(tag, "the export")
        except MalformedError as error:
            raise malformed(self.signal) from error
        decoded = self._collector.decoded()
        if self._unknown_fields and not decoded.spans and not decoded.rejected:
            raise OtlpError(
                f"The body contains no {self.signal.record}s, but {self._unknown_fields[0]}, which"
                f" is not part of an OTLP {self.signal.name} export.",
                hint=f"Send an {self.signal.message}, with all its levels.",
            )
        return decoded

    def _unknown(self, tag: int, where: str) -> None:
        """Record a field that no known version of the protocol has."""
        field = f"field {tag >> 3} of {where}"
        if field not in self._unknown_fields[:8]:
            self._unknown_fields.append(field)
            self._collector.note_warning(f"{field} is unknown and was left out")

    def _resource_records(self, start: int, end: int) -> None:
        resource: Attributes = {}
        scopes: list[tuple[int, int]] = []
        for tag, begin, stop in read_fields(self._data, start, end):
            if tag == 0x0A:
                resource = self._shared_attributes(begin, stop, 0x0A)
            elif tag in (_SCOPE_SPANS, _EARLIER_SCOPE_SPANS):
                scopes.append((begin, stop))  # the resource may follow the scopes
            elif tag != _SCHEMA_URL:
                self._unknown(tag, self.signal.level_message(0))
        for begin, stop in scopes:
            self._scope_records(begin, stop, resource)

    def _scope_records(self, start: int, end: int, resource: Attributes) -> None:
        scope: dict[str, JsonValue] = {}
        records: list[tuple[int, int]] = []
        for tag, begin, stop in read_fields(self._data, start, end):
            if tag == 0x0A:
                scope = self._scope(begin, stop)
            elif tag == 0x12:
                records.append((begin, stop))
            elif tag != _SCHEMA_URL:
                self._unknown(tag, self.signal.level_message(1))
        whole = resource_attributes(resource, scope)
        for begin, stop in records:
            raw = RawSpan(resource=whole)
            try:
                self._record(raw, begin, stop)
                self._collector.add(raw)
            except SpanFaultError as fault:
                self._collector.reject(raw, fault)
            except (MalformedError, IndexError, struct.error):
                self._collector.reject(raw, SpanFaultError("it is not a protobuf message"))

    def _scope(self, start: int, end: int) -> dict[str, JsonValue]:
        scope = self._shared_attributes(start, end, 0x1A)
        for tag, begin, stop in read_fields(self._data, start, end):
            if tag in (0x0A, 0x12) and stop > begin:
                name = "name" if tag == 0x0A else "version"
                scope[name] = self._data[begin:stop].decode(errors="replace")
        return scope

    def _shared_attributes(self, start: int, end: int, attributes_tag: int) -> dict[str, JsonValue]:
        """Return the attributes of a resource or scope. Faults in these do not affect spans."""
        attributes: dict[str, JsonValue] = {}
        for tag, begin, stop in read_fields(self._data, start, end):
            if tag == attributes_tag:
                try:
                    key, value = self._attribute(begin, stop)
                except BROKEN:
                    key, value = UNREADABLE, bytes_value(self._data[begin:stop])
                    self._collector.note_warning(
                        "an attribute of a resource or scope cannot be read"
                    )
                attributes[key] = value
        return attributes

    def _record(self, raw: RawSpan, start: int, end: int) -> None:
        """Read a Span.

        The loop over the fields is inlined, since `read_fields` takes twice the time.
        """
        data, attributes = self._data, raw.attributes
        while start < end:
            tag = data[start]
            if tag & 7 == _BYTES and tag < 0x80:
                size = data[start + 1]
                start += 2
                if size > 0x7F:
                    size, start = _varint(data, start - 1, end)
                stop = start + size
                if stop > end:
                    raise MalformedError
                if tag == 0x4A:
                    try:
                        found = self._quick_attribute(start, stop)
                        key, value = found or self._attribute(start, stop)
                        self._put(attributes, key, value)
                    except BROKEN as error:
                        self._fault("one of its attributes", error)
                else:
                    self._part(raw, tag, start, stop)
                start = stop
            elif tag == 0x39:
                (raw.start_ns,) = _U64.unpack_from(data, start + 1)
                start += 9
            elif tag == 0x41:
                (raw.end_ns,) = _U64.unpack_from(data, start + 1)
                start += 9
            else:
                start = self._count(attributes, start, end)
        if start > end:
            raise MalformedError

    def _put(self, attributes: dict[str, JsonValue], key: str, value: JsonValue) -> None:
        if attributes.setdefault(key, value) != value:
            self._collector.note_fault(describe_duplicate(key))
            attributes[key] = value

    def _count(self, attributes: dict[str, JsonValue], start: int, end: int) -> int:
        """Read a field that is a number, and return the position of its end.

        A count of dropped data becomes an attribute. Any other number is skipped.
        """
        tag, value, stop = next(read_fields(self._data, start, end))
        if tag in _DROPPED and value:
            attributes[_DROPPED[tag]] = value
        return stop

    def _fault(self, what: str, error: Exception) -> None:
        """Record that a field of the span cannot be read."""
        known = isinstance(error, SpanFaultError)
        self._collector.note_fault(str(error) if known else f"{what} is not a protobuf message")

    def _part(self, raw: RawSpan, tag: int, start: int, stop: int) -> None:
        """Read a field of a Span that consists of bytes and is not an attribute."""
        match tag:
            case 0x0A:
                raw.trace_id = self._data[start:stop].hex()
            case 0x12:
                raw.span_id = self._data[start:stop].hex()
            case 0x22:
                raw.parent_id = self._data[start:stop].hex()
            case 0x2A:
                raw.name = self._text(self._data[start:stop], "(name)")
            case 0x5A | 0x6A | 0x7A:
                try:
                    self._nested(raw, tag, start, stop)
                except BROKEN as error:
                    self._fault(_NESTED[tag], error)
            case _ if tag < 8:
                raise MalformedError

    def _nested(self, raw: RawSpan, tag: int, start: int, stop: int) -> None:
        """Read an event, a link or the status of a Span."""
        if tag == 0x5A:
            raw.events.append(self._event(start, stop))
        elif tag == 0x6A:
            raw.links.append(self._link(start, stop))
        else:
            self._status(raw, start, stop)

    def _status(self, raw: RawSpan, start: int, end: int) -> None:
        for tag, begin, stop in read_fields(self._data, start, end):
            if tag == 0x12:
                raw.status_message = self._text(self._data[begin:stop], "(status message)")
            elif tag == 0x18:
                raw.status = read_status(begin)

    def _event(self, start: int, end: int) -> SpanEvent:
        at_ns, name, attributes = 0, "", dict[str, JsonValue]()
        for tag, begin, stop in read_fields(self._data, start, end):
            if tag == 0x09:
                at_ns = begin
            elif tag == 0x12:
                name = self._text(self._data[begin:stop], "(name of an event)")
            elif tag == 0x1A:
                key, value = self._attribute(begin, stop)
                attributes[key] = value
            elif tag == 0x20 and begin:
                attributes[DROPPED[0]] = begin
        return build_event(at_ns, name, attributes)

    def _link(self, start: int, end: int) -> SpanLink:
        trace_id, span_id, attributes = "", "", dict[str, JsonValue]()
        for tag, begin, stop in read_fields(self._data, start, end):
            if tag == 0x0A:
                trace_id = self._data[begin:stop].hex()
            elif tag == 0x12:
                span_id = self._data[begin:stop].hex()
            elif tag == 0x22:
                key, value = self._attribute(begin, stop)
                attributes[key] = value
            elif tag == 0x28 and begin:
                attributes[DROPPED[0]] = begin
        return SpanLink(trace_id, span_id, attributes)

    def _quick_attribute(self, start: int, end: int) -> tuple[str, str | int] | None:
        """Read a KeyValue with a short, known key and a text or a number.

        Other KeyValues give None. The result is the same as from `_attribute`, in half the time.
        """
        data = self._data
        middle = start + 2 + data[start + 1] if end - start > 5 else end
        if middle + 4 > end or data[start] != 0x0A or data[middle] != 0x12:
            return None
        key = self._keys.get(data[start + 2 : middle])
        if key is None:
            return None
        size, begin = data[middle + 1], middle + 2
        if size > 0x7F:
            size, begin = _varint(data, middle + 1, end)
        if size < 2 or begin + size != end:
            return None
        if data[begin] == 0x18:
            value, begin = _varint(data, begin + 1, end)
            return (key, _signed(value)) if begin == end else None
        if data[begin] != 0x0A:
            return None
        size, begin = data[begin + 1], begin + 2
        if size > 0x7F:
            size, begin = _varint(data, begin - 1, end)
        return (key, self._text(data[begin:end], key)) if begin + size == end else None

    def _text(self, raw: bytes, key: str) -> str:
        """Decode UTF-8. Lone surrogates are kept, since some exporters send them."""
        try:
            return raw.decode()
        except UnicodeDecodeError:
            try:
                return raw.decode("utf-8", "surrogatepass")
            except UnicodeDecodeError:
                self._collector.note_fault(
                    f"its text {key} is not UTF-8, so parts of it were replaced"
                )
                return raw.decode("utf-8", "replace")

    def _attribute(self, start: int, end: int, depth: int = 0) -> tuple[str, JsonValue]:
        """Return the key and the value of a KeyValue."""
        key, value = "", None
        for tag, begin, stop in read_fields(self._data, start, end):
            if tag == 0x0A:
                raw = self._data[begin:stop]
                known = self._keys.get(raw)
                if known is None:
                    known = self._keys[raw] = self._text(raw, "(name of an attribute)")
                key = known
            elif tag == 0x12:
                value = self._value(begin, stop, key, depth)
        return key, value

    def _value(self, start: int, end: int, key: str, depth: int) -> JsonValue:
        """Return the value of an AnyValue. `key` is the name of the attribute, for errors."""
        value: JsonValue = None
        known = True
        for tag, begin, stop in read_fields(self._data, start, end):
            match tag:
                case 0x0A:
                    value = self._text(self._data[begin:stop], key)
                case 0x10:
                    value = begin != 0
                case 0x18:
                    value = _signed(begin)
                case 0x21:
                    value = double_value(_DOUBLE.unpack(_U64.pack(begin))[0])
                case 0x2A:
                    value = self._list(begin, stop, key, depth + 1)
                case 0x32:
                    value = self._map(begin, stop, key, depth + 1)
                case 0x3A:
                    value = bytes_value(self._data[begin:stop])
                case _:
                    known = False
        if value is None and not known:
            raise SpanFaultError(f"its attribute {key} has a value of an unknown type")
        return value

    def _list(self, start: int, end: int, key: str, depth: int) -> JsonValue:
        check_depth(depth, key)
        fields = read_fields(self._data, start, end)
        return [self._value(begin, stop, key, depth) for tag, begin, stop in fields if tag == 0x0A]

    def _map(self, start: int, end: int, key: str, depth: int) -> JsonValue:
        check_depth(depth, key)
        fields = read_fields(self._data, start, end)
        return dict(
            self._attribute(begin, stop, depth) for tag, begin, stop in fields if tag == 0x0A
        )


def malformed(signal: Signal) -> OtlpError:
    """Return the error for a body that is not a protobuf message."""
    return OtlpError(
        f"The body is not a protobuf message of an OTLP {signal.name} export.",
        hint="Send the output of an OTLP/HTTP exporter, with the matching Content-Type.",
    )


def _signed(value: int) -> int:
    """Return the signed integer that has these 64 bits."""
    return value - (1 << 64) if value & _SIGN_BIT else value


def read_fields(data: bytes, start: int, end: int) -> Iterator[_Field]:
    """Yield the fields of the message between `start` and `end`."""
    while start < end:
        tag = data[start]
        start += 1
        if tag > 0x7F:
            tag, start = _varint(data, start - 1, end)
        if not 8 <= tag < _TAG_LIMIT:  # field numbers begin at 1
            raise MalformedError
        wire = tag & 7
        if wire == _BYTES:
            size = data[start] if start < end else 0x80
            start += 1
            if size > 0x7F:
                size, start = _varint(data, start - 1, end)
            stop = start + size
            if stop > end:
                raise MalformedError
            yield tag, start, stop
            start = stop
        elif wire == _VARINT:
            value, start = _varint(data, start, end)
            yield tag, value, start
        elif wire == _FIXED64 and start + 8 <= end:
            yield tag, _U64.unpack_from(data, start)[0], start + 8
            start += 8
        elif wire == _FIXED32 and start + 4 <= end:
            yield tag, 0, start + 4  # no known field has this type
            start += 4
        else:
            raise MalformedError


def _varint(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the varint at `start`, and the position of its end."""
    value = shift = 0
    while start < end and shift < 70:
        byte = data[start]
        start += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, start
        shift += 7
    raise MalformedError


def varint_field(number: int, value: int) -> bytes:
    """Return a field of a message that contains a number."""
    return _encoded_varint(number << 3 | _VARINT) + _encoded_varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    """Return a field of a message that contains bytes, a text or another message."""
    return _encoded_varint(number << 3 | _BYTES) + _encoded_varint(len(value)) + value


def _encoded_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
