"""Rings the bell and shows a desktop notification when a turn ends or waits for an approval."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from treadle.clock import Clock
from treadle.events import Event
from treadle.events.types import (
    ApprovalRequested,
    SessionCancelled,
    SessionFailed,
    SessionFinished,
    SessionStarted,
)
from treadle.visible import in_line

if TYPE_CHECKING:
    from treadle.config.model import TerminalSettings

_FOLDER_CHARACTERS = 60
_TERMINALS_WITH_777 = ("foot", "rxvt")


class Signals:
    """Gives signals for the events of one conversation.

    `ring` sounds the bell, and `write` writes a control sequence to the terminal.
    """

    def __init__(
        self,
        clock: Clock,
        env: Mapping[str, str],
        *,
        ring: Callable[[], None],
        write: Callable[[str], None],
    ) -> None:
        self._clock = clock
        self._env = env
        self._ring = ring
        self._write = write
        self._started: dict[UUID, float] = {}

    def apply(
        self, event: Event, settings: "TerminalSettings", *, folder: str, focused: bool
    ) -> None:
        """Give a signal if a turn ended or asks, and the person may not be looking.

        The person may not be looking if the terminal does not have the focus, or if the turn took
        longer than the setting `notify_after`.
        """
        now = self._clock.monotonic()
        match event:
            case SessionStarted():
                self._started[event.request_id] = now
                return
            case ApprovalRequested():
                what, began = "waits for your approval", self._started.get(event.request_id, now)
            case SessionFinished():
                what, began = "the turn has ended", self._started.pop(event.request_id, now)
            case SessionFailed():
                what, began = "the turn failed", self._started.pop(event.request_id, now)
            case SessionCancelled():
                self._started.pop(event.request_id, None)
                return
            case _:
                return
        if focused and now - began < settings.notify_after:
            return
        if settings.bell:
            self._ring()
        if settings.notify:
            text = f"Treadle in {in_line(folder[:_FOLDER_CHARACTERS])}: {what}"
            self._write(notification(text, self._env))


def notification(text: str, env: Mapping[str, str]) -> str:
    """Return the control sequence for a desktop notification. `text` has no control characters.

    foot and rxvt use the sequence OSC 777. Other terminals use OSC 9. tmux passes the sequence on
    if the tmux option `allow-passthrough` is on.
    """
    has_777 = env.get("TERM", "").startswith(_TERMINALS_WITH_777)
    sequence = f"\x1b]777;notify;Treadle;{text}\x07" if has_777 else f"\x1b]9;{text}\x07"
    if "TMUX" in env:
        doubled = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{doubled}\x1b\\"
    return sequence
