"""Fields of OTLP/JSON: their names in both spellings, and how single values are read."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress

from treadle.spans.otlp.span_collector import (
    SpanFaultError,
    check_depth,
    comes_twice,
    finite,
    tagged_text,
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
)
_SNAKE = {re.sub("([A-Z])", lambda found: f"_{found[0].lower()}", name): name for name in _NAMES}
"""Protobuf's own names of the fields, which its JSON allows too, with the usual ones."""

_HEX = frozenset("0123456789abcdef")
_URL_SAFE = str.maketrans("-_", "+/")
_INT64 = 1 << 63


def renamed(sent: Object) -> Object:
    """`sent` with the usual names of its fields."""
    if _SNAKE.keys().isdisjoint(sent):
        return sent
    return {_SNAKE.get(name, name): value for name, value in sent.items()}


def object_of(value: object) -> Object:
    """An object with the usual names; empty where it is left out. Raises SpanFaultError."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SpanFaultError(f"it has {shown(value)} where an object belongs")
    return renamed(value)


def list_of(value: object, what: str) -> list[object]:
    """A list; empty where it is left out. Raises SpanFaultError."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise SpanFaultError(f"{what} are no list")
    return value


def text_of(value: object, what: str) -> str:
    """A text; empty where it is left out. Raises SpanFaultError."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise SpanFaultError(f"{what} is no text")
    return value


def id_of(value: object, what: str, digits: int) -> str:
    """An id in hex digits. Raises SpanFaultError.

    Protobuf's JSON writes bytes as base64, so some exporters send it. Its length distinguishes it
    from hex digits.
    """
    text = text_of(value, what).lower()
    if len(text) == digits and _HEX.issuperset(text):
        return text
    size = digits // 2
    if len(text.rstrip("=")) == (size * 8 + 5) // 6:
        raw = text_of(value, what).rstrip("=").translate(_URL_SAFE)
        with suppress(ValueError):  # no base64, or not even ASCII
            return base64.b64decode(raw + "=" * (-len(raw) % 4), validate=True).hex()
    if not _HEX.issuperset(text):
        raise SpanFaultError(f"{what} is not in hex digits")
    return text


def integer_of(value: object, what: str) -> int:
    """A whole number, or one as text, as JSON has no 64 bits; 0 where it is left out.

    Raises SpanFaultError.
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
        raise SpanFaultError(f"{what} is no whole number")
    if not -_INT64 <= number < 2 * _INT64:
        raise SpanFaultError(f"{what} is no number of 64 bits")
    return number


def attributes_of(
    sent: object, fault: Callable[[str], None], depth: int = 0
) -> dict[str, JsonValue]:
    """A list of KeyValues. `fault` is called with what is wrong with those that are left out."""
    attributes: dict[str, JsonValue] = {}
    if isinstance(sent, dict):  # written as a plain object
        sent = [{"key": key, "value": value} for key, value in sent.items()]
    try:
        entries = list_of(sent, "its attributes")
    except SpanFaultError as error:
        fault(str(error))
        return attributes
    for entry in entries:
        # Most are texts, so these are looked at first and at once.
        if (
            type(entry) is dict
            and type(key := entry.get("key")) is str
            and type(value := entry.get("value")) is dict
            and len(value) == 1
            and type(text := value.get("stringValue")) is str
        ):
            if attributes.setdefault(key, text) != text:
                fault(comes_twice(key))
                attributes[key] = text
            continue
        try:
            name, made = _key_value(entry, depth)
        except SpanFaultError as error:
            fault(str(error))
        else:
            if attributes.setdefault(name, made) != made:
                fault(comes_twice(name))
                attributes[name] = made
    return attributes


def _key_value(entry: object, depth: int) -> tuple[str, JsonValue]:
    if not isinstance(entry, dict):
        raise SpanFaultError("one of its attributes is no object")
    key = entry.get("key", "")
    if type(key) is not str:
        raise SpanFaultError("the name of one of its attributes is no text")
    value = entry.get("value")
    if "value" not in entry:  # written next to the name
        value = {name: content for name, content in entry.items() if name != "key"}
    return key, _value(value, key, depth)


def _value(value: object, key: str, depth: int) -> JsonValue:
    """An AnyValue. `key` is the attribute that holds it. Raises SpanFaultError."""
    if isinstance(value, str | int | float):  # written plainly, not as protobuf's JSON asks
        return finite(value) if isinstance(value, float) else value
    what = f"its attribute {key}"
    sent = object_of(value)
    for name, content in sent.items():
        if name in _SIMPLE:
            return _SIMPLE[name](content, what)
        if name in ("arrayValue", "kvlistValue"):
            check_depth(depth + 1, key)
            values = object_of(content).get("values")
            if name == "kvlistValue":
                entries = list_of(values, what)
                return dict(_key_value(entry, depth + 1) for entry in entries)
            return [_value(each, key, depth + 1) for each in list_of(values, what)]
    if sent:
        raise SpanFaultError(f"{what} has a value of the unknown type {shown(next(iter(sent)))}")
    return None


def _double(value: object, what: str) -> JsonValue:
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            return finite(float(value))
        except (ValueError, OverflowError):
            pass
    raise SpanFaultError(f"{what} is no number")


def _truth(value: object, what: str) -> JsonValue:
    if value not in (True, False, "true", "false"):
        raise SpanFaultError(f"{what} is neither true nor false")
    return value in (True, "true")


_SIMPLE: Mapping[str, Callable[[object, str], JsonValue]] = {
    "stringValue": text_of,
    "boolValue": _truth,
    "intValue": integer_of,
    "doubleValue": _double,
    "bytesValue": lambda value, what: tagged_text(text_of(value, what)),
}
"""How the values that are not nested are read."""


def shown(value: object) -> str:
    """A value for an error: what it is, or its beginning."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return json.dumps(value[:40] if isinstance(value, str) else value)[:42]
