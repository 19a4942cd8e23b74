"""The JSON form of dataclasses and named tuples, derived from their fields.

`to_json` converts a value for `json.dumps`. A class states deviations in its annotations:

    class SearchResults(NamedTuple):
        took: Annotated[float, JsonField("took_ms", write=milliseconds)]
        view: Annotated[View, JsonField(omit=True)]

        @json_property
        def link(self) -> str: ...

`treadle.server.openapi` documents the same classes in the OpenAPI document. This module imports
neither `dataclasses` nor `uuid`, because `treadle search --json` starts without them.
"""

import os
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    overload,
)

T = TypeVar("T")

_PLAIN = frozenset({str, int, float, bool, type(None)})


class JsonField(NamedTuple):
    """Marks a field whose JSON differs from its value, as in `Annotated[int, JsonField("n")]`."""

    name: str | None = None
    """The key; default: the name of the field."""
    write: Callable[[Any], Any] | None = None
    """Converts the value first. Its return annotation is the documented type."""
    omit: bool = False
    """The JSON does not contain the field."""
    optional: bool = False
    """The JSON omits the key while the value, before `write`, is None."""
    inline: bool = False
    """The JSON contains the fields of the value instead of the value."""
    as_is: bool = False
    """The value consists of JSON types already. It is passed on without a copy."""
    documented_as: Any = None
    """The documented type, or a function that returns it; default: the annotated type."""


class json_property(Generic[T]):  # noqa: N801  (a decorator, as `property` is)
    """A property that the JSON of its class contains, after the fields."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        self.read = read
        self.__doc__ = read.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> "json_property[T]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object, owner: type) -> "json_property[T] | T":
        return self if instance is None else self.read(instance)


class JsonMember(NamedTuple):
    """A field or a `json_property` of a class, and how its JSON differs."""

    attribute: str
    form: JsonField
    read: Callable[[Any], Any] | None
    """The function of a `json_property`; None for a field."""

    @property
    def key(self) -> str:
        """The key in the JSON object."""
        return self.form.name or self.attribute

    @property
    def function(self) -> Callable[[Any], Any] | None:
        """The function whose return annotation is the type of the JSON value, if there is one."""
        return self.form.write or self.read


def is_record(kind: type) -> bool:
    """Whether the JSON of the class is an object: for dataclasses and named tuples."""
    return hasattr(kind, "__dataclass_fields__") or (
        issubclass(kind, tuple) and hasattr(kind, "_fields")
    )


@cache
def json_members(kind: type) -> tuple[JsonMember, ...]:
    """The fields of a class and its properties for JSON, without the omitted ones."""
    found = [JsonMember(name, _form(hint), None) for name, hint in _annotated(kind)]
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            if isinstance(value, json_property):
                found.append(JsonMember(name, _form(_return_hint(value.read)), value.read))
    return tuple(each for each in found if not each.form.omit)


def _annotated(kind: Any) -> list[tuple[str, Any]]:
    if hasattr(kind, "__dataclass_fields__"):
        from dataclasses import fields

        return [(field.name, field.type) for field in fields(kind)]
    return [(name, kind.__annotations__[name]) for name in kind._fields]


def _form(hint: Any) -> JsonField:
    metadata = getattr(hint, "__metadata__", ())
    return next((each for each in metadata if isinstance(each, JsonField)), JsonField())


def _return_hint(function: Callable[..., Any]) -> Any:
    return function.__annotations__.get("return")


def to_json(value: Any) -> Any:
    """`value` as dicts, lists, strings, numbers, booleans and None.

    Dataclasses and named tuples become objects, other tuples and sets become lists, enums become
    their values, UUIDs and paths strings. A member of an enum of strings may stay as it is, because
    it equals its value. Raises TypeError for other types.
    """
    kind: Any = type(value)
    return value if kind in _PLAIN else _writer(kind)(value)


@cache
def _writer(kind: type) -> Callable[[Any], Any]:
    if is_record(kind):
        return _record_writer(kind)
    for base, write in _WRITERS.items():
        if issubclass(kind, base):
            return write
    if (kind.__module__, kind.__name__) == ("uuid", "UUID"):
        return str
    raise TypeError(f"{kind.__name__} has no JSON form")


def _write_list(value: Any) -> list[Any]:
    return [each if type(each) in _PLAIN else to_json(each) for each in value]


def _write_set(value: Any) -> list[Any]:
    return sorted(_write_list(value))


def _write_object(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(to_json(name)): to_json(each) for name, each in value.items()}


def _unchanged(value: Any) -> Any:
    return value


_WRITERS: Mapping[Any, Callable[[Any], Any]] = {
    Enum: attrgetter("value"),
    str: _unchanged,
    int: _unchanged,
    float: _unchanged,
    tuple: _write_list,
    list: _write_list,
    AbstractSet: _write_set,
    Mapping: _write_object,
    os.PathLike: os.fspath,
}


def _record_writer(kind: type) -> Callable[[Any], dict[str, Any]]:
    found = _flat_members(kind, "")
    if found is None or len(found) < 2:
        plan = json_members(kind)
        return lambda value: _record(plan, value)
    keys = [key for key, _, _ in found]
    read = attrgetter(*(path for _, path, _ in found))
    converted = [key for key, _, plain in found if not plain]

    def write(value: Any) -> dict[str, Any]:
        written = dict(zip(keys, read(value), strict=True))
        for key in converted:
            written[key] = to_json(written[key])
        return written

    return write


def _flat_members(kind: type, prefix: str) -> list[tuple[str, str, bool]] | None:
    """The keys of a record, the paths of their values, and whether these need no conversion.

    None for a record with members that deviate in other ways than by name or `inline`.
    """
    hints = dict(_annotated(kind))
    found: list[tuple[str, str, bool]] = []
    for each in json_members(kind):
        path, hint = prefix + each.attribute, _bare(hints.get(each.attribute))
        if each.form == JsonField(each.form.name):
            found.append((each.key, path, _is_plain(hint)))
            continue
        if each.form != JsonField(inline=True) or not (isinstance(hint, type) and is_record(hint)):
            return None
        inlined = _flat_members(hint, f"{path}.")
        if inlined is None:
            return None
        found += inlined
    return found


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _is_plain(hint: Any) -> bool:
    """Whether `json` writes the values of a type as they are; it writes enums of strings so."""
    if get_origin(hint) in {Union, UnionType}:
        return all(map(_is_plain, get_args(hint)))
    return hint in _PLAIN or (isinstance(hint, type) and issubclass(hint, str | int | float))


def _record(plan: tuple[JsonMember, ...], record: Any) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for each in plan:
        form = each.form
        value = getattr(record, each.attribute)
        if form.optional and value is None:
            continue
        if form.write is not None:
            value = form.write(value)
        if not form.as_is:
            value = to_json(value)
        if form.inline:
            written |= value
        else:
            written[each.key] = value
    return written
