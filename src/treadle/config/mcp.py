"""The settings in `[mcp]`: other MCP servers whose tools models may call."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator

from treadle.config.section import Joined, NeedsConsent, Section, UserOnly

_SERVER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?=[A-Za-z0-9-])){0,31}")


def _address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("should be an address that starts with http:// or https://")
    _ = parts.port  # raises ValueError for an invalid port
    if parts.username is not None or parts.password is not None:
        raise ValueError("should not contain a name or password; use header_env")
    return value


def _variable(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        raise ValueError("should be the name of an environment variable, not a key itself")
    return value


def _header(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]{1,100}", value):
        raise ValueError("should be the name of a header, such as Authorization")
    return value


ServerAddress = Annotated[str, AfterValidator(_address)]
Variable = Annotated[str, AfterValidator(_variable)]
Header = Annotated[str, AfterValidator(_header)]


class McpServerSettings(Section):
    """One MCP server. It needs either `command` or `url`."""

    command: Annotated[tuple[str, ...], NeedsConsent()] = ()
    """The program and its arguments as separate strings. They are not passed to a shell."""
    env: Annotated[dict[Variable, str], NeedsConsent()] = Field(default_factory=dict)
    """Environment variables of the program and their values. Put no keys here: use `pass_env`."""
    pass_env: Annotated[tuple[Variable, ...], NeedsConsent()] = ()
    """Environment variables that are passed on although they look like keys or passwords."""
    url: Annotated[ServerAddress | None, NeedsConsent()] = None
    """Address of a server that speaks streamable HTTP."""
    header_env: Annotated[dict[Header, Variable], NeedsConsent()] = Field(default_factory=dict)
    """Headers by name, each with the environment variable that holds its value."""
    header_keyring: Annotated[dict[Header, str], NeedsConsent()] = Field(default_factory=dict)
    """Headers by name, each with the keyring entry (service `treadle`) that holds its value."""
    enabled: Annotated[bool, NeedsConsent()] = True
    """Whether the server is used. The tools of an unused server are not offered to models."""
    timeout: Annotated[float, NeedsConsent()] = Field(default=60.0, gt=0, le=3600)
    """Timeout of a call in seconds."""
    start_timeout: Annotated[float, NeedsConsent()] = Field(default=30.0, gt=0, le=600)
    """Seconds in which the server must start and list its tools."""
    tools: Annotated[tuple[str, ...], NeedsConsent()] = ("*",)
    """Patterns, such as `get_*`, of the server's own tool names that are offered."""
    without_tools: Annotated[tuple[str, ...], Joined()] = ()
    """Patterns of tools that are not offered. The lists of all files are combined."""
    read_only: Annotated[tuple[str, ...], UserOnly()] = ()
    """Patterns of tools that run without approval, because you know that they only read."""


class McpSettings(Section):
    """Other MCP servers, whose tools models may call."""

    ask_wait: float = Field(default=5.0, ge=0, le=60)
    """Seconds that `treadle ask` waits for the tools of servers, since it asks one question."""
    servers: dict[str, McpServerSettings] = Field(default_factory=dict)
    """MCP servers by name. Models see a tool as `NAME__TOOL`."""

    @field_validator("servers")
    @classmethod
    def _are_named(cls, servers: dict[str, McpServerSettings]) -> dict[str, McpServerSettings]:
        for name in servers:
            if not is_server_name(name):
                raise ValueError(
                    "should have names of at most 32 letters, digits, - and single _ inside"
                )
        return servers


def is_server_name(text: str) -> bool:
    """Whether `text` can name a server.

    Two underscores in a row separate the server from the tool, so the name does not contain them
    and does not end with one.
    """
    return _SERVER.fullmatch(text) is not None
