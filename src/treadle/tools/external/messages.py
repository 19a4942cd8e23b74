"""The messages between the bridge and a front end as JSON, for any transport."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from treadle.errors import UsageError
from treadle.events.encoding import plain
from treadle.events.types import CallKey, Effect, ErrorKind, ToolFailure
from treadle.tools.external.bridge import AnswerStatus, CallOffer, Connection, Withdrawal

MAX_CHARACTERS = 16_000_000
"""The maximum length of a message in characters.

A longer message is refused before it is parsed.
"""


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    request_id: UUID
    key: CallKey


class ToolResult(_Message):
    """The front end ran a call. `result` is any JSON value."""

    type: Literal["tool_result"]
    result: JsonValue


class ToolFailed(_Message):
    """The front end could not run a call.

    `error` is one sentence. `effect` states whether the call may have changed something.
    """

    type: Literal["tool_error"]
    error: str = Field(min_length=1, max_length=2_000)
    kind: ErrorKind = ErrorKind.UNAVAILABLE
    hint: str | None = Field(default=None, max_length=2_000)
    effect: Effect = Effect.UNKNOWN


class Progress(_Message):
    """The progress of a call."""

    type: Literal["tool_progress"]
    text: str


Incoming = ToolResult | ToolFailed | Progress
_INCOMING: TypeAdapter[Incoming] = TypeAdapter(Annotated[Incoming, Field(discriminator="type")])


def message_json(message: CallOffer | Withdrawal) -> dict[str, object]:
    """Return a message to a front end as a dict for `json.dumps`.

    A call is `{"type": "tool_call", "request_id", "key": {"turn", "slot"}, "call_id", "name",
    "arguments", "again"}`. A withdrawal is `{"type": "tool_call_withdrawn", "request_id", "key"}`.
    """
    sent: dict[str, object] = {
        "type": "tool_call_withdrawn",
        "request_id": str(message.request_id),
        "key": plain(message.key),
    }
    if isinstance(message, CallOffer):
        sent["type"] = "tool_call"
        sent["call_id"] = message.call_id
        sent["name"] = message.name
        sent["arguments"] = message.arguments
        sent["again"] = message.again
    return sent


async def receive(connection: Connection, text: str | bytes) -> AnswerStatus | None:
    """Handle a message of a front end. Returns the status of an answer, or None for progress.

    The message is the JSON of a `ToolResult`, `ToolFailed` or `Progress`. Raises UsageError for any
    other message.
    """
    if len(text) > MAX_CHARACTERS:
        raise UsageError(
            "The message is too long.", hint=f"Send at most {MAX_CHARACTERS:,} characters."
        )
    try:
        message = _INCOMING.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"The message is invalid: {f'{where}: ' if where else ''}{first['msg']}.",
            hint="Send tool_result, tool_error or tool_progress, with request_id and key.",
        ) from error
    match message:
        case ToolResult():
            return await connection.answer(message.request_id, message.key, message.result)
        case ToolFailed(error=why, kind=kind, hint=hint, effect=effect):
            failure = ToolFailure(kind, why, hint=hint, effect=effect)
            return await connection.answer(message.request_id, message.key, failure)
        case Progress():
            await connection.report(message.request_id, message.key, message.text)
    return None
