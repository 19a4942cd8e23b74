"""Redaction of text before it is stored: secret shapes, registered values, and the user's rules.

The shape of a value decides, not a word: "auth", "session" or `token = tokens[i]` stay, and so do
hashes, UUIDs and base64 of ordinary data. Rules of the user add to that and exempt from it.
"""

from treadle.secrets.redactor import (
    Rules,
    find_suspects,
    redact,
    redact_counted,
    redact_named,
    register,
    remove_value,
    suggests_secret,
    use_rules,
)
from treadle.secrets.rules import Rule

__all__ = [
    "Rule",
    "Rules",
    "find_suspects",
    "redact",
    "redact_counted",
    "redact_named",
    "register",
    "remove_value",
    "suggests_secret",
    "use_rules",
]
