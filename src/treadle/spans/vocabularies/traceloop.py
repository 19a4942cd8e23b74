"""The vocabulary of Traceloop (OpenLLMetry): its decorators and properties, `traceloop.…`.

Traceloop's instrumentations of providers use the vocabulary of OpenTelemetry, which `gen_ai` reads.
"""

from treadle.spans.span import JsonValue, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.values import as_content, as_name, as_text, as_texts, parse_json

_KINDS = {
    "workflow": (SpanKind.AGENT, "invoke_workflow"),
    "task": (SpanKind.AGENT, "task"),
    "agent": (SpanKind.AGENT, "invoke_agent"),
    "tool": (SpanKind.TOOL, "execute_tool"),
}
_PROPERTIES = "traceloop.association.properties."
_THREADS = ("session_id", "thread_id", "conversation_id", "chat_id")


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    kind = attributes.get("traceloop.span.kind")
    if isinstance(kind, str) and kind in _KINDS:
        columns.set_kind(*_KINDS[kind])
    if columns.kind is SpanKind.TOOL and columns.tool is None:
        columns.tool = as_text(attributes.get("traceloop.entity.name"))
    if columns.input is None:
        columns.input = _arguments(attributes.get("traceloop.entity.input"))
    if columns.output is None:
        result = parse_json(attributes.get("traceloop.entity.output"))
        # Traceloop encodes a returned text as JSON. Other results stay JSON.
        plain = isinstance(result, str)
        columns.output = as_content(result if plain else attributes.get("traceloop.entity.output"))
    for name in _THREADS:
        if columns.thread_id is None:
            columns.thread_id = as_name(attributes.get(_PROPERTIES + name))
    if columns.run_id is None:
        columns.run_id = as_name(attributes.get(f"{_PROPERTIES}run_id"))
    for name in ("tags", "labels"):
        if _PROPERTIES + name in attributes:
            columns.labels += as_texts(attributes[_PROPERTIES + name])


def _arguments(given: JsonValue) -> str | None:
    """Return the arguments of a function. An empty list of positional arguments is left out."""
    value = parse_json(given)
    if isinstance(value, dict) and set(value) == {"args", "kwargs"} and not value["args"]:
        return as_content(value["kwargs"])
    return as_content(given)


VOCABULARY = Vocabulary(_read, prefixes=frozenset({"traceloop"}))
