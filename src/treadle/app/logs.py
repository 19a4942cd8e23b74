"""Writes the log: one line for each step of a session, without the contents of messages.

The lines go to the log file. With `--debug`, they also go to standard error, except while the
interactive terminal draws there. Failures, retries,
fallbacks, late results and warning notices have the level warning. Other steps have the level info.
Secrets are redacted.
"""

import asyncio
import json
import logging
import queue
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import fields
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path
from typing import Literal
from uuid import UUID

from treadle.config.model import LogSettings
from treadle.events import Event, EventBus, Subscription
from treadle.events import types as ev
from treadle.events.encoding import plain
from treadle.owner_only import close_to_others, private_file
from treadle.secrets import redact
from treadle.visible import in_json, in_line

FILES = 3
"""The number of log files, including the current one."""

_LOGGER = logging.getLogger("treadle")
_EVENTS = logging.getLogger("treadle.events")

_WARNINGS: tuple[type[Event], ...] = (
    ev.ToolCallRequested,  # not logged, but the line of a later failure needs its tool name
    ev.ToolCallFailed,
    ev.ToolCallLate,
    ev.ModelRequestFinished,
    ev.RetryScheduled,
    ev.FallbackApplied,
    ev.SessionFailed,
    ev.Notice,
)
_STEPS: tuple[type[Event], ...] = (
    *_WARNINGS,
    ev.SessionStarted,
    ev.SessionFinished,
    ev.SessionCancelled,
    ev.ModelRequestStarted,
    ev.ToolCallCompleted,
    ev.ApprovalRequested,
    ev.ApprovalResolved,
)
"""The events that are logged at the level info."""

_LEFT_OUT = frozenset(
    {"arguments", "content", "ui", "text", "user_text", "input_text", "output_text", "preview"}
)
"""Event fields that contain messages or code. They are recorded in the trace, not in the log."""


class LineFormatter(logging.Formatter):
    """Formats a record as one line: a JSON object, or text followed by key=value pairs."""

    def __init__(self, form: Literal["json", "text"]) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        values: dict[str, object] = {"at": at, "level": record.levelname.lower()}
        values["message"] = " ".join(record.getMessage().split())
        values |= getattr(record, "fields", {"logger": record.name})
        if record.exc_info:
            values["traceback"] = self.formatException(record.exc_info)
        if self._form == "json":
            return in_json(redact(json.dumps(values, ensure_ascii=False, default=str)))
        head = " ".join(str(values.pop(name)) for name in ("at", "level", "message"))
        words = (f"{key}={_word(each)}" for key, each in _flat(values))
        return in_line(redact(" ".join([head, *words])))


class _File(RotatingFileHandler):
    """A rotating log file. Lines that cannot be written are dropped, so that work continues."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        private_file(path)
        for number in range(1, FILES):  # an earlier version let all users read these files
            with suppress(FileNotFoundError):
                close_to_others(path.with_name(f"{path.name}.{number}"))
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802  (logging's)
        return


class _Queue(QueueHandler):
    """Passes records on unchanged. The formatter runs in another thread and needs the traceback."""

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        return record


@asynccontextmanager
async def logged(bus: EventBus, settings: LogSettings, path: Path) -> AsyncIterator[None]:
    """Log the events of `bus` to the file at `path`, and to the handler that `show_logs` added."""
    debugging = _LOGGER.isEnabledFor(logging.INFO)
    if settings.level == "off" and not debugging:
        yield
        return
    events = bus.subscribe(*(_STEPS if debugging or settings.level == "info" else _WARNINGS))
    with _file(settings, path) if settings.level != "off" else nullcontext():
        following = asyncio.create_task(_follow(events), name="log")
        try:
            yield
        finally:
            events.close()  # events that are already queued are still logged
            await following


@contextmanager
def _file(settings: LogSettings, path: Path) -> Iterator[None]:
    """Write log records to the file in a separate thread.

    If this process already writes to a log file, the function does nothing.
    """
    if any(isinstance(each, _Queue) for each in _LOGGER.handlers):
        yield
        return
    file = _File(
        path, maxBytes=settings.file_bytes, backupCount=FILES - 1, encoding="utf-8", delay=True
    )
    file.setFormatter(LineFormatter(settings.format))
    file.setLevel(logging.INFO if settings.level == "info" else logging.WARNING)
    waiting: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    sending, listener = _Queue(waiting), QueueListener(waiting, file)
    sending.setLevel(file.level)
    before = _LOGGER.level
    _LOGGER.addHandler(sending)
    _LOGGER.setLevel(min(before or file.level, file.level))
    listener.start()
    try:
        yield
    finally:
        _LOGGER.removeHandler(sending)
        _LOGGER.setLevel(before)
        listener.stop()  # returns after all queued records are written
        file.close()


def show_logs() -> None:
    """Also send the log to standard error, as `--debug` requires."""
    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(LineFormatter("text"))
    _LOGGER.addHandler(shown)
    _LOGGER.setLevel(logging.INFO)


def hide_logs() -> None:
    """Undo `show_logs`. A terminal application draws where standard error is shown."""
    for handler in [each for each in _LOGGER.handlers if type(each) is logging.StreamHandler]:
        _LOGGER.removeHandler(handler)
    _LOGGER.setLevel(logging.NOTSET)


async def _follow(events: Subscription) -> None:
    names: dict[tuple[UUID, ev.CallKey], str] = {}
    async for envelope in events:
        event = envelope.event
        tool: dict[str, object] = {}
        if isinstance(event, ev.ToolCallRequested):
            names[event.request_id, event.key] = event.name
        if isinstance(event, ev.ToolCallCompleted | ev.ToolCallFailed):
            tool["name"] = names.pop((event.request_id, event.key), None)
        own = {"fields": {**tool, **_own(event)}}
        _EVENTS.log(_level(event), "%s", type(event).__name__, extra=own)


def _level(event: Event) -> int:
    match event:
        case ev.ToolCallFailed() | ev.ToolCallLate() | ev.SessionFailed():
            return logging.WARNING
        case ev.RetryScheduled() | ev.FallbackApplied():
            return logging.WARNING
        case ev.ModelRequestFinished(error=error) if error is not None:
            return logging.WARNING
        case ev.Notice(level=level) if level in {"warning", "error"}:
            return logging.WARNING
    return logging.INFO


def _own(event: Event) -> Mapping[str, object]:
    """Return the fields of an event that are not None and contain no messages or code."""
    named = {field.name: getattr(event, field.name) for field in fields(event)}
    kept = {
        name: plain(value)
        for name, value in named.items()
        if value is not None and (name not in _LEFT_OUT or isinstance(event, ev.Notice))
    }
    if isinstance(event, ev.ToolCallCompleted):
        kept["characters"] = len(event.content)
    if isinstance(event, ev.ToolCallFailed):
        error = event.error
        kept["error"] = {"kind": error.kind, "message": error.message, "effect": error.effect}
    return kept


def _flat(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield all values with their names. A nested value has a name such as `outer.inner`."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _word(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    plain_word = text and not any(mark.isspace() or mark in '"=' for mark in text)
    return text if plain_word else json.dumps(text, ensure_ascii=False)
