"""Names of secrets, and words before them that change their meaning."""

import json

from treadle.secrets.detector import spellings

_FOREIGN = (
    *("passwort", "kennwort", "contraseña", "mot de passe", "mot_de_passe", "senha", "wachtwoord"),
    *(
        "parola", "hasło", "lösenord", "heslo", "jelszó", "salasana", "adgangskode", "şifre",
        "sifre",
    ),
    *(
        "пароль", "密码", "密碼", "口令", "パスワード", "비밀번호", "mật khẩu",
        "पासवर्ड", "סיסמה", "كلمة المرور",
    ),
)  # fmt: skip
"""Names of a password in languages other than English."""


def _escaped(word: str) -> tuple[str, ...]:
    """Return the spellings of a word in JSON and in the `repr` of bytes, unless it is ASCII."""
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
"""Names of secrets, or parts of such names."""

WEAK_KEYWORDS = "key|Key|token|Token|signature|Signature|sessionid|Sessionid|?sig|&sig"
"""Names after which only random text is a secret, unless a strong word precedes them."""

COMMANDS = ("requirepass", "masterauth")
"""Settings of Redis that a password follows directly."""

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
    "public", "publishable", "pub", "cache", "content", "commit", "partition", "primary",
    "foreign", "sort", "row", "object", "idempotency", "dedup", "routing", "license_url", "react",
    "hash", "next", "page", "paging", "continuation", "cursor", "integrity", "etag", "site", "by",
    "compass", "bypass",
)  # fmt: skip
"""Words before `key` or `token` that show that the value is not a secret."""
STRONG_WORDS = (
    "api", "access", "account", "private", "auth", "refresh", "bearer", "signing", "encryption",
    "shared", "master", "service", "client", "session", "security", "webhook", "license", "admin",
    "root", "deploy", "bot", "personal", "app", "function", "instrumentation", "subscription",
    "push", "consumer", "ssh", "aes", "hmac", "jwt", "csrf", "x", "id", "user", "ci", "registry",
    *("write", "ingest", "server", "integration", "storage", "setup"),
    *("openai", "anthropic", "azure", "github", "gitlab", "stripe", "twilio"),
    *("datadog", "sentry", "algolia", "cohere", "mistral", "deepgram", "honeycomb", "pusher"),
    *("vault", "backup", "wallet", "cookie", "crypt", "cipher", "authenticator"),
)  # fmt: skip
"""Words that turn a `key` or `token` after them into the name of a secret."""
