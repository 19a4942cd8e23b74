"""The instruction files of a prompt, and what is cut off them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """An instruction file, and the part of it that a prompt gets.

    `path` is relative to the root, or absolute for the person's own file (`own`). `text` is empty
    if the file is left out. `tokens` are the tokens of `text`, and `whole_tokens` those of the
    file. `reason` states why the file is cut or left out. `imported_by` is the path of the file
    that imports this one.
    """

    path: str
    text: str = ""
    tokens: int = 0
    whole_tokens: int = 0
    reason: str | None = None
    own: bool = False
    imported_by: str | None = None
    digest: str = ""

    @property
    def cut(self) -> bool:
        """Whether a part of the file is left out."""
        return bool(self.text) and self.reason is not None


@dataclass(frozen=True, slots=True)
class Instructions:
    """The instruction files of one load, in the order of a prompt. `budget` is in tokens."""

    files: tuple[LoadedFile, ...] = ()
    budget: int = 0

    @property
    def tokens(self) -> int:
        """The tokens of all texts together."""
        return sum(each.tokens for each in self.files)
