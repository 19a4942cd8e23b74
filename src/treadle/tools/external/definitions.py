"""The definition of an external tool, and the tool that the session receives."""

import copy
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from treadle.errors import UsageError
from treadle.events.types import ErrorKind, ToolView
from treadle.tools.contract import (
    Arguments,
    Result,
    Tool,
    ToolClass,
    ToolContext,
    ToolEffect,
    ToolError,
    ToolPlace,
)
from treadle.tools.schemas import JsonSchema, in_words, plain_schema, schema_at

if TYPE_CHECKING:  # a slow import, needed only for external tools
    from jsonschema.exceptions import ValidationError  # type: ignore[import-untyped]

SHOWN_CHARACTERS = 100
"""The number of characters of an invalid value that an error shows."""

Ask = Callable[["ExternalTool", JsonValue, ToolContext], Awaitable[JsonValue]]
"""A function that sends the arguments to a front end and returns the answer of the front end."""


class ToolDefinition(BaseModel):
    """A tool as a front end describes it. `parameters` is the JSON schema of its arguments.

    An argument that the schema does not name is refused unless `additionalProperties` allows it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: str = Field(min_length=1)
    type: Literal["function"] = "function"
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    effect: ToolEffect = ToolEffect.UI
    tool_class: ToolClass = Field(default=ToolClass.REALTIME, alias="class")
    timeout: float | None = Field(default=None, gt=0)
    """The time limit in seconds. None means the configured default."""


class ExternalResult(Result):
    """The result of an external tool: the answer of the front end."""

    type: str = "external"
    result: JsonValue


class ExternalTool(Tool[Any, ExternalResult]):
    """A tool whose calls a front end runs."""

    place = ToolPlace.EXTERNAL
    result = ExternalResult

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def run(self, arguments: Arguments, context: ToolContext) -> ExternalResult:
        return ExternalResult(result=await self._ask(self, arguments.model_dump(), context))

    def view(self, arguments: Arguments, result: ExternalResult) -> ToolView:  # noqa: ARG002
        return ToolView(f"{self.name}: the front end answered")


def external_tool(definition: ToolDefinition, ask: Ask) -> ExternalTool:
    """Build the tool of a definition. Raises UsageError for an unusable schema."""

    class Defined(ExternalTool):
        name = definition.name
        description = definition.description
        effect = definition.effect
        tool_class = definition.tool_class
        timeout = definition.timeout
        arguments = arguments_model(definition.name, _usable_schema(definition))

    return Defined(ask)


def arguments_model(name: str, schema: JsonSchema) -> type[Arguments]:
    """Return a pydantic class that accepts the arguments that `schema` allows.

    `name` is the name of the tool, for errors. `schema` is an object schema without references.
    """
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # ships no types
    from jsonschema.exceptions import best_match

    validator = Draft202012Validator(schema)

    class Given(Arguments):
        model_config = ConfigDict(extra="allow")

        @classmethod
        def __get_pydantic_json_schema__(cls, _core: object, _handler: object) -> JsonSchema:
            return copy.deepcopy(schema)

        @model_validator(mode="before")
        @classmethod
        def _fit(cls, value: Any) -> Any:
            error = best_match(validator.iter_errors(value))
            if error is not None:
                raise _tool_error(name, schema, error)  # pydantic passes this error on unchanged
            return value

    return Given


def _usable_schema(definition: ToolDefinition) -> JsonSchema:
    """Return the schema in plain form. Raises UsageError if it cannot be used.

    Arguments that the schema does not name are refused by default.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    schema: JsonSchema = copy.deepcopy(definition.parameters)
    schema.setdefault("properties", {})
    schema.setdefault("additionalProperties", False)
    if schema.setdefault("type", "object") != "object":
        raise _unusable(definition.name, "their type is not object")
    try:
        Draft202012Validator.check_schema(schema)
        schema["$defs"] = schema.pop("definitions", {}) | schema.get("$defs", {})
        return plain_schema(schema)
    except SchemaError as error:
        raise _unusable(definition.name, error.message) from error
    except (ValueError, KeyError, RecursionError) as error:
        raise _unusable(definition.name, str(error)) from error


def _unusable(tool: str, description: str) -> UsageError:
    return UsageError(
        f"The parameters of the tool {tool} are not a usable JSON schema: {description}.",
        hint='Use a JSON schema of type "object" without references to other documents.',
    )


def _tool_error(tool: str, schema: JsonSchema, error: "ValidationError") -> ToolError:
    path = tuple(error.absolute_path)
    field_schema = schema_at(schema, path) if path else None
    field = ".".join(map(str, path))
    where = f"`{field}` of {tool}" if field else tool
    known = ", ".join(f"`{name}`" for name in schema["properties"])
    return ToolError(
        ErrorKind.VALIDATION,
        f"{where} is invalid: {_cut(error.message)}.",
        field=field or None,
        expected=in_words(field_schema) if field_schema else None,
        received=_cut(repr(error.instance)) if field else None,
        hint=f"The arguments are {known}." if known else "The tool takes no arguments.",
    )


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
