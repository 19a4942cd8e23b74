"""What any span may say, whatever its vocabulary: labels, thread and run, and plain operations."""

from treadle.spans.span import Attributes, JsonValue, SpanKind
from treadle.spans.vocabularies.columns import Reading, content, name_of, parsed, texts

_LABELS = ("label", "labels", "treadle.labels", "x-label", "http.request.header.x-label")
_THREADS = (
    "session.id", "langfuse.session.id", "thread_id", "x-thread-id",
    "http.request.header.x-thread-id", "treadle.thread_id", "conversation.id",
    "gen_ai.conversation.id", "mlflow.trace.session", "langsmith.trace.session_id",
    "gcp.vertex.agent.session_id", "gcp.vertex.agent.conversation_id",
    "session_id", "sessionId", "conversation_id", "conversationId", "threadId", "chat_id", "chatId",
)  # fmt: skip
_METADATA = (
    "metadata", "langsmith.metadata", "langfuse.trace.metadata", "langfuse.observation.metadata",
    "mlflow.trace.metadata", "ai.telemetry.metadata", "traceloop.association.properties",
    "llm.metadata", "gen_ai.request.metadata",
)  # fmt: skip
"""What an application says of a call in its own names: an object, JSON text, or one name each."""
_IN_METADATA = (
    "session_id", "thread_id", "conversation_id", "sessionId", "threadId", "conversationId",
    "session.id", "thread.id", "conversation.id", "chat_id", "chatId", "mlflow.trace.session",
)  # fmt: skip
_FLAT_METADATA = tuple(f"{name}.{inner}" for name in _METADATA for inner in _IN_METADATA)
_RUNS = ("run_id", "run.id", "x-run-id", "http.request.header.x-run-id", "treadle.run_id")
_OPERATIONS = {
    "db": "db", "http": "http", "rpc": "rpc", "messaging": "messaging", "faas": "faas",
    "graphql": "graphql",
}  # fmt: skip
"""The operation of a span that is none of a model's or a tool's, by the names it uses."""

_QUERIES = ("db.query.text", "db.statement", "graphql.document")

NAMES = frozenset(
    (*_LABELS, *_THREADS, *_RUNS, *_QUERIES, *_METADATA, *_FLAT_METADATA, "thread.id")
)


def read(reading: Reading, prefixes: set[str]) -> None:
    """Read what has no vocabulary of its own. `prefixes` are the first parts of all names."""
    said = reading.raw.attributes
    if not NAMES.isdisjoint(said):
        for name in _LABELS:
            if name in said:
                reading.labels += texts(_single(said[name]), separator=",")
        reading.thread_id = (
            reading.thread_id
            or _first(said, _THREADS)
            or _own_thread(said)
            or _first(said, _FLAT_METADATA)
            or _thread_in_metadata(said)
        )
        reading.run_id = reading.run_id or _first(said, _RUNS)
        if reading.input is None:
            reading.input = next((content(said[name]) for name in _QUERIES if name in said), None)
    if reading.kind is None:
        operation = next((_OPERATIONS[each] for each in _OPERATIONS if each in prefixes), None)
        reading.set_kind(SpanKind.OTHER, operation)


def _first(said: Attributes, names: tuple[str, ...]) -> str | None:
    values = (name_of(_single(said[name])) for name in names if name in said)
    return next((value for value in values if value is not None), None)


def _single(value: JsonValue) -> JsonValue:
    """Headers are lists of values, nearly always of one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _own_thread(said: Attributes) -> str | None:
    """`thread.id` names a conversation only as text: as a number it is one of the system's."""
    thread = said.get("thread.id")
    return thread if isinstance(thread, str) and "thread.name" not in said and thread else None


def _thread_in_metadata(said: Attributes) -> str | None:
    for name in _METADATA:
        inner = parsed(said.get(name))
        if isinstance(inner, dict) and (found := _first(inner, _IN_METADATA)):
            return found
    return None
