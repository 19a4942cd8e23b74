"""The choices of a person about the prompts of a conversation: pinned and omitted parts."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from treadle.errors import StoreError
from treadle.session.attachments import CodeAttachment, ItemAttachment, PinnedCode


@dataclass(frozen=True, slots=True)
class ContextChoices:
    """The choices of a person for the prompts of one conversation.

    `pinned` is code that is sent with each prompt. It is read again for each prompt. If
    `automatic_context` is False, no prompt has automatic context. `left_out` has the numbers of
    user messages. Each of them is left out, together with the messages up to the next user message.
    `tools_left_out` has the names of tools that are not offered.
    """

    pinned: tuple[PinnedCode, ...] = ()
    automatic_context: bool = True
    left_out: frozenset[int] = frozenset()
    tools_left_out: frozenset[str] = frozenset()

    def encode(self) -> str:
        """Return the choices as JSON text."""
        return json.dumps(
            {
                "pinned": [asdict(each) for each in self.pinned],
                "automatic_context": self.automatic_context,
                "left_out": sorted(self.left_out),
                "tools_left_out": sorted(self.tools_left_out),
            }
        )

    @classmethod
    def decode(cls, text: str) -> "ContextChoices":
        """Return the choices that `encode` wrote, or the default choices for an empty text.

        Raises StoreError for an invalid text.
        """
        if not text:
            return cls()
        try:
            fields = json.loads(text)
            return cls(
                tuple(map(_pinned, fields["pinned"])),
                bool(fields["automatic_context"]),
                frozenset(map(int, fields["left_out"])),
                frozenset(map(str, fields["tools_left_out"])),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise StoreError(
                f"The pins and left-out parts of a conversation cannot be read: {error}.",
                hint="Start a new conversation; this one is damaged.",
            ) from error


def _pinned(fields: Mapping[str, Any]) -> PinnedCode:
    return CodeAttachment(**fields) if "path" in fields else ItemAttachment(**fields)
