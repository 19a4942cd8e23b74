"""Names of environment variables: light to import, so that every command can look at them."""

PREFIX = "TREADLE_"
NOT_SETTINGS = frozenset({
    "TREADLE_HOME", "TREADLE_DEBUG", "TREADLE_BASE_URL", "TREADLE_API_KEY", "TREADLE_SERVE_TOKEN",
})  # fmt: skip
"""Variables that other parts read: where data is kept, tracebacks, and the unnamed provider,
whose key must never become part of the settings."""
