"""Names of environment variables, in a module that every command can import quickly."""

PREFIX = "TREADLE_"
NOT_SETTINGS = frozenset({
    "TREADLE_HOME", "TREADLE_DEBUG", "TREADLE_BASE_URL", "TREADLE_API_KEY", "TREADLE_SERVE_TOKEN",
    "TREADLE_TOKEN",
})  # fmt: skip
"""Variables that are not settings, because other code reads them.

They set the data folder, switch on tracebacks, set the address and API key of a provider that has
no table in the settings, and contain the access token of the server. The key and the token must
never become part of the settings.
"""

TOP_LEVEL = frozenset({
    "approvals", "bus", "checks", "commands", "context", "edits", "fallback_models", "gateway",
    "history", "instructions", "limits", "logs", "mcp", "model", "oidc", "providers", "server",
    "store", "sub_tasks", "terminal", "tools", "traces", "trusted_roots", "workers",
})  # fmt: skip
"""The names at the top level of the settings. A test compares these names with the model."""


def has_known_start(variable: str) -> bool:
    """Whether the name of the variable begins with a table or setting at the top level.

    The part between the prefix and the first `__` must be in `TOP_LEVEL`.
    """
    return variable.removeprefix(PREFIX).lower().split("__")[0] in TOP_LEVEL
