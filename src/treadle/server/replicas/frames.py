"""Numbered parts of messages, so that a receiver notices lost and repeated messages.

NATS delivers a message at most once, and limits its size. A sender therefore splits each message
into frames and numbers all frames that it sends to a subject.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

HEADER_BYTES = 80
"""The maximum size of the header of a frame."""
MAX_MESSAGE_BYTES = 64_000_000
"""The maximum size of a message that a receiver assembles."""

_MOST_SENDERS = 1_000
_ONLY, _FIRST, _MIDDLE, _LAST = b"only", b"first", b"middle", b"last"


@dataclass(slots=True)
class FrameWriter:
    """Splits the messages of one sender to one subject."""

    sender: str
    number: int = 0
    """The number of the newest frame."""

    def frames(self, message: bytes, limit: int) -> Iterator[bytes]:
        """Yield the frames of a message. No frame is larger than `limit` bytes."""
        size = limit - HEADER_BYTES
        parts = [message[start : start + size] for start in range(0, len(message), size)] or [b""]
        for index, part in enumerate(parts):
            self.number += 1
            position = _position(index, len(parts))
            yield b"%s %d %s\n%s" % (self.sender.encode(), self.number, position, part)

    def skip(self) -> None:
        """Count a message that cannot be sent, so that receivers notice the missing number."""
        self.number += 1


def _position(index: int, count: int) -> bytes:
    if count == 1:
        return _ONLY
    if index == 0:
        return _FIRST
    return _LAST if index == count - 1 else _MIDDLE


@dataclass(frozen=True, slots=True)
class Received:
    """The result of a frame at the receiver.

    `message` is None until the last frame of a message arrives. `lost` states that earlier messages
    of the sender did not arrive.
    """

    sender: str
    message: bytes | None = None
    lost: bool = False


@dataclass(slots=True)
class _Sender:
    newest: int
    parts: list[bytes] = field(default_factory=list)
    size: int = 0


class FrameReader:
    """Assembles the messages of all senders to one subject."""

    def __init__(self) -> None:
        self._senders: dict[str, _Sender] = {}

    def read(self, frame: bytes) -> Received:
        """Read a frame. A frame that arrives again, or after one with a higher number, is ignored.

        Raises ValueError if `frame` is not a frame.
        """
        header, _, part = frame.partition(b"\n")
        sender, number, position = header.split(b" ")
        if position not in (_ONLY, _FIRST, _MIDDLE, _LAST):
            raise ValueError("the frame has an unknown position")
        return self._assemble(sender.decode(), int(number), position, part)

    def _assemble(self, sender: str, number: int, position: bytes, part: bytes) -> Received:
        known = self._senders.get(sender)
        if known is None:
            if len(self._senders) >= _MOST_SENDERS:  # the oldest sender has probably ended
                del self._senders[next(iter(self._senders))]
            known = self._senders[sender] = _Sender(number - 1)
        if number <= known.newest:
            return Received(sender)
        lost = number != known.newest + 1
        known.newest = number
        if lost or position in (_ONLY, _FIRST):
            known.parts, known.size = [], 0
        if position in (_MIDDLE, _LAST) and not known.parts:
            return Received(sender, None, lost)  # the beginning of the message did not arrive
        known.parts.append(part)
        known.size += len(part)
        if known.size > MAX_MESSAGE_BYTES:
            known.parts = []
            return Received(sender, None, lost=True)
        if position in (_FIRST, _MIDDLE):
            return Received(sender, None, lost)
        message = b"".join(known.parts)
        known.parts, known.size = [], 0
        return Received(sender, message, lost)
