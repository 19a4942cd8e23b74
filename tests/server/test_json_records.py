"""The JSON of everything that the terminal reads, and back."""

import collections.abc
import json
import sys
import types
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
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

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle.events.changes
import treadle.events.types
from treadle.app.conversation_answers import Session
from treadle.code import SearchResults
from treadle.events import Envelope, Event, event_json
from treadle.events.encoding import event_from_json
from treadle.json_records import JsonMismatchError, from_json
from treadle.json_values import is_record, to_json
from treadle.tui import workbench as interface

_LEAVES = st.none() | st.booleans() | st.integers() | st.text()
_SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(), int: st.integers(), bool: st.booleans(), bytes: st.binary(), Any: _LEAVES,
    float: st.floats(allow_nan=False, allow_infinity=False), object: _LEAVES, UUID: st.uuids(),
    type(None): st.none(), Path: st.just(Path("src/calc.py")),
}  # fmt: skip


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of an annotated type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return values(arguments[0])
    if origin in {Union, types.UnionType}:
        if any(isinstance(part, ForwardRef) for each in arguments for part in get_args(each)):
            return _LEAVES  # the recursive type of any JSON
        return st.one_of([values(each) for each in arguments])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is not None:
        return containers(origin, arguments)
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    assert is_record(hint), hint
    return st.deferred(lambda: records(hint))


@cache
def records(kind: type) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind, include_extras=True)
    names = [each.name for each in fields(kind)] if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]
    return st.builds(kind, **{name: values(hints[name]) for name in names})


def containers(origin: Any, arguments: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if issubclass(origin, Mapping):
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=2)
    if origin is tuple and Ellipsis not in arguments:
        return st.tuples(*map(values, arguments))
    items = st.lists(values(arguments[0]), max_size=2)
    if origin is tuple:
        return items.map(tuple)
    return items.map(frozenset) if issubclass(origin, AbstractSet) else items


def returned_types() -> list[Any]:
    """What the methods of a workbench return, except simple values and its own classes."""
    names: dict[str, Any] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("treadle."):
            names |= {key: each for key, each in vars(module).items() if isinstance(each, type)}
    found: dict[Any, None] = {}
    for method in vars(interface.Workbench).values():
        if getattr(method, "__isabstractmethod__", False):
            hint = eval(
                method.__annotations__["return"], vars(interface) | names | vars(collections.abc)
            )
            if _has_record(hint):
                found[hint] = None
    return list(found)


def _has_record(hint: Any) -> bool:
    if isinstance(hint, type) and get_origin(hint) is None:
        return is_record(hint) and hint.__module__ != interface.__name__
    return any(map(_has_record, get_args(hint)))


def _types() -> list[Any]:
    import treadle.tui.local_workbench  # noqa: F401  (loads the types)

    return [each for each in returned_types() if "AsyncIterator" not in str(each)]


EVENTS = {
    each.__name__: each
    for module in (treadle.events.types, treadle.events.changes)
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Event) and each is not Event
}


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(to_json(value)))


@pytest.mark.parametrize("kind", _types(), ids=str)
@given(data=st.data())
def test_from_json_reads_what_to_json_wrote(kind: Any, data: st.DataObject) -> None:
    written = through_json(data.draw(values(kind)))
    again = through_json(from_json(kind, written))
    if kind is SearchResults:
        del written["index"], again["index"]  # a property of fields that the JSON omits
    assert again == written


@pytest.mark.parametrize("kind", EVENTS.values(), ids=EVENTS)
@given(data=st.data())
def test_event_is_read_as_it_was_published(kind: Any, data: st.DataObject) -> None:
    event = data.draw(records(kind))
    written = json.loads(json.dumps(event_json(Envelope(1, 1, event))))
    assert event_from_json(written) == event


def test_unknown_event_of_a_newer_server_is_none() -> None:
    assert event_from_json({"type": "SomethingNew", "seq": 1, "at": "now"}) is None


@pytest.mark.parametrize("data", [None, [], {}, {"id": "x"}, {"id": 3, "branch": {}}])
def test_other_json_is_refused(data: Any) -> None:
    with pytest.raises(JsonMismatchError):
        from_json(Session, data)
