"""The secrets of API keys, invitations and browser sessions, and the hashes that are stored.

Each secret has 256 random bits, so nobody can guess it, and a fast hash is sufficient. Slow hashes
protect passwords, which people choose.
"""

import hashlib
import secrets

KEY_PREFIX = "tdl_"
"""The beginning of every API key. Tools that search for leaked secrets can recognise it."""

_SHOWN_CHARACTERS = 12
_MAX_CHARACTERS = 200


def new_key() -> str:
    """Return the secret of a new API key."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def new_secret() -> str:
    """Return the secret of a new invitation or browser session."""
    return secrets.token_urlsafe(32)


def shown_prefix(key: str) -> str:
    """Return the beginning of a key, which lists of keys show."""
    return key[:_SHOWN_CHARACTERS]


def stored_hash(secret: str) -> str:
    """Return the hash of a secret, as the store keeps it."""
    text = secret[:_MAX_CHARACTERS].encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()
