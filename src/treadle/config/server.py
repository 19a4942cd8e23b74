"""The settings of `treadle serve`."""

from typing import Annotated

from pydantic import Field

from treadle.config.section import Section, UserOnly


class ServerSettings(Section):
    """How `treadle serve` ends when it receives SIGTERM."""

    drain_notice: Annotated[float, UserOnly()] = Field(default=0.0, ge=0, le=600)
    """Seconds in which it still accepts connections, so that a load balancer notices its end."""
    drain_limit: Annotated[float, UserOnly()] = Field(default=30.0, ge=0, le=3600)
    """Seconds until running turns and requests are cancelled. The notice is part of this time."""
