"""What can be set. The defaults here are the documented ones; an unknown key is an error."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

JsonValue = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ProviderSettings(_Section):
    """One OpenAI-compatible endpoint."""

    base_url: str | None = None
    """Address up to and including the version, for example `http://127.0.0.1:8080/v1`."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key."""
    api_key_keyring: str | None = None
    """Name of the entry in the system keyring (service `treadle`) that holds the key."""
    models: tuple[str, ...] = ()
    """Models to offer; empty asks the server."""
    preferences: dict[str, JsonValue] = Field(default_factory=dict)
    """Routing preferences of the provider, sent with requests that offer tools."""
    tools_fallback: Literal["retry_once", "strict"] = "retry_once"
    """What to do when no endpoint supports tools: ask once more without them, or fail."""
    max_retries: int = Field(default=3, ge=0, le=20)
    """Further attempts after a failure that may pass."""
    idle_timeout: float = Field(default=60.0, gt=0)
    """Seconds without a data line before a stream counts as stalled."""
    connect_timeout: float = Field(default=10.0, gt=0)
    """Seconds to reach the server."""
    context_window: int | None = Field(default=None, ge=256)
    """Tokens of input and output together; None takes the known window of the model."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Limit of one reply; None leaves it to the provider."""
    empty_content: Literal["null", "empty"] = "null"
    """How a message that only calls tools sends its missing text."""
    echo_reasoning: bool = True
    """Whether reasoning is sent back to the model that made it."""


class ContextSettings(_Section):
    """Context that is retrieved for each user message without being asked for."""

    automatic: Literal["off", "light", "full"] = "light"


class ToolSettings(_Section):
    """How tools are run."""

    timeout: float = Field(default=30.0, gt=0)
    """Seconds that a call may take unless its tool says otherwise."""
    max_concurrent: int = Field(default=8, ge=1, le=64)
    """Calls of one session that run at once."""
    max_turns: int = Field(default=25, ge=1)
    """Model replies in one request session."""
    invalid_call_retries: int = Field(default=2, ge=0)
    """Replies in a row whose every call is ill before the session ends."""
    result_tokens: int = Field(default=16_000, ge=200)
    """Tokens of one tool message; a longer result keeps its head and tail."""


class Settings(_Section):
    """All settings."""

    model: str | None = None
    """Provider name, a slash, then that provider's own model id."""
    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    context: ContextSettings = Field(default_factory=ContextSettings)
    tools: ToolSettings = Field(default_factory=ToolSettings)
