"""The word before the cursor that a prompt completes."""

import re
from dataclasses import dataclass
from enum import StrEnum

_CODE = re.compile(r"(?:^|(?<=[\s(\[{\"'`,;]))@([^\s@\"'`]*)$")
_COMMAND = re.compile(r"^/([a-z_-]*)$")


class TokenKind(StrEnum):
    """The kind of a word that is completed."""

    CODE = "code"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class Token:
    """The word before the cursor, without the `@` or `/` at its start."""

    kind: TokenKind
    text: str


def token_at(before: str, *, is_start: bool) -> Token | None:
    """The word at the end of `before`, or None if it cannot be completed.

    `before` is the part of a line in front of the cursor. `is_start` states that `before` begins at
    the start of the message, where a command may be.
    """
    if is_start and (found := _COMMAND.search(before)):
        return Token(TokenKind.COMMAND, found[1])
    if found := _CODE.search(before):
        return Token(TokenKind.CODE, found[1])
    return None
