"""The JSON of a class, and the schema that documents it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import TypeAdapter

from treadle.json_values import JsonField, json_property, to_json
from treadle.server.openapi import JsonOf


class Color(StrEnum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Sums:
    spans: int
    cost: float | None


def milliseconds(seconds: float) -> int:
    return round(seconds * 1_000)


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape with every kind of field."""

    id: UUID
    path: Path
    color: Color
    points: tuple[Point, ...]
    tags: frozenset[str]
    counts: Mapping[Color, int]
    sums: Annotated[Sums, JsonField(inline=True)]
    took: Annotated[float, JsonField("took_ms", write=milliseconds)]
    secret: Annotated[str, JsonField(omit=True)]
    error: Annotated[str | None, JsonField(optional=True)]
    columns: Annotated[list[int], JsonField(as_is=True)]
    span: Annotated[Mapping[str, Any], JsonField(documented_as=Point)]
    type: Literal["shape"] = "shape"

    @json_property
    def corners(self) -> int:
        """The number of points."""
        return len(self.points)


def shape(error: str | None = None) -> Shape:
    return Shape(
        id=UUID(int=1),
        path=Path("a/b"),
        color=Color.RED,
        points=(Point(1, 2),),
        tags=frozenset({"b", "a"}),
        counts={Color.RED: 1},
        sums=Sums(2, None),
        took=0.25,
        secret="s",
        error=error,
        columns=[1, 2],
        span={"x": 1, "y": 2},
    )


def test_a_dataclass_becomes_json_as_its_annotations_state() -> None:
    assert to_json(shape()) == {
        "id": "00000000-0000-0000-0000-000000000001",
        "path": "a/b",
        "color": "red",
        "points": [{"x": 1, "y": 2}],
        "tags": ["a", "b"],
        "counts": {"red": 1},
        "spans": 2,
        "cost": None,
        "took_ms": 250,
        "columns": [1, 2],
        "span": {"x": 1, "y": 2},
        "type": "shape",
        "corners": 1,
    }
    assert to_json(shape("broken"))["error"] == "broken"


@pytest.mark.parametrize("error", [None, "broken"])
def test_the_schema_fits_the_json(error: str | None) -> None:
    answer: TypeAdapter[Any] = TypeAdapter(JsonOf[Shape])
    schema = answer.json_schema()
    written = json.loads(json.dumps(to_json(shape(error))))
    Draft202012Validator(schema).validate(written)
    assert set(schema["properties"]) == {*written, "error"}
    assert set(schema["required"]) == {*written} - {"error"}
    assert schema["properties"]["took_ms"]["type"] == "integer"
    assert answer.dump_python(shape(error), mode="json") == written


def test_a_type_without_a_json_form_is_refused() -> None:
    with pytest.raises(TypeError, match="bytes has no JSON form"):
        to_json([b""])
