"""Names of secrets, and the words before them that say more about their values."""

import json

from treadle.secrets.detector import spellings

_FOREIGN = (
    *("passwort", "kennwort", "contraseña", "mot de passe", "mot_de_passe", "senha", "wachtwoord"),
    *(
        "parola",
        "hasło",
        "lösenord",
        "heslo",
        "jelszó",
        "salasana",
        "adgangskode",
        "şifre",
        "sifre",
    ),
    *(
        "пароль",
        "密码",
        "密碼",
        "口令",
        "パスワード",
        "비밀번호",
        "mật khẩu",
        "पासवर्ड",
        "סיסמה",
        "كلمة المرور",
    ),
)
"""Names of a password in other languages than English."""


def _escaped(word: str) -> tuple[str, ...]:
    """A word as JSON and as the `repr` of bytes write it, unless it is ASCII."""
    if word.isascii():
        return ()
    return json.dumps(word)[1:-1], repr(word.encode())[2:-1]


_SPELLED = (*_FOREIGN, *(word.capitalize() for word in _FOREIGN if word.capitalize() != word))
KEYWORDS = spellings(
    "passphrase", "password", "passwd", "pass", "pwd", "secret", "credential", "key", "token",
    "signature", "sessionid",
) + (
    "|passWord|PassWord|IDENTIFIED BY|identified by|SENHA"
    "|?sig|&sig|_pw|_PW|Pw|pw|PW|psk|PSK|requirepass|masterauth|_auth|_AUTH|_SALT|_PAT|"
) + "|".join((*_SPELLED, *(each for word in _SPELLED for each in _escaped(word))))  # fmt: skip
"""Names, or parts of them, that tell of a secret."""

WEAK_KEYWORDS = "key|Key|token|Token|signature|Signature|sessionid|Sessionid|?sig|&sig"
"""Those after which random text alone counts, unless a strong word is before them."""

COMMANDS = ("requirepass", "masterauth")
"""Settings of Redis, after which a password follows with nothing between."""

PASSWORDS = (
    "pass",
    "pwd",
    "identified",
    "_pw",
    "pw",
    "psk",
    *_FOREIGN,
    *(each.lower() for word in _SPELLED for each in _escaped(word)),
    *COMMANDS,
)
WEAK = frozenset({"key", "token", "signature", "sessionid", "?sig", "&sig"})

PUBLIC_WORDS = (
    "public",
    "publishable",
    "pub",
    "cache",
    "content",
    "commit",
    "partition",
    "primary",
    "foreign",
    "sort",
    "row",
    "object",
    "idempotency",
    "dedup",
    "routing",
    "license_url",
    "react",
    "hash",
    "next",
    "page",
    "paging",
    "continuation",
    "cursor",
    "integrity",
    "etag",
    "site",
    "by",
    "compass",
    "bypass",
)
"""What is before `key` or `token` where its value is not a secret."""
STRONG_WORDS = (
    "api",
    "access",
    "account",
    "private",
    "auth",
    "refresh",
    "bearer",
    "signing",
    "encryption",
    "shared",
    "master",
    "service",
    "client",
    "session",
    "security",
    "webhook",
    "license",
    "admin",
    "root",
    "deploy",
    "bot",
    "personal",
    "app",
    "function",
    "instrumentation",
    "subscription",
    "push",
    "consumer",
    "ssh",
    "aes",
    "hmac",
    "jwt",
    "csrf",
    "x",
    "id",
    "user",
    "ci",
    "registry",
    *("write", "ingest", "server", "integration", "storage", "setup"),
    *("openai", "anthropic", "azure", "github", "gitlab", "stripe", "twilio"),
    *("datadog", "sentry", "algolia", "cohere", "mistral", "deepgram", "honeycomb", "pusher"),
    *("vault", "backup", "wallet", "cookie", "crypt", "cipher", "authenticator"),
)
"""What is before `key` or `token` that makes it the name of a secret."""
