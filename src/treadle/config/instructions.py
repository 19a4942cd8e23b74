"""The settings of instruction files."""

from typing import Annotated

from pydantic import Field

from treadle.config.section import NeedsConsent, Section


class InstructionSettings(Section):
    """The [instructions](instructions.md) that the assistant gets from files."""

    enabled: Annotated[bool, NeedsConsent()] = True
    """Whether the assistant gets your own instructions and those of the repository."""
    tokens: Annotated[int, NeedsConsent(), Field(ge=100, le=100_000)] = 6_000
    """Limit for the files at the beginning of a conversation, and again for those that join later.

    An eighth of the model's context window is a further limit.
    """
