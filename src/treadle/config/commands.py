"""The settings of shell commands that a model runs."""

from typing import Annotated

from pydantic import Field

from treadle.config.section import Section, Size, UserOnly

MAX_COMMAND_SECONDS = 3600.0
"""The maximum time limit of a command, in seconds."""


class CommandSettings(Section):
    """Shell commands that a model may run after your approval ([more](commands.md))."""

    enabled: Annotated[bool, UserOnly()] = True
    """Whether a model may ask to run commands. Each command still needs a rule or your approval."""
    timeout: Annotated[float, UserOnly()] = Field(default=120.0, gt=0, le=MAX_COMMAND_SECONDS)
    """Time limit of a command in seconds, unless the call sets a shorter or longer one."""
    output_limit: Annotated[Size, UserOnly()] = "100MB"
    """Maximum size of the output that is kept of a command. A command that prints more is ended."""
    max_background: Annotated[int, UserOnly()] = Field(default=4, ge=0, le=32)
    """Maximum number of commands that run in the background at once."""
    keep_keys: Annotated[tuple[str, ...], UserOnly()] = ()
    """Environment variables that commands get although they look like keys or passwords."""
