"""Removal of secrets from text by their shape, and of registered values, before it is kept.

What counts is the shape of a value, never a word: "auth", "session" or `token = tokens[i]` stay as
they are, and so do hashes, UUIDs and base64 of ordinary data. A person's own rules say what else
is to go, and what is to stay.
"""

from treadle.secrets.redacting import (
    Rules,
    is_telling,
    redact,
    redact_counted,
    redact_named,
    register,
    suspects,
    use_rules,
    without_value,
)
from treadle.secrets.rules import Rule

__all__ = [
    "Rule",
    "Rules",
    "is_telling",
    "redact",
    "redact_counted",
    "redact_named",
    "register",
    "suspects",
    "use_rules",
    "without_value",
]
