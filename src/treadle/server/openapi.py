"""The OpenAPI document: the JSON types of dataclasses, and the names of operations.

FastAPI neither validates nor copies a dataclass that a route returns. `to_json` in `json_values`
writes its JSON. Schemas are built when a client requests the document, because most servers never
need it.
"""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from typing_extensions import TypedDict

from treadle.json_values import JsonField, JsonMember, is_record, json_members, to_json

if TYPE_CHECKING:
    from fastapi._compat import ModelField
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


from fastapi import FastAPI
from fastapi.routing import APIRoute


@dataclass(frozen=True, slots=True)
class DocumentedAs:
    """Declares that a value is documented as the JSON of `kind`.

    It is used as `Annotated[Any, DocumentedAs(Run)]`. `kind` is a type, or a function that returns
    one. Pydantic does not validate the value, and serialises it with `to_json`.
    """

    kind: Any

    def __get_pydantic_core_schema__(
        self, source: Any, handler: "GetCoreSchemaHandler"
    ) -> "CoreSchema":
        from pydantic_core import core_schema

        written = core_schema.plain_serializer_function_ser_schema(to_json)
        return core_schema.any_schema(serialization=written)

    def __get_pydantic_json_schema__(
        self, schema: "CoreSchema", handler: "GetJsonSchemaHandler"
    ) -> "JsonSchemaValue":
        from pydantic import TypeAdapter

        # Pydantic adds a type to the named schemas of the document only if another type contains
        # it. Therefore a list contains the type here.
        listed: Any = list[json_type(_resolved(self.kind))]  # type: ignore[misc]  # known at run time
        return dict(handler(TypeAdapter(listed).core_schema)["items"])


if TYPE_CHECKING:
    T = TypeVar("T")
    JsonOf = Annotated[T, "its JSON"]
else:

    class JsonOf:
        """The return annotation of a route that returns the JSON of a type, as in `JsonOf[Run]`."""

        def __class_getitem__(cls, kind: Any) -> Any:
            return Annotated[Any, DocumentedAs(kind)]


class _DocumentedResponse(dict[str, Any]):
    """What FastAPI documents about a response, and the type of the JSON in its body.

    The type is not the entry `model`, because FastAPI would build a validator for it, once for each
    route that has the response.
    """

    def __init__(self, kind: Any, **more: Any) -> None:
        super().__init__(more)
        self.kind = kind


def json_responses(
    kind: Any, status: int | str = 200, **more: Any
) -> dict[int | str, dict[str, Any]]:
    """Return the argument `responses` of a route whose response contains the JSON of `kind`."""
    return {status: _DocumentedResponse(kind, **more)}


@cache
def record_type(kind: type) -> Any:
    """Build a `TypedDict` with the keys that `to_json` writes for a dataclass or named tuple."""
    return object_type(kind.__name__, kind, dict(_keys(kind)))


def object_type(name: str, kind: type, hints: Mapping[str, Any]) -> Any:
    """Build a `TypedDict` with the given keys and types, and with the docstring of `kind`."""
    documented = TypedDict(name, {key: json_type(hint) for key, hint in hints.items()})  # type: ignore[misc]  # the keys are known at run time
    documented.__doc__ = kind.__doc__
    return documented


def _keys(kind: type) -> list[tuple[str, Any]]:
    hints = get_type_hints(kind, include_extras=True)
    found: list[tuple[str, Any]] = []
    for member in json_members(kind):
        hint = _member_type(member, hints)
        if member.form.inline:
            found += _keys(_bare(hint))
        elif member.form.optional:
            written = member.form.write is not None
            found.append((member.key, NotRequired[hint if written else _without_none(hint)]))
        else:
            found.append((member.key, hint))
    return found


def _member_type(member: JsonMember, hints: Mapping[str, Any]) -> Any:
    if member.form.documented_as is not None:
        return _resolved(member.form.documented_as)
    returned = _returned(member.function) if member.function is not None else None
    return hints[member.attribute] if returned is None else returned


def _returned(function: Callable[..., Any]) -> Any:
    return get_type_hints(function, include_extras=True).get("return")


def _resolved(kind: Any) -> Any:
    return kind if isinstance(kind, type) or get_origin(kind) else kind()


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _without_none(hint: Any) -> Any:
    bare = _bare(hint)
    if get_origin(bare) not in {Union, UnionType}:
        return bare
    return Union[tuple(each for each in get_args(bare) if each is not NoneType)]  # noqa: UP007  # built at run time


def json_type(hint: Any) -> Any:
    """Return the type of the JSON that `to_json` writes for values of the type `hint`."""
    origin = get_origin(hint)
    if origin is None:
        return record_type(hint) if isinstance(hint, type) and is_record(hint) else hint
    if origin is Literal:
        return hint
    if origin is Annotated:
        return _annotated_type(hint)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return dict[str, json_type(get_args(hint)[1])]  # type: ignore[misc]  # known at run time
    if _is_recursive(hint):
        return Any
    return _generic_type(origin, tuple(json_type(each) for each in get_args(hint)))


def _annotated_type(hint: Any) -> Any:
    kind, *metadata = get_args(hint)
    kept = tuple(each for each in metadata if not isinstance(each, JsonField))
    return Annotated[(json_type(kind), *kept)] if kept else json_type(kind)


def _generic_type(origin: Any, parts: tuple[Any, ...]) -> Any:
    if origin in {Union, UnionType}:
        return Union[parts]  # noqa: UP007  # built at run time
    if isinstance(origin, type) and issubclass(origin, AbstractSet):
        return list[parts]  # type: ignore[valid-type]  # known at run time
    return origin[parts if len(parts) > 1 else parts[0]]


def _is_recursive(hint: Any) -> bool:
    return isinstance(hint, ForwardRef) or any(map(_is_recursive, get_args(hint)))


def document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with corrected responses of event streams.

    FastAPI documents the data of an event stream as text. It documents the JSON errors of such a
    route as an event stream.
    """
    for route in app.routes:
        if isinstance(route, APIRoute):
            route.response_fields = dict(_response_fields(route))
    openapi = FastAPI.openapi(app)
    for path in openapi["paths"].values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                stream = answer.get("content", {}).pop("text/event-stream", None)
                if stream is not None:
                    stream["schema"].pop("type", None)
                    media_type = "text/event-stream" if status[0] == "2" else "application/json"
                    answer["content"][media_type] = stream
    return openapi


def _response_fields(route: APIRoute) -> Iterator[tuple[int | str, "ModelField"]]:
    from fastapi.utils import create_model_field

    for status, response in route.responses.items():
        if isinstance(response, _DocumentedResponse):
            written = Annotated[Any, DocumentedAs(response.kind)]
            name = f"Response_{status}_{route.unique_id}"
            yield status, create_model_field(name, written, mode="serialization")


def operation_id(route: APIRoute) -> str:
    """Return the name of an operation for generated clients: the route's module and function."""
    module = route.endpoint.__module__.rpartition(".")[2]
    return route.name if route.name == module else f"{module}_{route.name}"
