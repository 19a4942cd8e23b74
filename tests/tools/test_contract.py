from enum import StrEnum
from typing import Any

import pytest
from inline_snapshot import snapshot
from pydantic import Field, create_model

from tests.tools.samples import Echo, Needy
from treadle.tools.contract import Arguments, Registry
from treadle.tools.schemas import in_words, schema_of


class Loop(Arguments):
    title: str = Field(default="", title="Title")
    inner: "list[Loop]" = Field(default_factory=list)


def test_tools_are_found_by_name_and_kept_in_order() -> None:
    echo, needy = Echo(), Needy()
    registry = Registry([needy, echo])
    assert registry.names() == ("needy", "echo")
    assert list(registry) == [needy, echo]
    assert len(registry) == 2
    assert registry.get("echo") is echo
    assert registry.get("Echo") is None


def test_a_subset_of_tools_keeps_its_order() -> None:
    registry = Registry([Needy(), Echo()])
    assert registry.only({"echo", "unknown"}).names() == ("echo",)
    assert registry.only({"echo", "needy"}).names() == ("needy", "echo")


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools are named echo"):
        Registry([Echo(), Echo()])


def test_a_model_receives_name_description_and_a_plain_schema() -> None:
    needy, echo = Registry([Needy(), Echo()]).specs()
    assert (needy.name, needy.description, needy.parameters) == snapshot(
        (
            "needy",
            "Has an argument that must be given.",
            {
                "additionalProperties": False,
                "properties": {
                    "token_budget": {
                        "description": "How many tokens.",
                        "minimum": 1,
                        "type": "integer",
                    },
                    "hint": {"type": "string"},
                },
                "required": ["token_budget"],
                "type": "object",
            },
        )
    )
    assert echo.parameters["properties"]["pieces"] == snapshot(
        {
            "items": {
                "additionalProperties": False,
                "properties": {
                    "file": {"description": "Which file.", "type": "string"},
                    "lines": {"items": {"type": "integer"}, "type": "array"},
                },
                "required": ["file"],
                "type": "object",
            },
            "type": "array",
        }
    )


class Colour(StrEnum):
    """A colour of wool."""

    RED = "red"


class Coloured(Arguments):
    own: Colour | None = Field(default=None, description="Of the warp.")
    needed: Colour = Field(description="Of the weft.")
    several: tuple[Colour, ...] = Field(default=(), description="Of the cloth.")
    silent: Colour = Colour.RED


def test_the_docs_of_an_enumeration_do_not_replace_the_description_of_a_field() -> None:
    fields = schema_of(Coloured)["properties"]
    assert [field.get("description") for field in fields.values()] == [
        "Of the warp.",
        "Of the weft.",
        "Of the cloth.",
        None,
    ]
    assert fields["several"]["items"] == {"enum": ["red"], "type": "string"} or (
        fields["several"]["items"] == {"const": "red", "type": "string"}
    )


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (Field(min_length=1, max_length=5), "a list of 1 to 5 whose"),
        (Field(min_length=1), "a list of at least 1 whose"),
        (Field(max_length=5), "a list of at most 5 whose"),
        (Field(min_length=2, max_length=2), "a list of exactly 2 whose"),
    ],
)
def test_the_bounds_of_a_list_are_stated(field: Any, words: str) -> None:
    model = create_model("Some", __base__=Arguments, names=(list[str], field))
    assert in_words(schema_of(model)["properties"]["names"]).startswith(words)


def test_no_reference_and_no_title_is_left() -> None:
    def keys(schema: Any) -> set[str]:
        if isinstance(schema, list):
            return {key for each in schema for key in keys(each)}
        if not isinstance(schema, dict):
            return set()
        return set(schema) | {key for each in schema.values() for key in keys(each)}

    assert not keys(schema_of(Echo.arguments)) & {"$ref", "$defs", "title"}


def test_a_model_that_contains_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="contains itself"):
        schema_of(Loop)


def test_tools_can_be_added_for_one_session() -> None:
    registry = Registry([Echo()])
    assert registry.with_tools([Needy()]).names() == ("echo", "needy")
    assert registry.names() == ("echo",)
    with pytest.raises(ValueError, match="echo"):
        registry.with_tools([Echo()])
