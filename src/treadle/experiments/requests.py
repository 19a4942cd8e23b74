"""Patches, validates and renders the requests of experiments."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from treadle.experiments.model import Document, Experiment

SYSTEM = "system"
"""The key of a patch that sets the text of the system message.

If a request has no system message, one is inserted before the other messages. Therefore one patch
can change the instructions of many recorded calls.
"""

_FIELDS = ("model", "messages", "parameters", "tools", "headers", "variables")
_EMPTY: dict[str, Any] = {"parameters": {}, "tools": [], "headers": {}, "variables": {}}

_PLACED = frozenset({"model", "messages", "tools", "functions"})
_OF_GATEWAY = frozenset({
    "authorization", "proxy-authorization", "api-key", "x-api-key", "cookie", "host", "connection",
    "content-length", "content-type", "content-encoding", "transfer-encoding", "accept-encoding",
    "cache-control", "traceparent", "tracestate", "x-thread-id", "x-run-id", "x-label",
})  # fmt: skip
"""Headers that an experiment cannot set.

They contain API keys, describe the connection, or determine the span of the call.
"""

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_LONGEST_HEADER = 8_000


@dataclass(frozen=True, slots=True)
class Problem:
    """An error in a request. `field` is a path such as `messages[0].role`."""

    field: str
    message: str


def patched(document: Document, patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a merge patch (RFC 7396).

    The result has all fields of a request, even if they are empty.
    """
    given = {name: value for name, value in patch.items() if name != SYSTEM}
    merged = _EMPTY | _merged(document, given)
    known = {name: merged.pop(name) for name in _FIELDS if name in merged}
    result = {**known, **merged}
    if patch.get(SYSTEM) is not None:
        result["messages"] = _with_system(result.get("messages") or [], patch[SYSTEM])
    return result


def problems(document: Mapping[str, Any]) -> tuple[Problem, ...]:
    """The errors in a request, in the order of its fields.

    The result is empty for a valid request.
    """
    try:
        _Request.model_validate(dict(document))
    except ValidationError as error:
        found = (
            Problem(_path(each["loc"]), _words(each["type"], each["msg"], each["loc"]))
            for each in error.errors()
        )
        # For a union, pydantic reports an error for each alternative. Only the first error of a
        # field is kept.
        return tuple({problem.field: problem for problem in reversed([*found])}.values())[::-1]
    return ()


def unused_variables(documents: Sequence[Document]) -> tuple[Problem, ...]:
    """An error for each variable that no message of these requests uses.

    Such a variable is probably a typing error.
    """
    used = {name for each in documents for name in _placeholders(each.get("messages"))}
    defined = {name for each in documents for name in each.get("variables", {})}
    return tuple(
        Problem(f"variables.{name}", f"No message contains {{{{{name}}}}}.")
        for name in sorted(defined - used)
    )


def body_of(document: Document, model: str | None = None) -> dict[str, Any]:
    """The body to send, in which values replace the variables.

    If `model` is not None, it replaces the model of the request.
    """
    values = document.get("variables", {})
    body = {
        "model": model or document["model"],
        "messages": _filled(document["messages"], values),
        **document.get("parameters", {}),
    }
    if document.get("tools"):
        body["tools"] = document["tools"]
    return body


def _merged(target: object, patch: object) -> Any:
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value)
    return result


def _with_system(messages: list[Any], text: object) -> list[Any]:
    first = messages[0] if messages else None
    if isinstance(first, Mapping) and first.get("role") in {"system", "developer"}:
        return [{**first, "content": text}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def _placeholders(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from _VARIABLE.findall(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _placeholders(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _placeholders(each)


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """Replace each `{{name}}` in `value` by the value of the name in `values`.

    A name without a value stays unchanged.
    """
    if not values:
        return value
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: values.get(found[1], found[0]), value)
    if isinstance(value, Mapping):
        return {name: _filled(each, values) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(each, values) for each in value]
    return value


def _path(location: Sequence[int | str]) -> str:
    """The path of a location, such as `messages[0].role`.

    Pydantic's names for the alternatives of a union are left out.
    """
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part in _ARMS:
            break
        else:
            path += f".{part}" if path else part
    return path


_ARMS = frozenset({"str", "[key]", "list[dict[str,any]]"})
_KINDS = {
    "model_type": "It should be an object.",
    "dict_type": "It should be an object.",
    "list_type": "It should be a list.",
    "string_type": "It should be a text.",
}
_CONTENT = "It should be a text, a list of parts, or null."


def _words(kind: str, message: str, location: Sequence[int | str]) -> str:
    if kind == "missing":
        return "It is missing."
    if kind in _KINDS:
        return _KINDS[kind] if location[-1] not in _ARMS else _CONTENT
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(location[-1]), [*_FIELDS, SYSTEM], n=1)
        meant = f" Did you mean {near[0]}?" if near else f" There are {', '.join(_FIELDS)}."
        return f"There is no such field.{meant}"
    text = message.removeprefix("Value error, ")
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


class _Lenient(BaseModel):
    """Allows unknown fields.

    Providers define more fields, and recorded calls must stay unchanged.
    """

    model_config = ConfigDict(extra="allow", strict=True)


class _Function(_Lenient):
    name: Annotated[str, Field(min_length=1)]
    arguments: str
    """The text that the model wrote. It need not be JSON."""


class _ToolCall(_Lenient):
    function: _Function


class _Message(_Lenient):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_id: str | None = None

    @model_validator(mode="after")
    def _names_its_call(self) -> "_Message":
        if self.role == "tool" and not self.tool_call_id:
            raise ValueError("a message of the role tool needs the tool_call_id that it answers")
        return self


class _OfferedFunction(_Lenient):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,128}$")]
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None


class _Tool(_Lenient):
    type: Literal["function"] = "function"
    function: _OfferedFunction


def _distinct(tools: list[_Tool]) -> list[_Tool]:
    names = [tool.function.name for tool in tools]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two tools are named {twice}")
    return tools


def _own_parameter(value: object) -> object:
    if isinstance(value, Mapping):
        wrong = next((name for name in value if name in _PLACED), None)
        if wrong is not None:
            raise ValueError(f"{wrong} is set separately from the parameters")
    return value


class _Parameters(_Lenient):
    """The parameters that have the same limits at all providers.

    Other parameters are not checked.
    """

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    seed: int | None = None
    stream: bool | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None
    """The number of answers, which must be 1.

    For more answers, a batch repeats the call. Each answer then has its own time and cost.
    """


def _header_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise ValueError("that is not a valid header name")
    if name.lower() in _OF_GATEWAY or name.lower().startswith("x-treadle-"):
        raise ValueError("an experiment cannot set this header")
    return name


def _header_value(value: str) -> str:
    if not (value.isascii() and value.isprintable() and len(value) <= _LONGEST_HEADER):
        raise ValueError("a header contains only printable ASCII")
    return value


def _model_name(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ValueError("name a model, such as PROVIDER/MODEL")
    return name


_Header = Annotated[str, AfterValidator(_header_name)]
_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    model: Annotated[str, AfterValidator(_model_name)]
    messages: Annotated[list[_Message], Field(min_length=1)]
    parameters: Annotated[_Parameters, BeforeValidator(_own_parameter)]
    tools: Annotated[list[_Tool], AfterValidator(_distinct)]
    headers: dict[_Header, Annotated[str, AfterValidator(_header_value)]]
    variables: dict[_Variable, str]


def document_of(experiment: Experiment, item: int, version: int) -> dict[str, Any]:
    """The request of the item number `item`, with all patches up to `version` applied."""
    document = patched(experiment.items[item].request, {})
    for each in experiment.versions[:version]:
        document = patched(document, each.patch)
    return document


def same_requests(experiment: Experiment, first: int, second: int) -> bool:
    """Whether two versions have the same request for every item."""
    return all(
        document_of(experiment, item.number, first) == document_of(experiment, item.number, second)
        for item in experiment.items
    )


def problems_of(experiment: Experiment, version: int) -> tuple[Problem, ...]:
    """The errors in the requests of a version.

    With several items, the path of a field begins with the item.
    """
    documents = [document_of(experiment, item.number, version) for item in experiment.items]
    found = [
        Problem(f"items[{number}].{problem.field}" if len(documents) > 1 else problem.field,
                problem.message)
        for number, document in enumerate(documents)
        for problem in problems(document)
    ]  # fmt: skip
    return (*_without_repeats(found), *unused_variables(documents))


def _without_repeats(found: Sequence[Problem]) -> tuple[Problem, ...]:
    """Keep the first of equal errors.

    A wrong patch causes the same error in the request of every item.
    """
    seen: dict[tuple[str, str], Problem] = {}
    for problem in found:
        field = problem.field.split("].", 1)[-1] if problem.field.startswith("items[") else None
        seen.setdefault((field or problem.field, problem.message), problem)
    return tuple(seen.values())
