"""Reads answers about images, sound, moderations, files and batches. Media are not recorded."""

import json
from collections.abc import Mapping
from typing import Any

from treadle.gateway.attempts import Attempt
from treadle.gateway.media_notes import media_note
from treadle.gateway.recorded_answer import Read, Timed, events_of, ids_of, object_of, to_json
from treadle.llm import provider_errors
from treadle.llm.usage import read_usage


def records_content(content_type: str, content_encoding: str) -> bool:
    """Whether the content of an answer with these headers is recorded, without its media.

    Only the content of uncompressed JSON and event streams is recorded. For any other answer, only
    the type and the size are recorded.
    """
    plain = content_encoding.lower() in {"", "identity"}
    return plain and any(kind in content_type.lower() for kind in ("json", "event-stream"))


def read(attempt: Attempt, blocks: list[Timed], *, model_call: bool) -> Read:
    """Read an answer. The output of a model call has the form of a message."""
    media_type = attempt.headers.get("content-type", "")
    content = b"".join(block for _, block in blocks).decode("utf-8", "replace")
    if not content.strip():
        note = media_note(media_type.partition(";")[0], attempt.size)
        return Read(output=_output(note, model_call=model_call) if attempt.size else None)
    if "event-stream" in media_type.lower():
        return _read_stream(attempt, blocks, model_call=model_call)
    body = object_of(content)
    if body is None:
        return Read(output=_output(content, model_call=model_call))
    return _read_body(body, model_call=model_call)


def _read_body(body: Mapping[str, Any], *, model_call: bool) -> Read:
    usage = body.get("usage")
    text = body.get("text") if model_call else None
    rest = {name: value for name, value in body.items() if name not in {"usage", "created"}}
    return Read(
        output=_output(text if isinstance(text, str) else to_json(rest), model_call=model_call),
        usage=read_usage(usage if isinstance(usage, Mapping) else {}),
        **(ids_of(body) if model_call else {}),
    )


def _read_stream(attempt: Attempt, blocks: list[Timed], *, model_call: bool) -> Read:
    """Read a stream of events. Its last event has the whole text or the usage."""
    first_ns: int | None = None
    last: dict[str, Any] = {}
    for at, data in events_of(blocks):
        event = object_of(data.text)
        if event is None:
            continue
        first_ns = first_ns or at
        if "error" in event:
            error = provider_errors.from_body(attempt.endpoint, event)
            return Read(error=error.message, error_type=error.kind.value, first_ns=first_ns)
        last = event
    found = _read_body({k: v for k, v in last.items() if k != "type"}, model_call=model_call)
    return Read(output=found.output, usage=found.usage, first_ns=first_ns)


def _output(text: str, *, model_call: bool) -> str:
    if not model_call:
        return text
    return json.dumps([{"role": "assistant", "content": text}], ensure_ascii=False)
