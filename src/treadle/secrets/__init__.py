"""Redacts secrets in text before the text is stored.

A secret is a value with the form of a secret (its shape), a registered value, or a match of the
user's rules. A name such as `password` before a value is not enough: the value must also look like
a secret. Words such as "auth" and "session" stay, and so does code such as `token = tokens[i]`.
Hashes, UUIDs and base64 of ordinary data stay too. The user's rules redact further text, or exempt
text from redaction.
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
