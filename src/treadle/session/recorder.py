"""Records one session in a cassette: its model requests, contexts and results."""

import asyncio
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

import treadle
from treadle.events import Envelope, EventBus, Subscription
from treadle.events.bus import Listener
from treadle.events.encoding import plain
from treadle.events.types import (
    Event,
    RetrievalFinished,
    SessionStarted,
    ToolCallCompleted,
    ToolCallFailed,
)
from treadle.instructions.model import Instructions
from treadle.llm.chat_model import (
    AttemptFinished,
    AttemptStarted,
    ChatModel,
    ModelObserver,
    ModelReplacedError,
    ModelWrapper,
)
from treadle.llm.messages import ChatRequest, ModelReply
from treadle.llm.provider_errors import ProviderError
from treadle.session.attachments import ResolvedAttachments
from treadle.session.cassette import VERSION, CassetteWriter, Json, message_json, request_json
from treadle.session.conversation import Conversation
from treadle.session.instructions import ReadInstructions
from treadle.session.session import AutomaticContext, ReadPinned
from treadle.tools.contract import Registry


class SessionRecording(Listener):
    """Records one session. Pass its wrappers of the model and of the context to the session."""

    def __init__(self, path: Path, bus: EventBus, request_id: UUID) -> None:
        """Create the cassette. Raises UsageError if the file cannot be created."""
        self._writer = CassetteWriter(path)
        self._bus = bus
        self._request_id = request_id

    async def __aexit__(self, *exception: object) -> None:
        await super().__aexit__(*exception)
        self._writer.close()

    def _subscribe(self) -> Subscription:
        return self._bus.subscribe(
            SessionStarted,
            ToolCallCompleted,
            ToolCallFailed,
            RetrievalFinished,
            request_id=self._request_id,
        )

    def head(
        self,
        conversation: Conversation,
        model: ChatModel,
        registry: Registry,
        settings: Mapping[str, Any],
        *,
        started_us: int,
        stream: bool,
        brief: bool = False,
    ) -> None:
        """Write the head of the cassette. `settings` contains only JSON values.

        `brief` is the form of the system prompt and of the tools, as in `Role`.
        """
        self._writer.write(
            "head",
            {
                "version": VERSION,
                "treadle": treadle.__version__,
                "request_id": str(self._request_id),
                "started_us": started_us,
                "stream": stream,
                "brief": brief,
                "settings": settings,
                "model": model_json(model),
                "tools": [asdict(spec) for spec in registry.specs()],
                "conversation": {
                    "id": str(conversation.id),
                    "root": conversation.root,
                    "choices": conversation.choices.encode(),
                    "mode": conversation.mode,
                    "entries": [
                        {
                            "state": entry.state,
                            "number": entry.number,
                            "message": message_json(entry.message),
                        }
                        for entry in conversation.entries
                    ],
                },
            },
        )

    def attachments(self, attachments: ResolvedAttachments) -> None:
        """Record what the person attached to the question."""
        if attachments.texts:
            self._writer.write("attached", {"attachments": plain(attachments)})

    def model(self, model: ChatModel) -> "RecordingModel":
        """Return a model that records each request to `model`."""
        return RecordingModel(model, self._writer)

    def pinned(self, read: ReadPinned | None) -> ReadPinned | None:
        """Return a function that calls `read` and records the pinned code."""
        if read is None:
            return None

        async def recorded() -> ResolvedAttachments:
            pinned = await read()
            await asyncio.to_thread(self._writer.write, "pinned", {"attachments": plain(pinned)})
            return pinned

        return recorded

    def instructions(self, read: ReadInstructions | None) -> ReadInstructions | None:
        """Return a function that calls `read` and records the loaded files."""
        if read is None:
            return None

        async def recorded(
            paths: AbstractSet[str], known: AbstractSet[tuple[str, str]], spent: int
        ) -> Instructions:
            loaded = await read(paths, known, spent)
            await asyncio.to_thread(self._writer.write, "instructions", {"loaded": plain(loaded)})
            return loaded

        return recorded

    def context(self, retrieve: AutomaticContext | None) -> AutomaticContext | None:
        """Return a function that calls `retrieve` and records each text.

        Returns None if `retrieve` is None.
        """
        if retrieve is None:
            return None

        async def recorded(user_text: str, request_id: UUID) -> str:
            text = await retrieve(user_text, request_id)
            await asyncio.to_thread(self._writer.write, "context", {"text": text})
            return text

        return recorded

    async def _on_event(self, envelope: Envelope) -> None:
        line, fields = _line(envelope.event)
        await asyncio.to_thread(self._writer.write, line, fields)


class RecordingModel(ModelWrapper):
    """A `ChatModel` that passes requests to another model and records requests and replies."""

    def __init__(self, model: ChatModel, writer: CassetteWriter) -> None:
        super().__init__(model)
        self._writer = writer
        self._previous_messages: list[Json] = []

    async def complete(self, request: ChatRequest, observer: ModelObserver) -> ModelReply:
        """See `ChatModel.complete`. The events of an interrupted request are recorded too."""
        recording = _RecordingObserver(observer)
        end: Json = {"interrupted": True}
        try:
            reply = await self._model.complete(request, recording)
            end = {"reply": reply_json(reply)}
        except ModelReplacedError:
            end = {"replaced": True}
            raise
        except ProviderError as error:
            end = {"error": _error_json(error)}
            raise
        finally:
            self._write(request, recording.lines, end)
        return reply

    async def close(self) -> None:
        await self._model.close()

    def _write(self, request: ChatRequest, reports: list[Json], end: Json) -> None:
        """Write one exchange.

        Its messages are those after the common beginning with the previous request.
        """
        full_request = request_json(request)
        messages = full_request["messages"]
        unchanged = 0
        for current, previous in zip(messages, self._previous_messages, strict=False):
            if current != previous:
                break
            unchanged += 1
        self._previous_messages = messages
        shortened = {**full_request, "kept": unchanged, "messages": messages[unchanged:]}
        model = model_json(self._model)
        self._writer.write(
            "exchange",
            {"request": shortened, "told": reports, "model": model, **end},
        )


class _RecordingObserver:
    """An observer that forwards its events and stores them as JSON."""

    def __init__(self, observer: ModelObserver) -> None:
        self._observer = observer
        self.lines: list[Json] = []

    async def attempt_started(self, attempt: AttemptStarted) -> None:
        self.lines.append({"started": plain(attempt)})
        await self._observer.attempt_started(attempt)

    async def attempt_finished(self, attempt: AttemptFinished) -> None:
        finished = {
            "operation_id": str(attempt.operation_id),
            "attempt": attempt.attempt,
            "duration": attempt.duration,
            "error": attempt.error,
        }
        self.lines.append({"finished": finished})
        await self._observer.attempt_finished(attempt)

    async def delta(self, text: str, *, reasoning: bool = False) -> None:
        self.lines.append({"reasoning" if reasoning else "text": text})
        await self._observer.delta(text, reasoning=reasoning)

    async def retry_scheduled(self, attempt: int, delay: float, reason: str) -> None:
        self.lines.append({"retry": {"attempt": attempt, "delay": delay, "reason": reason}})
        await self._observer.retry_scheduled(attempt, delay, reason)

    async def fallback_applied(self, reason: str, change: str) -> None:
        self.lines.append({"fallback": {"reason": reason, "change": change}})
        await self._observer.fallback_applied(reason, change)

    async def waiting(self, seconds: float, text: str) -> None:
        self.lines.append({"waiting": {"seconds": seconds, "text": text}})
        await self._observer.waiting(seconds, text)

    async def notice(self, level: str, text: str) -> None:
        self.lines.append({"notice": {"level": level, "text": text}})
        await self._observer.notice(level, text)


def model_json(model: ChatModel) -> Json:
    """Return the properties of a model as a JSON object."""
    return {
        "provider": model.provider,
        "model": model.model,
        "context_window": model.context_window,
    }


def reply_json(reply: ModelReply) -> Json:
    """Return a reply as a JSON object."""
    return {
        "message": message_json(reply.message),
        "finish_reason": reply.finish_reason,
        "usage": plain(reply.usage),
        "cost": reply.cost,
        "time_to_first_token": reply.time_to_first_token,
    }


def _error_json(error: ProviderError) -> Json:
    return {
        "kind": error.kind,
        "message": error.message,
        "hint": error.hint,
        "status": error.status,
        "retryable": error.retryable,
        "retry_after": error.retry_after,
        "body": error.body,
    }


def _line(event: Event) -> tuple[str, Json]:
    match event:
        case SessionStarted(user_text=text):
            return "question", {"text": text}
        case ToolCallCompleted(key=key) | ToolCallFailed(key=key):
            ok = isinstance(event, ToolCallCompleted)
            return "outcome", {
                "turn": key.turn,
                "slot": key.slot,
                "ok": ok,
                "event": plain(event),
            }
    return "retrieval", {"event": plain(event)}
