"""Readers of single fields of OTLP/JSON, whose names are in camel case or in snake case."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress

from treadle.spans.otlp.span_collector import (
    SpanFaultError,
    base64_value,
    check_depth,
    describe_duplicate,
    double_value,
)
from treadle.spans.span import JsonValue

Object = Mapping[str, object]

_NAMES = (
    *("resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "instrumentationLibrary"),
    *("schemaUrl", "traceId", "spanId", "parentSpanId", "traceState"),
    *("startTimeUnixNano", "endTimeUnixNano", "timeUnixNano"),
    *("droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"),
    *("stringValue", "boolValue", "intValue", "doubleValue", "bytesValue"),
    *("arrayValue", "kvlistValue"),
    *("resourceLogs", "scopeLogs", "instrumentationLibraryLogs", "logRecords"),
    *("observedTimeUnixNano", "eventName"),
    *("resourceMetrics", "scopeMetrics", "instrumentationLibraryMetrics", "dataPoints"),
    "exponentialHistogram",
)
_SNAKE = {re.sub("([A-Z])", lambda found: f"_{found[0].lower()}", name): name for name in _NAMES}
"""Maps names in snake case, which JSON of protobuf also allows, to names in camel case."""

_HEX = frozenset("0123456789abcdef")
_URL_SAFE = str.maketrans("-_", "+/")
_INT64 = 1 << 63


def with_camel_case(sent: Object) -> Object:
    """Return `sent` with its field names in camel case."""
    if _SNAKE.keys().isdisjoint(sent):
        return sent
    return {_SNAKE.get(name, name): value for name, value in sent.items()}


def read_object(value: object) -> Object:
    """Return `value` as an object with names in camel case. None becomes an empty object.

    Raises SpanFaultError if `value` is not an object.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SpanFaultError(f"it has {describe_value(value)} instead of an object")
    return with_camel_case(value)


def read_list(value: object, what: str) -> list[object]:
    """Return `value` as a list. None becomes an empty list.

    Raises SpanFaultError if `value` is not a list. `what` names the value in the error.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise SpanFaultError(f"{what} are not a list")
    return value


def read_text(value: object, what: str) -> str:
    """Return `value` as a text. None becomes an empty text.

    Raises SpanFaultError if `value` is not a text. `what` names the value in the error.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise SpanFaultError(f"{what} is not a text")
    return value


def read_id(value: object, what: str, digits: int) -> str:
    """Return `value` as an id in hex digits. Raises SpanFaultError if it cannot be one.

    `digits` is the expected number of digits. Some exporters send ids in base64, the form of bytes
    in JSON of protobuf. The length distinguishes base64 from hex digits.
    """
    text = read_text(value, what).lower()
    if len(text) == digits and _HEX.issuperset(text):
        return text
    size = digits // 2
    if len(text.rstrip("=")) == (size * 8 + 5) // 6:
        raw = read_text(value, what).rstrip("=").translate(_URL_SAFE)
        with suppress(ValueError):  # the text is not base64, or not ASCII
            return base64.b64decode(raw + "=" * (-len(raw) % 4), validate=True).hex()
    if not _HEX.issuperset(text):
        raise SpanFaultError(f"{what} is not in hex digits")
    return text


def read_integer(value: object, what: str) -> int:
    """Return `value` as a whole number. None becomes 0.

    A number may be text, since many JSON parsers cannot represent 64 bits. Raises SpanFaultError if
    `value` is not a whole number, or does not fit 64 bits.
    """
    if value is None:
        return 0
    number: int | None = None
    if type(value) is int:
        number = value
    elif isinstance(value, str) and len(value) < 100:
        with suppress(ValueError):
            number = int(value)
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    if number is None:
        raise SpanFaultError(f"{what} is not a whole number")
    if not -_INT64 <= number < 2 * _INT64:
        raise SpanFaultError(f"{what} does not fit 64 bits")
    return number


def read_attributes(
    sent: object, fault: Callable[[str], None], depth: int = 0
) -> dict[str, JsonValue]:
    """Return the attributes in a list of KeyValues.

    Calls `fault` with the reason for each omitted value.
    """
    attributes: dict[str, JsonValue] = {}
    if isinstance(sent, dict):  # some exporters send a plain object instead of KeyValues
        sent = [{"key": key, "value": value} for key, value in sent.items()]
    try:
        entries = read_list(sent, "its attributes")
    except SpanFaultError as error:
        fault(str(error))
        return attributes
    for entry in entries:
        # This is a fast path for texts, since most attributes are texts.
        if (
            type(entry) is dict
            and type(key := entry.get("key")) is str
            and type(value := entry.get("value")) is dict
            and len(value) == 1
            and type(text := value.get("stringValue")) is str
        ):
            if attributes.setdefault(key, text) != text:
                fault(describe_duplicate(key))
                attributes[key] = text
            continue
        try:
            name, parsed = _key_value(entry, depth)
        except SpanFaultError as error:
            fault(str(error))
        else:
            if attributes.setdefault(name, parsed) != parsed:
                fault(describe_duplicate(name))
                attributes[name] = parsed
    return attributes


def _key_value(entry: object, depth: int) -> tuple[str, JsonValue]:
    if not isinstance(entry, dict):
        raise SpanFaultError("one of its attributes is not an object")
    key = entry.get("key", "")
    if type(key) is not str:
        raise SpanFaultError("the name of one of its attributes is not a text")
    value = entry.get("value")
    if "value" not in entry:  # some exporters omit the object `value` around the value
        value = {name: content for name, content in entry.items() if name != "key"}
    return key, read_value(value, key, depth)


def read_value(value: object, key: str, depth: int = 0) -> JsonValue:
    """Return the value of an AnyValue. Raises SpanFaultError if it cannot be read.

    `key` is the name of the attribute, for errors.
    """
    if isinstance(value, str | int | float):  # some exporters omit the type of a value
        return double_value(value) if isinstance(value, float) else value
    what = f"its attribute {key}"
    sent = read_object(value)
    for name, content in sent.items():
        if name in _SIMPLE:
            return _SIMPLE[name](content, what)
        if name in ("arrayValue", "kvlistValue"):
            check_depth(depth + 1, key)
            values = read_object(content).get("values")
            if name == "kvlistValue":
                entries = read_list(values, what)
                return dict(_key_value(entry, depth + 1) for entry in entries)
            return [read_value(each, key, depth + 1) for each in read_list(values, what)]
    if sent:
        kind = describe_value(next(iter(sent)))
        raise SpanFaultError(f"{what} has a value of the unknown type {kind}")
    return None


def _double(value: object, what: str) -> JsonValue:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return double_value(float(value))
        except (ValueError, OverflowError):
            pass
    raise SpanFaultError(f"{what} is not a number")


def _boolean(value: object, what: str) -> JsonValue:
    if value not in (True, False, "true", "false"):
        raise SpanFaultError(f"{what} is neither true nor false")
    return value in (True, "true")


_SIMPLE: Mapping[str, Callable[[object, str], JsonValue]] = {
    "stringValue": read_text,
    "boolValue": _boolean,
    "intValue": read_integer,
    "doubleValue": _double,
    "bytesValue": lambda value, what: base64_value(read_text(value, what)),
}
"""Maps each type of value that is not nested to the reader of such values."""


def describe_value(value: object) -> str:
    """Return the type or the beginning of a value, for an error message."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return json.dumps(value[:40] if isinstance(value, str) else value)[:42]
