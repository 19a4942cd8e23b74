"""The chips in the text of a prompt, and the conversion between that text and a draft.

The text of the editor contains the label of each chip. The first character of a label is replaced
by a mark. A mark is a private character of Unicode that no other chip of the prompt has, so typed
text never equals a chip. Pasted text with private, hidden or control characters becomes a chip. So
the editor never shows such characters, and never mistakes them for marks.
"""

import re
from collections.abc import Iterator

from treadle.tui.prompt.draft import Chip, Draft, Part, PastedText, label
from treadle.visible import printable

_FIRST_MARK = 0xF0000
_MARK = re.compile("[\U000f0000-\U0010ffff]")

LONG_LINES = 10
LONG_CHARACTERS = 1_000
"""A pasted text with more lines or characters becomes a chip."""


def is_plain(text: str) -> bool:
    """Whether an editor can show `text` as it is."""
    return printable(text) == text and _MARK.search(text) is None


def is_long(text: str) -> bool:
    """Whether a pasted text should become a chip."""
    return len(text) > LONG_CHARACTERS or text.count("\n") >= LONG_LINES


class Chips:
    """The chips of one prompt.

    A deleted chip stays known, because the person may undo the deletion.
    """

    def __init__(self) -> None:
        self._chips: list[Chip] = []
        self._pastes = 0

    def insertion(self, chip: Chip) -> str:
        """Add a chip, and return the text that stands for it in the editor."""
        self._chips.append(chip)
        return self._text(len(self._chips) - 1)

    def paste(self, text: str) -> str:
        """Add a pasted text as a chip, and return the text that stands for it in the editor."""
        self._pastes += 1
        return self.insertion(PastedText(self._pastes, text))

    def spans(self, text: str) -> Iterator[tuple[int, int, Chip]]:
        """The start, the end and the chip of each chip in `text`."""
        for found in _MARK.finditer(text):
            number = ord(found[0]) - _FIRST_MARK
            if number < len(self._chips) and text.startswith(self._text(number), found.start()):
                end = found.start() + len(self._text(number))
                yield found.start(), end, self._chips[number]

    def shown(self, text: str) -> str:
        """The text that the person sees. The first character of its label replaces each mark."""
        return _MARK.sub(self._first, text)

    def draft(self, text: str) -> Draft:
        """Convert the text of the editor to a draft."""
        parts: list[Part] = []
        at = 0
        for start, end, chip in self.spans(text):
            parts += [self.shown(text[at:start]), chip]
            at = end
        parts.append(self.shown(text[at:]))
        return Draft(tuple(part for part in parts if part != ""))

    def text(self, draft: Draft) -> str:
        """Convert a draft to the text of the editor, and add its chips."""
        inserted = []
        for part in draft.parts:
            if isinstance(part, str):
                inserted.append(part if is_plain(part) else self.paste(part))
            elif isinstance(part, PastedText):
                inserted.append(self.paste(part.text))
            else:
                inserted.append(self.insertion(part))
        return "".join(inserted)

    def clear(self) -> None:
        """Forget all chips, and count pastes from 1 again."""
        self._chips.clear()
        self._pastes = 0

    def _text(self, number: int) -> str:
        rest = _MARK.sub("\ufffd", label(self._chips[number])[1:])
        return chr(_FIRST_MARK + number) + rest

    def _first(self, mark: re.Match[str]) -> str:
        number = ord(mark[0]) - _FIRST_MARK
        return label(self._chips[number])[0] if number < len(self._chips) else "\ufffd"
