"""Reads the keys and pastes that a terminal sends, and corrects two faults of Textual's parser."""

from collections.abc import Generator, Iterable

from textual._xterm_parser import XTermParser
from textual.events import Key, Paste
from textual.message import Message

_START, _END = "\x1b[200~", "\x1b[201~"
_ALT_ENTER = "\x1b\r"
_CODE = "\uffff"
_ENCODED = str.maketrans({_CODE: f"{_CODE}0", "\x1b": f"{_CODE}1", "\0": f"{_CODE}2"})


class InputParser(XTermParser):
    """Textual's parser, which also reads pastes with escape characters and Alt+Enter.

    Textual reads an escape character in a paste as the beginning of a key. It then reads the rest
    of the paste as keys, and one of these keys may be Enter. Therefore this class encodes each
    paste without escape characters before it passes the paste to Textual.

    Textual also reads Alt+Enter as Enter if the terminal does not have the kitty keyboard protocol.
    This class returns the key Alt+Enter.
    """

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._tail = ""
        """The last characters outside of a paste. They may begin the mark that starts a paste."""
        self._paste: list[str] | None = None
        """The parts of an incomplete paste. None outside of a paste."""

    def feed(self, data: str) -> Iterable[Message]:
        """Parse `data`, which the terminal sent, and yield the messages."""
        if not data:
            yield from super().feed(data)
        while data:
            if self._paste is None:
                data = yield from self._outside(data)
            else:
                data = yield from self._inside(self._paste, data)

    def _outside(self, data: str) -> Generator[Message, None, str]:
        """Parse until a paste begins. Returns the rest of the data."""
        seen = self._tail + data
        at = seen.find(_START)
        if at < 0:
            self._tail = seen[1 - len(_START) :]
            yield from super().feed(data)
            return ""
        end = at + len(_START) - len(self._tail)
        self._tail, self._paste = "", []
        yield from super().feed(data[:end])
        return data[end:]

    def _inside(self, parts: list[str], data: str) -> Generator[Message, None, str]:
        """Collect the paste until its end. Returns the rest of the data."""
        before = parts.pop() if parts else ""  # the mark of the end may arrive in two parts
        joined = before + data
        at = joined.find(_END)
        if at < 0:
            kept = len(joined) - len(_END) + 1
            parts += [joined[:kept], joined[kept:]] if kept > 0 else [joined]
            return ""
        text = "".join([*parts, joined[:at]])
        self._paste = None
        for message in super().feed(text.translate(_ENCODED) + _END):
            yield Paste(_decoded(message.text)) if isinstance(message, Paste) else message
        return joined[at + len(_END) :]

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[Key]:
        if sequence == _ALT_ENTER:
            return (Key("alt+enter", None),)
        return super()._sequence_to_key_events(sequence, alt)


def _decoded(text: str) -> str:
    return text.replace(f"{_CODE}2", "\0").replace(f"{_CODE}1", "\x1b").replace(f"{_CODE}0", _CODE)
