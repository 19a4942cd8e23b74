"""The messages that a person sent in a repository. The prompt shows and searches them."""

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
        """The message before the shown one, or None if the oldest is shown.

        `present` is the text of the prompt. It is kept if it is the unsent draft.
        """
        if self._position == 0:
            return None
        if self._position == len(self._sent):
            self._unsent = present
        self._position -= 1
        return self._sent[self._position]

    def newer(self) -> Draft | None:
        """The message after the shown one. After the newest message comes the unsent draft.

        Returns None if the draft is shown.
        """
        if self._position >= len(self._sent):
            return None
        self._position += 1
        return self._unsent if self._position == len(self._sent) else self._sent[self._position]

    def search(self, text: str, before: int | None = None) -> int | None:
        """The position of the newest message that contains `text`, or None.

        Upper and lower case do not matter. With `before`, only messages before this position are
        searched.
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

    def sent_as(self, message: str) -> Draft | None:
        """The newest sent draft whose message was saved as `message`, or None.

        Secrets are removed from a message before it is saved. Therefore a draft also matches if its
        message is the same after its secrets are removed.
        """
        from treadle.secrets.redactor import redact

        same = (each for each in reversed(self._sent) if each.message == message)
        saved_as = (
            each
            for each in reversed(self._sent)
            if (each.attachments or each.images) and redact(each.message) == message
        )
        return next(same, None) or next(saved_as, None)

    def __getitem__(self, position: int) -> Draft:
        return self._sent[position]

    def __len__(self) -> int:
        return len(self._sent)
