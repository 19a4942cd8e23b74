"""The vocabulary of Traceloop (OpenLLMetry): its decorators and properties, `traceloop.…`.

Traceloop's instrumentations of providers use the vocabulary of OpenTelemetry, which `gen_ai` reads.
"""

from treadle.spans.span import Attributes, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.values import (
    as_content,
    as_name,
    as_text,
    as_texts,
    function_arguments,
    parse_json,
)

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
    if columns.name is None:
        columns.name = _name(columns.raw.name, attributes)
    _read_call(columns, attributes)
    _read_properties(columns, attributes)


def _read_call(columns: SpanColumns, attributes: Attributes) -> None:
    """Read the arguments and the result of a function."""
    if columns.input is None:
        given = attributes.get("traceloop.entity.input")
        is_tool = columns.kind is SpanKind.TOOL
        columns.input = as_content(function_arguments(given, of_tool=is_tool))
    if columns.output is None:
        result = parse_json(attributes.get("traceloop.entity.output"))
        # Traceloop encodes a returned text as JSON. Other results stay JSON.
        plain = isinstance(result, str)
        columns.output = as_content(result if plain else attributes.get("traceloop.entity.output"))


def _read_properties(columns: SpanColumns, attributes: Attributes) -> None:
    for name in _THREADS:
        if columns.thread_id is None:
            columns.thread_id = as_name(attributes.get(_PROPERTIES + name))
    if columns.run_id is None:
        columns.run_id = as_name(attributes.get(f"{_PROPERTIES}run_id"))
    for name in ("tags", "labels"):
        if _PROPERTIES + name in attributes:
            columns.labels += as_texts(attributes[_PROPERTIES + name])


def _name(name: str, attributes: Attributes) -> str | None:
    """Return the name of a workflow, agent or task without the kind that Traceloop appends."""
    entity = as_text(attributes.get("traceloop.entity.name"))
    kind = attributes.get("traceloop.span.kind")
    return entity if entity is not None and name == f"{entity}.{kind}" else None


VOCABULARY = Vocabulary(_read, prefixes=frozenset({"traceloop"}))
