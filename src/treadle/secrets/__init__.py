"""Redaction of text before it is stored: secret shapes, registered values, and the user's rules.

The shape of a value decides, not a word near it. Words such as "auth" and "session" stay, and so
does code such as `token = tokens[i]`. Hashes, UUIDs and base64 of ordinary data stay too. The
user's rules redact further text, or exempt text from redaction.
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
