"""One attempt of a model request, told to the observer when it starts and however it ends."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from treadle import secrets
from treadle.clock import Clock
from treadle.ids import IdSource
from treadle.llm.faults import ProviderError
from treadle.llm.messages import ModelReply
from treadle.llm.port import AttemptFinished, AttemptStarted, ModelObserver


@dataclass(slots=True)
class Attempt:
    """Where whoever makes the attempt puts the reply."""

    reply: ModelReply | None = None


@asynccontextmanager
async def attempt(
    observer: ModelObserver,
    *,
    number: int,
    messages: Sequence[object],
    tools: int,
    clock: Clock,
    ids: IdSource,
) -> AsyncIterator[Attempt]:
    """Tell of an attempt that sends `messages` as the wire has them and offers so many tools."""
    # In a thread: a long history takes a while to write and to redact.
    text = await asyncio.to_thread(_recorded, messages)
    operation_id, started = ids(), clock.monotonic()
    await observer.attempt_started(AttemptStarted(operation_id, number, len(messages), tools, text))
    made = Attempt()
    failure: str | None = "an internal error"
    try:
        yield made
        failure = None
    except ProviderError as error:
        failure = error.message
        raise
    except asyncio.CancelledError:
        failure = "cancelled"
        raise
    finally:
        duration = clock.monotonic() - started
        await observer.attempt_finished(
            AttemptFinished(operation_id, number, duration, made.reply, failure)
        )


def _recorded(messages: Sequence[object]) -> str:
    return secrets.redact(json.dumps(messages, ensure_ascii=False))
