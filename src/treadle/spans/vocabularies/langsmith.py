"""The vocabulary of LangSmith's exporter, `langsmith.…`.

LangSmith sends the tokens and the model in the vocabulary of OpenTelemetry, which `gen_ai` reads.
"""

from treadle.spans.span import EXCEPTION_EVENT, Attributes, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns, Vocabulary
from treadle.spans.vocabularies.values import as_content, as_text, as_texts, parse_json

_KINDS = {
    "llm": (SpanKind.MODEL, "chat"),
    "chain": (SpanKind.AGENT, "chain"),
    "tool": (SpanKind.TOOL, "execute_tool"),
    "retriever": (SpanKind.RETRIEVAL, "retrieval"),
    "embedding": (SpanKind.EMBEDDING, "embeddings"),
    "prompt": (SpanKind.OTHER, "prompt"),
    "parser": (SpanKind.OTHER, "parse"),
}
_STEPS = ("seq:step:", "graph:step:", "map:key:")
"""The prefixes of tags that LangChain adds to the steps of a chain."""


def _read(columns: SpanColumns) -> None:
    attributes = columns.raw.attributes
    kind = attributes.get("langsmith.span.kind")
    if isinstance(kind, str) and kind in _KINDS:
        columns.set_kind(*_KINDS[kind])
    tags = as_texts(attributes.get("langsmith.span.tags"), separator=",")
    columns.labels += [tag for tag in tags if tag and not tag.startswith(_STEPS)]
    # For most failed calls, LangSmith reports the status OK, and the exception as an event.
    columns.failed |= any(event.name == EXCEPTION_EVENT for event in columns.raw.events)
    if columns.kind in (SpanKind.TOOL, SpanKind.RETRIEVAL):
        _read_call(columns, attributes)


def _read_call(columns: SpanColumns, attributes: Attributes) -> None:
    """Read the arguments and the result of a tool or a retriever."""
    given, returned = (parse_json(attributes.get(f"gen_ai.{n}")) for n in ("prompt", "completion"))
    if columns.tool is None and columns.kind is SpanKind.TOOL:
        columns.tool = as_text(attributes.get("gen_ai.tool.name")) or as_text(columns.raw.name)
    if columns.kind is SpanKind.RETRIEVAL:
        given = given.get("query", given) if isinstance(given, dict) else given
        returned = returned.get("documents", returned) if isinstance(returned, dict) else returned
    if columns.input is None:
        columns.input = as_content(given)
    if columns.output is None and returned != {}:  # a failed call has an empty result
        is_wrapped = isinstance(returned, dict) and set(returned) == {"output"}
        columns.output = as_content(returned["output"] if is_wrapped else returned)


VOCABULARY = Vocabulary(_read, prefixes=frozenset({"langsmith"}))
