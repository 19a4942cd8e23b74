"""Traceloop (OpenLLMetry): its decorators and association properties, `traceloop.…`.

What its instrumentations of providers send is OpenTelemetry's vocabulary, in older versions in
flattened form (`gen_ai.prompt.0.role`), which `gen_ai` reads.
"""

from treadle.spans.span import JsonValue, SpanKind
from treadle.spans.vocabularies.columns import Reading, content, name_of, parsed, text, texts

_KINDS = {
    "workflow": (SpanKind.AGENT, "invoke_workflow"),
    "task": (SpanKind.AGENT, "task"),
    "agent": (SpanKind.AGENT, "invoke_agent"),
    "tool": (SpanKind.TOOL, "execute_tool"),
}
_PROPERTIES = "traceloop.association.properties."
_THREADS = ("session_id", "thread_id", "conversation_id", "chat_id")


def read(reading: Reading) -> None:
    """Read `traceloop.…`."""
    said = reading.raw.attributes
    kind = said.get("traceloop.span.kind")
    if isinstance(kind, str) and kind in _KINDS:
        reading.set_kind(*_KINDS[kind])
    if reading.kind is SpanKind.TOOL and reading.tool is None:
        reading.tool = text(said.get("traceloop.entity.name"))
    if reading.input is None:
        reading.input = _arguments(said.get("traceloop.entity.input"))
    if reading.output is None:
        result = parsed(said.get("traceloop.entity.output"))
        # A text that a function gave back was encoded on the way; anything else stays as it is.
        plain = isinstance(result, str)
        reading.output = content(result if plain else said.get("traceloop.entity.output"))
    for name in _THREADS:
        if reading.thread_id is None:
            reading.thread_id = name_of(said.get(_PROPERTIES + name))
    if reading.run_id is None:
        reading.run_id = name_of(said.get(f"{_PROPERTIES}run_id"))
    for name in ("tags", "labels"):
        if _PROPERTIES + name in said:
            reading.labels += texts(said[_PROPERTIES + name])


def _arguments(given: JsonValue) -> str | None:
    """What a function was called with; without the frame of its decorator where it is all names."""
    value = parsed(given)
    if isinstance(value, dict) and set(value) == {"args", "kwargs"} and not value["args"]:
        return content(value["kwargs"])
    return content(given)
