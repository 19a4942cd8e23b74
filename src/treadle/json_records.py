"""Reads records from JSON: the inverse of `json_values.to_json`.

`from_json` and `to_json` use the same annotations of a class. A value that the JSON omits gets its
default, or an empty value of its type. Unknown keys are ignored, so that a client can read the
answers of a newer server.
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (  # fmt: skip
    Annotated,
    Any,
    ForwardRef,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

from treadle.json_values import JsonField, is_record, json_members

Read = Callable[[Any], Any]

_UNCHANGED = (str, int, bool, NoneType)


class JsonMismatchError(ValueError):
    """The JSON does not have the form of the class."""


def from_json(kind: Any, data: Any) -> Any:
    """Read a value of the type `kind`, such as `Session` or `list[Session]`.

    Raises JsonMismatchError.
    """
    try:
        return _reader(kind)(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise JsonMismatchError(f"not the JSON of {kind}: {error!r}") from error


@cache
def _reader(kind: Any) -> Read:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _reader(arguments[0])
    if origin in {Union, UnionType}:
        return _union_reader(arguments)
    if origin is Literal:
        return _literal_reader(arguments)
    if origin is not None:
        return _container_reader(origin, arguments)
    if isinstance(kind, type):
        return _class_reader(kind)
    return _as_is  # Any, a forward reference of a recursive type


def _as_is(data: Any) -> Any:
    return data


def _class_reader(kind: type) -> Read:
    if is_record(kind):
        return _record_reader(kind)
    if issubclass(kind, Enum) or kind is UUID or issubclass(kind, Path):
        return kind
    if kind is float:
        return _number
    if kind in _UNCHANGED:
        return lambda data: _checked(data, kind)
    validate = getattr(kind, "model_validate", None)
    return (
        validate or _as_is
    )  # the method of a pydantic model, or `_as_is` for other classes such as `object`


def _number(data: Any) -> float:
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise JsonMismatchError(f"{data!r} is not a number")
    return float(data)


def _checked(data: Any, kind: type) -> Any:
    if not isinstance(data, kind) or (kind is int and isinstance(data, bool)):
        raise JsonMismatchError(f"{data!r} is not {kind.__name__}")
    return data


def _literal_reader(values: tuple[Any, ...]) -> Read:
    def read(data: Any) -> Any:
        if data not in values:
            raise JsonMismatchError(f"{data!r} is not one of {values}")
        return data

    return read


def _union_reader(kinds: tuple[Any, ...]) -> Read:
    """Return a function that tries the types in order.

    If one of the types is None, the value None is accepted without trying the other types.
    """
    readers = [_reader(kind) for kind in kinds if kind is not NoneType]
    takes_none = NoneType in kinds

    def read(data: Any) -> Any:
        if data is None and takes_none:
            return None
        for each in readers:
            try:
                return each(data)
            except (KeyError, TypeError, ValueError, AttributeError):
                continue
        raise JsonMismatchError(f"{data!r} is none of {kinds}")

    return read


def _container_reader(origin: Any, arguments: tuple[Any, ...]) -> Read:
    if any(isinstance(each, ForwardRef) for each in arguments):
        return _as_is
    if issubclass(origin, Mapping):
        key, value = map(_reader, arguments)
        return lambda data: {key(name): value(each) for name, each in data.items()}
    if origin is tuple and Ellipsis not in arguments:
        readers = [_reader(each) for each in arguments]
        return lambda data: tuple(
            read(each) for read, each in zip(readers, _listed(data), strict=True)
        )
    read = _reader(arguments[0])
    build: Callable[[Any], Any] = list
    if origin is tuple:
        build = tuple
    elif issubclass(origin, AbstractSet):
        build = frozenset
    return lambda data: build(read(each) for each in _listed(data))


def _listed(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise JsonMismatchError(f"{data!r} is not a list")
    return data


def _record_reader(kind: type) -> Read:
    """Return a function that reads an object.

    It builds the readers of the fields at its first call. Building them earlier would never end for
    a recursive class, because a field of such a class needs the reader of that class.
    """
    members: dict[str, _Member] = {}
    marks: dict[str, tuple[Any, ...]] = {}

    def read(data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise JsonMismatchError(f"{data!r} is not an object")
        if not members:
            members.update(_members(kind))
            marks.update(_marks(kind))
        for name, values in marks.items():
            if name in data and data[name] not in values:
                raise JsonMismatchError(f"{data[name]!r} is not one of {values}")
        given = {
            name: member.read(data)
            for name, member in members.items()
            if member.is_needed or member.is_in(data)
        }
        return kind(**given)

    return read


class _Member:
    """A field of a dataclass or named tuple, and its form in the JSON."""

    def __init__(self, name: str, hint: Any, *, has_default: bool) -> None:
        metadata = getattr(hint, "__metadata__", ())
        form = next((each for each in metadata if isinstance(each, JsonField)), JsonField())
        self._form = form
        self._key = form.name or name
        self._read = _as_is if form.as_is else form.read or _reader(hint)
        self._empty = None if form.omit is False else _empty(hint)
        self.is_needed = not has_default

    def is_in(self, data: Mapping[str, Any]) -> bool:
        """Whether the JSON has the value of the field."""
        return not self._form.omit and (self._form.inline or self._key in data)

    def read(self, data: Mapping[str, Any]) -> Any:
        """The value of the field. Raises KeyError if it is missing."""
        if self._form.omit:
            return self._empty
        if self._form.inline:
            return self._read(data)
        if self._form.optional and self._key not in data:
            return None
        return self._read(data[self._key])


def _empty(hint: Any) -> Any:
    """An empty value for a field that the JSON omits."""
    bare = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    kind = get_origin(bare) or bare
    return kind() if kind in {str, int, float, bool, tuple, list, dict, frozenset} else None


def _members(kind: type) -> dict[str, _Member]:
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: _Member(name, hints[name], has_default=has_default)
        for name, has_default in _fields(kind)
    }


def _marks(kind: type) -> dict[str, tuple[Any, ...]]:
    """The values of the properties that distinguish the classes of a union."""
    return {
        member.key: get_args(member.hint)
        for member in json_members(kind)
        if member.read is not None and get_origin(member.hint) is Literal
    }


def _fields(kind: Any) -> list[tuple[str, bool]]:
    """The names of the fields, and whether each has a default."""
    if hasattr(kind, "__dataclass_fields__"):
        from dataclasses import MISSING, fields

        return [
            (each.name, each.default is not MISSING or each.default_factory is not MISSING)
            for each in fields(kind)
            if each.init
        ]
    return [(name, name in kind._field_defaults) for name in kind._fields]
