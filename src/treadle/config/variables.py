"""Names of environment variables, in a module that every command can import quickly."""

PREFIX = "TREADLE_"
NOT_SETTINGS = frozenset({
    "TREADLE_HOME", "TREADLE_DEBUG", "TREADLE_BASE_URL", "TREADLE_API_KEY", "TREADLE_SERVE_TOKEN",
})  # fmt: skip
"""Variables that other parts read: the data folder, tracebacks, and the unnamed provider, whose key
must never become part of the settings."""

TOP_LEVEL = frozenset({
    "approvals", "checks", "context", "edits", "fallback_models", "gateway", "history", "limits",
    "logs", "model", "providers", "tools", "traces", "trusted_roots",
})  # fmt: skip
"""The names at the top level of the settings; a test compares them with the model."""


def has_known_start(variable: str) -> bool:
    """Whether the part of the variable's name before the first `__` is at the top level."""
    return variable.removeprefix(PREFIX).lower().split("__")[0] in TOP_LEVEL
