"""The messages that a person sent from a repository, and the way through them."""

from collections.abc import Sequence

from treadle.tui.prompt.draft import Draft

KEPT = 1_000
"""The number of messages that are kept."""


class History:
    """The sent messages, oldest first. `older` and `newer` move through them.

    The draft that the person was writing is kept while the person looks at older messages.
    """

    def __init__(self, sent: Sequence[Draft] = ()) -> None:
        self._sent = list(sent)[-KEPT:]
        self._position = len(self._sent)
        self._unsent = Draft()

    def load(self, earlier: Sequence[Draft]) -> None:
        """Put messages of earlier sessions before those of this session."""
        self._sent[:0] = earlier
        del self._sent[:-KEPT]
        self._position = len(self._sent)

    def add(self, draft: Draft) -> bool:
        """Add a message. Returns False if it equals the newest one."""
        is_new = not self._sent or self._sent[-1] != draft
        if is_new:
            self._sent.append(draft)
            del self._sent[:-KEPT]
        self._position = len(self._sent)
        return is_new

    def older(self, present: Draft) -> Draft | None:
        """The message before the present one, None at the oldest."""
        if self._position == 0:
            return None
        if self._position == len(self._sent):
            self._unsent = present
        self._position -= 1
        return self._sent[self._position]

    def newer(self) -> Draft | None:
        """The message after the present one, or the draft. None if the draft is shown."""
        if self._position >= len(self._sent):
            return None
        self._position += 1
        return self._unsent if self._position == len(self._sent) else self._sent[self._position]

    def search(self, text: str, before: int | None = None) -> int | None:
        """The position of the newest message that contains `text`, in any case.

        `before` limits the search to older messages than the one at that position.
        """
        wanted = text.casefold()
        end = len(self._sent) if before is None else before
        return next(
            (
                position
                for position in range(end - 1, -1, -1)
                if wanted in self._sent[position].shown.casefold()
            ),
            None,
        )

    def __getitem__(self, position: int) -> Draft:
        return self._sent[position]

    def __len__(self) -> int:
        return len(self._sent)
