"""The cassette: a recorded session as lines of JSON without secrets.

The first line is the head: format version, settings, tools, and the conversation before the
session. A `question` line is the user message, and an `attached` line is its attachments. A
`pinned` line is the pinned code of a prompt. A `context` line is the automatic context, which is
code that is retrieved for a user message. An `exchange` line is a model request, the events of its
observer, and its reply or error. An `outcome` line is the outcome of a tool call, and a `retrieval`
line is the result of a retrieval. A replay depends on the order of the `exchange` lines, but not on
the positions of other lines. docs/replay.md describes the fields.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treadle.errors import OutputExistsError, TreadleError, UsageError
from treadle.events.types import SourceRange
from treadle.instructions.model import Instructions, LoadedFile
from treadle.llm.messages import AttachedText, ChatRequest, Message
from treadle.secrets import redact
from treadle.session.attachments import ResolvedAttachments
from treadle.session.message_json import decode, encode

VERSION = 3
"""The version of the format.

Increase it for a change that earlier versions of Treadle cannot read.
"""

_HEAD = frozenset(
    {
        "treadle",
        "request_id",
        "started_us",
        "stream",
        "settings",
        "model",
        "tools",
        "conversation",
    }
)
"""The fields of the head other than the version."""

_SHOWN = 160
"""The maximum number of characters of a value that a mismatch error shows."""

Json = dict[str, Any]

MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""The exceptions that reading a malformed cassette may raise."""


class CassetteMismatchError(TreadleError):
    """A request of the replay differs from the recorded request."""


class CassetteWriter:
    """Writes lines to a new file that only its owner can read.

    Each line is in the file when `write` returns.
    """

    def __init__(self, path: Path) -> None:
        """Create the file. Raises UsageError if it exists or cannot be created."""
        try:
            path.touch(mode=0o600, exist_ok=False)
            self._file = path.open("w", encoding="ascii")
        except FileExistsError as error:
            raise OutputExistsError(path) from error
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written: {error.strerror}.", hint="Choose another location."
            ) from error
        self._lock = threading.Lock()

    def write(self, line: str, fields: Mapping[str, Any]) -> None:
        """Add a line of kind `line`, with secrets redacted. This method blocks."""
        text = clean({"line": line, **fields})
        with self._lock:
            self._file.write(f"{text}\n")
            self._file.flush()

    def close(self) -> None:
        self._file.close()


@dataclass(slots=True)
class Cassette:
    """A recorded session.

    The keys of `outcomes` and `retrievals` are the turn and the slot of a call. In `retrievals`,
    the key None is for the automatic context.
    """

    path: Path
    head: Json
    question: str = ""
    attachments: ResolvedAttachments = field(default_factory=ResolvedAttachments)
    pinned: list[ResolvedAttachments] = field(default_factory=list)
    instructions: list[Instructions] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    exchanges: list[Json] = field(default_factory=list)
    outcomes: dict[tuple[int, int], Json] = field(default_factory=dict)
    retrievals: dict[tuple[int, int] | None, list[Json]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> "Cassette":
        """Read a cassette from a file.

        Raises UsageError for a file that is not a cassette or has a newer version.
        """
        try:
            lines = [json.loads(line) for line in path.read_text("ascii").splitlines()]
            head = lines[0]
            if head["line"] != "head" or not isinstance(head["version"], int):
                raise ValueError("the first line is not a header")
            if head["version"] > VERSION:
                raise UsageError(
                    f"{path} was recorded by a newer version of Treadle ({head['treadle']}).",
                    hint="Replay it with that version.",
                )
            if missing := sorted(_HEAD - head.keys()):
                raise ValueError(f"the header has no {missing[0]}")
            head["started_us"] = int(head["started_us"])
            cassette = cls(path, head)
            for line in lines[1:]:
                cassette._add_line(line)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
        except MALFORMED as error:
            raise UsageError(
                f"{path} is not a readable cassette: {error}.",
                hint="Record one with `treadle ask --record FILE`.",
            ) from error
        return cassette

    def _add_line(self, line: Json) -> None:
        match line["line"]:
            case "question":
                self.question = line["text"]
            case "attached":
                self.attachments = _attachments(line["attachments"])
            case "pinned":
                self.pinned.append(_attachments(line["attachments"]))
            case "instructions":
                self.instructions.append(_instructions(line["loaded"]))
            case "context":
                self.contexts.append(line["text"])
            case "exchange":
                before = self.exchanges[-1]["request"]["messages"] if self.exchanges else []
                request = line["request"]
                request["messages"] = [*before[: request.pop("kept")], *request["messages"]]
                self.exchanges.append(line)
            case "outcome":
                self.outcomes[line["turn"], line["slot"]] = line
            case "retrieval":
                key = line["event"]["key"]
                position = (key["turn"], key["slot"]) if key else None
                self.retrievals.setdefault(position, []).append(line["event"])
            case kind:
                raise ValueError(f"a line of an unknown kind, {kind!r}")


def _attachments(recorded: Json) -> ResolvedAttachments:
    return ResolvedAttachments(
        tuple(AttachedText(**each) for each in recorded["texts"]),
        sources=tuple(SourceRange(**each) for each in recorded["sources"]),
        problems=tuple(recorded["problems"]),
    )


def _instructions(recorded: Json) -> Instructions:
    files = tuple(LoadedFile(**each) for each in recorded["files"])
    return Instructions(files, recorded["budget"])


def clean(value: Mapping[str, Any]) -> str:
    """Return `value` as one line of ASCII JSON without secrets."""
    return redact(json.dumps(value, separators=(",", ":")))


def message_json(message: Message) -> Json:
    """Return a message as a JSON object."""
    kind, body = encode(message)
    return {"kind": kind, **json.loads(body)}


def message_from(value: Json) -> Message:
    """Return the message that was passed to `message_json`."""
    fields = {name: each for name, each in value.items() if name != "kind"}
    return decode(value["kind"], json.dumps(fields))


def request_json(request: ChatRequest) -> Json:
    """Return a request as a JSON object, with all its messages."""
    return {
        "turn": request.turn,
        "stream": request.stream,
        "max_output_tokens": request.max_output_tokens,
        "tools": [tool.name for tool in request.tools],
        "messages": [message_json(message) for message in request.messages],
    }


def check(number: int, recorded: Json, request: ChatRequest, version: str) -> None:
    """Raise CassetteMismatchError if a request differs from the recorded request.

    The error describes the first difference. `number` is the number of the request, and `version`
    is the version of Treadle that recorded it.
    """
    now = json.loads(clean(request_json(request)))
    found = difference(recorded, now)
    if found is not None:
        raise CassetteMismatchError(
            f"Request {number} of the replay differs from the recorded request at {found}.",
            hint=f"Treadle {version} recorded it. Record it again, or replay it with that version.",
        )


def difference(recorded: Any, now: Any, location: str = "") -> str | None:
    """Describe the first difference between two JSON values. Returns None if they are equal."""
    if recorded == now:
        return None
    if isinstance(recorded, dict) and isinstance(now, dict):
        for name in dict.fromkeys((*recorded, *now)):
            found = difference(
                recorded.get(name), now.get(name), f"{location}.{name}" if location else name
            )
            if found:
                return found
    if isinstance(recorded, list) and isinstance(now, list):
        for position, (left, right) in enumerate(zip(recorded, now, strict=False)):
            if found := difference(left, right, f"{location}[{position}]"):
                return found
        return f"{location}: {len(recorded)} recorded, {len(now)} now"
    left, right = _around_difference(recorded, now)
    return f"{location}: recorded {left}, now {right}"


def _around_difference(recorded: Any, now: Any) -> tuple[str, str]:
    """Shorten both values to the text around their first difference."""
    left, right = json.dumps(recorded), json.dumps(now)
    same = next(
        (position for position, (a, b) in enumerate(zip(left, right, strict=False)) if a != b),
        min(len(left), len(right)),
    )
    start = max(0, same - _SHOWN // 4)
    return tuple(  # type: ignore[return-value]  # two of them
        f"{'…' * (start > 0)}{text[start : start + _SHOWN]}{'…' * (len(text) > start + _SHOWN)}"
        for text in (left, right)
    )
