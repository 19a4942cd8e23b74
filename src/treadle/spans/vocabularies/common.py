"""Attributes outside of the vocabularies: labels, thread, run, and operations of other systems."""

from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import SpanColumns
from treadle.spans.vocabularies.metadata import METADATA, THREADS_IN_METADATA
from treadle.spans.vocabularies.values import as_content, as_name, as_texts, parse_json

_LABELS = ("label", "labels", "tags", "treadle.labels", "x-label", "http.request.header.x-label")
_THREADS = (
    "session.id", "langfuse.session.id", "thread_id", "x-thread-id",
    "http.request.header.x-thread-id", "treadle.thread_id", "conversation.id",
    "gen_ai.conversation.id", "mlflow.trace.session", "langsmith.trace.session_id",
    "gcp.vertex.agent.session_id", "gcp.vertex.agent.conversation_id",
    "session_id", "sessionId", "conversation_id", "conversationId", "threadId", "chat_id", "chatId",
)  # fmt: skip
_FLAT_METADATA = tuple(f"{name}.{inner}" for name in METADATA for inner in THREADS_IN_METADATA)
_RUNS = ("run_id", "run.id", "x-run-id", "http.request.header.x-run-id", "treadle.run_id")
_OPERATIONS = {
    "db": "db", "http": "http", "rpc": "rpc", "messaging": "messaging", "faas": "faas",
    "graphql": "graphql",
}  # fmt: skip
"""Maps the first part of an attribute name to the operation of a span."""

_QUERIES = ("db.query.text", "db.statement", "graphql.document")

_NAMES = frozenset(
    (*_LABELS, *_THREADS, *_RUNS, *_QUERIES, *METADATA, *_FLAT_METADATA, "thread.id")
)


def read(columns: SpanColumns, prefixes: frozenset[str]) -> None:
    """Set columns that are still empty. `prefixes` are the first parts of all attribute names."""
    attributes = columns.raw.attributes
    if not _NAMES.isdisjoint(attributes):
        for name in _LABELS:
            if name in attributes:
                columns.labels += as_texts(_single(attributes[name]), separator=",")
        columns.thread_id = (
            columns.thread_id
            or _first(attributes, _THREADS)
            or _thread_id(attributes)
            or _first(attributes, _FLAT_METADATA)
            or _thread_in_metadata(attributes)
        )
        columns.run_id = columns.run_id or _first(attributes, _RUNS)
        if columns.input is None:
            columns.input = next(
                (as_content(attributes[name]) for name in _QUERIES if name in attributes), None
            )
    if columns.kind is None:
        operation = next((_OPERATIONS[each] for each in _OPERATIONS if each in prefixes), None)
        columns.set_kind(SpanKind.OTHER, operation)


def _first(attributes: Attributes, names: tuple[str, ...]) -> str | None:
    values = (as_name(_single(attributes[name])) for name in names if name in attributes)
    return next((value for value in values if value is not None), None)


def _single(value: JsonValue) -> JsonValue:
    """Return the entry of a list with one entry, and any other value unchanged.

    Instrumentations report a header as a list of values. MLflow encodes texts as JSON.
    """
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return parse_json(value) if isinstance(value, str) and value.startswith('"') else value


def _thread_id(attributes: Attributes) -> str | None:
    """Return `thread.id` if it is a text. A number is the id of an operating-system thread."""
    thread = attributes.get("thread.id")
    return (
        thread if isinstance(thread, str) and "thread.name" not in attributes and thread else None
    )


def _thread_in_metadata(attributes: Attributes) -> str | None:
    for name in METADATA:
        inner = parse_json(attributes.get(name))
        if isinstance(inner, dict) and (found := _first(inner, THREADS_IN_METADATA)):
            return found
    return None
