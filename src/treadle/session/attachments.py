"""The resolved attachments of a user message: the texts that the model gets, and their sources."""

from dataclasses import dataclass

from treadle.events.types import SourceRange
from treadle.llm.messages import AttachedText


@dataclass(frozen=True, slots=True)
class ResolvedAttachments:
    """The content that is sent with a user message. `sources` are the attached lines of files."""

    texts: tuple[AttachedText, ...] = ()
    sources: tuple[SourceRange, ...] = ()
