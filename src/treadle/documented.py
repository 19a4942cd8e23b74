"""How answers that are made as plain JSON values get into the document of the API.

The schema of such an answer is asked for only when the document is: most servers end without
anybody having read it, and thousands of fields would be looked through at every start.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


@dataclass(frozen=True, slots=True)
class Documented:
    """Marks a JSON value, as in `Annotated[Any, Documented(Run)]`: it is described as that type.

    `kind` is a type, or a function that gives it. The value itself is not looked at.
    """

    kind: Any

    def __get_pydantic_core_schema__(
        self, source: Any, handler: "GetCoreSchemaHandler"
    ) -> "CoreSchema":
        from pydantic_core import core_schema

        return core_schema.any_schema()

    def __get_pydantic_json_schema__(
        self, schema: "CoreSchema", handler: "GetJsonSchemaHandler"
    ) -> "JsonSchemaValue":
        from pydantic import TypeAdapter

        kind = self.kind if isinstance(self.kind, type) or get_origin(self.kind) else self.kind()
        listed = list[kind]  # type: ignore[valid-type]  # since what stands alone gets no name
        described = handler(TypeAdapter(listed).core_schema)
        return dict(described["items"])


if TYPE_CHECKING:
    T = TypeVar("T")
    Told = Annotated[T, "described as such"]
else:

    class Told:
        """What a route answers with, as in `-> Told[Run]`: described as that, not held to it."""

        def __class_getitem__(cls, kind: Any) -> Any:
            return Annotated[Any, Documented(kind)]


def answers(kind: Any, status: int | str = 200, **more: Any) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route whose body is of that shape."""
    return {status: {"model": Annotated[Any, Documented(kind)], **more}}


@cache
def whole(kind: type) -> Any:
    """A dataclass as the JSON that holds all its fields: each is there, unknown ones are null."""
    hints = get_type_hints(kind)
    return told(kind.__name__, kind, {item.name: hints[item.name] for item in fields(kind)})


def told(name: str, kind: type, hints: Mapping[str, Any]) -> Any:
    """A JSON object of those fields, with the words of `kind`."""
    shape = TypedDict(name, {field: _told(hint) for field, hint in hints.items()})  # type: ignore[misc]  # the fields are known only now
    shape.__doc__ = kind.__doc__
    return shape


def _told(hint: Any) -> Any:
    if is_dataclass(hint):
        return whole(hint)  # type: ignore[arg-type]  # it is a class, not an instance
    origin = get_origin(hint)
    if origin is None:
        return hint
    if issubclass(_class_of(origin), Mapping):
        return dict[str, Any]
    parts = tuple(_told(each) for each in get_args(hint))
    return Union[parts] if origin in {Union, UnionType} else origin[parts]  # noqa: UP007  (built)


def _class_of(origin: Any) -> type:
    return origin if isinstance(origin, type) else object
