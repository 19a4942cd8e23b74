"""Readers of attribute values: text, numbers, JSON, dotted names, and names of providers."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from treadle.llm.usage import MAX_TOKENS, read_cost
from treadle.spans.span import Attributes, JsonValue

_LONGEST_SECONDS = 1_000_000_000
_INDEX_DIGITS = 6
_STEPS = 12

Nested = dict[str, Any]


def as_text(value: JsonValue) -> str | None:
    """Return `value` if it is a text that is not blank, and otherwise None."""
    return value if isinstance(value, str) and value.strip() else None


def as_name(value: JsonValue) -> str | None:
    """Return `value` as an id or a name, or None if it is neither a text nor a number.

    A double such as 1.0 becomes "1". Logfire sends two texts that are not names: `null` in place of
    None, and the text with which it replaces values that look like secrets. MLflow sends the `repr`
    of a placeholder for an argument that was not given.
    """
    if isinstance(value, str) and (value == "null" or value.startswith(_NO_NAMES)):
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return as_text(value)


_NO_NAMES = ("[Scrubbed due to ", "<openai.")


def as_content(value: JsonValue) -> str | None:
    """Return a text unchanged, and any other value as JSON text. None stays None."""
    if value is None or isinstance(value, str):
        return value
    return to_json(value)


def as_count(value: JsonValue) -> int | None:
    """Return `value` as a number of tokens, or None if it is not a valid one."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 12:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is int and 0 <= value <= MAX_TOKENS:
        return value
    return None


def as_dollars(value: JsonValue) -> float | None:
    """Return `value` as a cost in US dollars, or None if it is not a valid one."""
    return read_cost(_number(value))


def as_microseconds(value: JsonValue, unit_us: int) -> int | None:
    """Return the duration `value` in microseconds.

    The result is None if `value` is invalid. `unit_us` is the unit of `value` in microseconds.
    """
    number = _number(value)
    if number is None or not 0 <= number <= _LONGEST_SECONDS:  # this refuses NaN too
        return None
    return round(number * unit_us)


def _number(value: JsonValue) -> int | float | None:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None if isinstance(value, bool) or not isinstance(value, int | float) else value


def parse_json(value: JsonValue) -> Any:
    """Return the value of a JSON text. Any other value is returned unchanged."""
    if not isinstance(value, str) or value[:1] not in _BEGINS:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def parse_mapping(value: JsonValue) -> Mapping[str, Any] | None:
    """Return a map, or the map in a JSON text or in a text that Python's `repr` wrote.

    The result is None for any other value.
    """
    parsed = parse_json(value)
    if isinstance(parsed, str) and parsed.startswith("{"):
        parsed = parse_json(_PYTHON_VALUE.sub(_as_json, parsed))
    return parsed if isinstance(parsed, Mapping) else None


_PYTHON_VALUE = re.compile(r"""'[^'\\]*'|"[^"\\]*"|None|True|False""")
_CONSTANTS = {"None": "null", "True": "true", "False": "false"}


def _as_json(found: re.Match[str]) -> str:
    text = found[0]
    return json.dumps(text[1:-1]) if text.startswith("'") else _CONSTANTS.get(text, text)


_BEGINS = frozenset('[{"')


def to_json(value: Any) -> str | None:
    """Return JSON text in which letters are not escaped.

    The result is None if `value` is nested too deeply.
    """
    try:
        return _WRITER.encode(value)
    except RecursionError:
        return None


_WRITER = json.JSONEncoder(ensure_ascii=False)


def summarize_vectors(vectors: Sequence[JsonValue]) -> str | None:
    """Return the number of vectors and of their dimensions as JSON text, or None without vectors.

    The vectors themselves are left out, since a reader cannot use them. The attributes keep them.
    """
    if not vectors:
        return None
    first = parse_json(vectors[0])
    dimensions = len(first) if isinstance(first, list) else None
    return to_json({"dimensions": dimensions, "count": len(vectors)})


def function_arguments(given: JsonValue, *, of_tool: bool) -> JsonValue:
    """Return the arguments of a call that a decorator recorded as `{"args": …, "kwargs": …}`.

    If all arguments are named, only the map of these is returned. If a text is the only argument of
    a function that is not a tool, that text is returned. Any other value is returned unchanged.
    """
    call = parse_json(given)
    if not isinstance(call, dict) or set(call) != {"args", "kwargs"}:
        return given
    positional, named = call["args"], call["kwargs"]
    if not positional:
        return named if isinstance(named, dict) else given
    is_question = isinstance(positional, list) and len(positional) == 1 and not named
    if is_question and isinstance(positional[0], str) and not of_tool:
        return positional[0]
    return given


def as_texts(value: JsonValue, *, separator: str | None = None) -> list[str]:
    """Return the texts of a list, of a JSON list, or of one text that `separator` splits."""
    value = parse_json(value)
    if isinstance(value, str):
        return [each.strip() for each in (value.split(separator) if separator else [value])]
    if isinstance(value, list | tuple):
        return [each.strip() for each in value if isinstance(each, str)]
    return []


def nest_attributes(attributes: Attributes, *prefixes: str) -> dict[str, Nested]:
    """Return the attributes under each prefix, such as `llm.input.`, as nested maps.

    Each part of a dotted name is a key. One pass over the attributes handles all prefixes.
    """
    found: dict[str, Nested] = {}
    for key, value in attributes.items():
        if key.startswith(prefixes):
            for prefix in prefixes:
                if key.startswith(prefix):
                    _put(found.setdefault(prefix, {}), key[len(prefix) :], value)
                    break
    return found


def _put(tree: Nested, key: str, value: Any) -> None:
    *path, last = key.split(".", _STEPS)
    for step in path:
        tree = tree.setdefault(step, {})
        if not isinstance(tree, dict):
            return
    tree[last] = value


def list_items(value: Any) -> list[Any]:
    """Return the entries of a list, or of a map whose keys are indexes, in order."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return []
    numbered = [key for key in value if key.isdecimal() and len(key) <= _INDEX_DIGITS]
    return [value[key] for key in sorted(numbered, key=int)]


def nest_names(value: Any) -> Any:
    """Return `value` with nested maps in place of dotted names, at every level."""
    if isinstance(value, list):
        return [nest_names(each) for each in value]
    if not isinstance(value, dict):
        return value
    found: Nested = {}
    for key, each in value.items():
        _put(found, key, nest_names(each))
    return found


_PROVIDERS = {
    "az.ai.openai": "azure.ai.openai",
    "azure": "azure.ai.openai",
    "azure-openai": "azure.ai.openai",
    "azure_openai": "azure.ai.openai",
    "azure_text": "azure.ai.openai",
    "text-completion-openai": "openai",
    "az.ai.inference": "azure.ai.inference",
    "aws": "aws.bedrock",
    "bedrock": "aws.bedrock",
    "amazon-bedrock": "aws.bedrock",
    "google": "gcp.gen_ai",
    "vertexai": "gcp.vertex_ai",
    "vertex_ai": "gcp.vertex_ai",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "xai": "x_ai",
    "together": "together_ai",
    "togetherai": "together_ai",
}

_FRAMEWORKS = frozenset(
    {"strands-agents", "langchain", "langgraph", "crewai", "autogen", "llamaindex", "agno",
     "smolagents", "haystack", "semantic-kernel", "microsoft.agent_framework"}
)  # fmt: skip
"""Libraries that send their own name in place of the name of a provider."""

_APIS = frozenset(
    {"chat", "responses", "completion", "completions", "messages", "embedding", "embeddings",
     "textembedding", "generative-ai", "image", "transcription", "speech", "generateContent"}
)  # fmt: skip
"""APIs that Vercel's SDK appends to the name of a provider, as in `openai.chat`."""


def canonical_provider(name: str | None) -> str | None:
    """Return OpenTelemetry's name for a provider.

    An unknown name is only converted to lower case. The name of a library in `_FRAMEWORKS` becomes
    None.
    """
    if name is None or name in _FRAMEWORKS:
        return None
    head, _, api = name.partition(".")
    if api in _APIS:
        name = head
    elif name.startswith("google.vertex"):
        name = "vertexai"
    lowered = name.lower()
    return _PROVIDERS.get(lowered, lowered)
