"""The user, the release and the metadata that an application attaches to its spans."""

from treadle.spans.span import MAX_METADATA_TEXT, Attributes, JsonValue
from treadle.spans.vocabularies import litellm
from treadle.spans.vocabularies.columns import SpanColumns
from treadle.spans.vocabularies.values import as_name, parse_json

METADATA = (
    "metadata", "langsmith.metadata", "langfuse.observation.metadata", "langfuse.trace.metadata",
    "mlflow.trace.metadata", "ai.telemetry.metadata", "ai.settings.context",
    "traceloop.association.properties", "llm.metadata", "gen_ai.request.metadata",
    "treadle.request.metadata",
)  # fmt: skip
"""The names of attributes with the metadata of an application.

The value is an object or its JSON text. Otherwise each key has its own attribute, such as
`metadata.tenant`.
"""

_FLAT_METADATA = tuple(f"{name}." for name in METADATA)
_PREFIXES = frozenset({"metadata", "langsmith", "langfuse", "mlflow", "ai", "traceloop"})
"""The first part of the name of every attribute that states a single key of the metadata."""

_JSON_METADATA = ("langfuse.observation.metadata.", "langfuse.trace.metadata.")
"""The prefixes of attributes whose values are JSON text."""

THREADS_IN_METADATA = (
    "session_id", "thread_id", "conversation_id", "sessionId", "threadId", "conversationId",
    "session.id", "thread.id", "conversation.id", "chat_id", "chatId", "mlflow.trace.session",
)  # fmt: skip
"""The keys of the metadata that name a thread."""

_USERS = (
    "langfuse.user.id", "langfuse.trace.user_id", "user.id", "enduser.id", "user", "user_id",
    "userId", "mlflow.trace.user", "gen_ai.user.id", "gen_ai.user", "gen_ai.request.user",
    "llm.user", "langsmith.trace.user_id", "enduser.pseudo.id", "treadle.user", "x-user-id",
    "http.request.header.x-user-id", "treadle.request.user", "treadle.request.safety_identifier",
)  # fmt: skip
_USERS_IN_METADATA = (
    "user_id", "userId", "user.id", "user", "enduser.id", "mlflow.trace.user", "langfuse_user_id",
)  # fmt: skip
_RELEASES = ("langfuse.release", "release", "treadle.release", "service.version", "app.version")
_RESOURCE_RELEASES = ("langfuse.release", "service.version")
_RELEASES_IN_METADATA = ("release", "langfuse_release")

_NAMES = frozenset((*METADATA, *_USERS, *_RELEASES))


def read(columns: SpanColumns, prefixes: frozenset[str]) -> None:
    """Set the columns that are still empty.

    `prefixes` are the first parts of the names of all attributes.
    """
    attributes = columns.raw.attributes
    named = not _NAMES.isdisjoint(attributes)
    if named:
        for name in METADATA:
            given = parse_json(attributes[name]) if name in attributes else None
            if isinstance(given, dict):
                columns.add_metadata(given)
    if not _PREFIXES.isdisjoint(prefixes) and litellm.CALL_ID not in attributes:
        _read_flat(columns, attributes)
    if named or columns.metadata:
        columns.user = (
            columns.user
            or _first(attributes, _USERS)
            or _first(columns.metadata, _USERS_IN_METADATA)
        )
        columns.release = (
            columns.release
            or _first(attributes, _RELEASES)
            or _first(columns.metadata, _RELEASES_IN_METADATA)
        )
    if columns.release is None and columns.raw.resource:
        columns.release = _first(columns.raw.resource, _RESOURCE_RELEASES)
    if columns.metadata:
        _leave_out_fields(columns)


def _leave_out_fields(columns: SpanColumns) -> None:
    """Remove the user, the release and the thread from the metadata. They have their own fields."""
    fields = (
        (columns.user, _USERS_IN_METADATA),
        (columns.release, _RELEASES_IN_METADATA),
        (columns.thread_id, THREADS_IN_METADATA),
    )
    for value, keys in fields:
        for key in keys:
            if key in columns.metadata and as_name(columns.metadata[key]) == value:
                del columns.metadata[key]


def _read_flat(columns: SpanColumns, attributes: Attributes) -> None:
    """Read the attributes that each state a single key of the metadata."""
    values: dict[str, JsonValue] = {}
    for name, value in attributes.items():
        if name.startswith(_FLAT_METADATA):
            prefix = next(each for each in _FLAT_METADATA if name.startswith(each))
            given = parse_json(value) if prefix in _JSON_METADATA else value
            values.setdefault(name[len(prefix) :], given)
    if values:
        columns.add_metadata(values)


def _first(attributes: Attributes, names: tuple[str, ...]) -> str | None:
    values = (_name(attributes[name]) for name in names if name in attributes)
    return next((value for value in values if value is not None), None)


def _name(value: JsonValue) -> str | None:
    """Return a text or a number as a name. The result is None for a long text or another value.

    A list with one entry, such as the value of a header, is read as this entry. JSON text is
    decoded, since MLflow sends texts in this form.
    """
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    name = as_name(parse_json(value))
    return name if name is not None and len(name) <= MAX_METADATA_TEXT else None
