"""The shapes of secrets: what each looks like, and which of what looks so is one.

All patterns run in time linear in the length of the text: each starts at a literal or a short
keyword, every repetition is bounded or possessive, and no run of characters offers a second place
to start.
"""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

Finding = tuple[int, int, str]
"""Where a secret begins and ends, and of what kind it is."""


@dataclass(frozen=True, slots=True)
class Detector:
    """A pattern, what of a match is a secret (None: nothing), and literals that a match needs."""

    pattern: re.Pattern[str]
    find: Callable[[re.Match[str]], Finding | None]
    hints: tuple[str, ...] = ()
    is_vendor: bool = False
    """Whether it is one of `hints`, the prefix of a vendor, and random text behind it."""


def _starts_word(literal: str) -> str:
    r"""A pattern for `literal` where no longer word begins before it.

    An escape of JSON text (`\n`, `\u001b`) before it does not count as a word. The check comes
    after the literal, so that the regex engine can search for the literal first.
    """
    escaped = re.escape(literal)
    return (
        f"{escaped}(?:(?<![A-Za-z0-9_-]{escaped})"
        rf"|(?<=\\[nrtbf]{escaped})|(?<=\\u[0-9a-f]{{4}}{escaped}))"
    )


def _spellings(*words: str) -> str:
    """Alternatives for the usual cases of words; ignoring case would be ten times slower."""
    return "|".join(f"{word}|{word.capitalize()}|{word.upper()}" for word in words)


def _before(match: re.Match[str], length: int) -> str:
    return match.string[max(0, match.start() - length) : match.start()]


def _longest_run(value: str) -> int:
    return max((len(run) for run in re.findall(r"[A-Za-z0-9]+", value)), default=0)


def _is_key_body(value: str) -> bool:
    """Whether what follows a vendor's prefix is random, not words joined by dashes."""
    return any(character.isdigit() for character in value) and _longest_run(value) >= 10


def _vendor(
    kind: str,
    prefixes: tuple[str, ...],
    body: str,
    is_key: Callable[[str], bool] = _is_key_body,
) -> Detector:
    starts = "|".join(_starts_word(prefix) for prefix in prefixes)

    def find(match: re.Match[str]) -> Finding | None:
        return (*match.span(), kind) if is_key(match["body"]) else None

    return Detector(re.compile(f"(?:{starts})(?P<body>{body})"), find, prefixes, is_vendor=True)


_WORD = r"[A-Za-z0-9_-]"

_VENDORS = (
    # OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse, and the many that follow them.
    _vendor("api-key", ("sk-",), _WORD + r"{20,}+"),
    _vendor("api-key", ("xai-", "pplx-", "nvapi-", "tvly-", "csk-"), _WORD + r"{20,}+"),
    _vendor("api-key", ("gsk_", "r8_", "fw_"), r"[A-Za-z0-9]{20,}+"),
    _vendor("huggingface-token", ("hf_",), r"[A-Za-z0-9]{30,}+"),
    _vendor("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9]{36,}+"),
    _vendor("github-token", ("github_pat_",), r"[A-Za-z0-9_]{22,}+"),
    _vendor("gitlab-token", ("glpat-", "gldt-", "glrt-"), _WORD + r"{20,}+"),
    _vendor(
        "slack-token", ("xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xapp-"), _WORD + "{10,}+"
    ),
    _vendor("slack-webhook", ("hooks.slack.com/services/",), r"[A-Za-z0-9/]{20,}+"),
    _vendor("google-key", ("AIza",), _WORD + r"{35}(?![A-Za-z0-9_-])"),
    _vendor("google-token", ("ya29.", "GOCSPX-"), _WORD + r"{20,}+"),
    _vendor("stripe-key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[A-Za-z0-9]{16,}+"),
    _vendor("stripe-key", ("whsec_",), r"[A-Za-z0-9+/]{24,}+={0,2}"),
    _vendor("npm-token", ("npm_",), r"[A-Za-z0-9]{36,}+"),
    _vendor("pypi-token", ("pypi-",), r"AgE" + _WORD + r"{40,}+"),
    _vendor("sendgrid-key", ("SG.",), _WORD + r"{16,}+\." + _WORD + r"{20,}+"),
    _vendor("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"[a-f0-9]{64}"),
    _vendor("databricks-token", ("dapi",), r"[a-f0-9]{32}(?![A-Za-z0-9])"),
    _vendor("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[a-fA-F0-9]{32}"),
    _vendor("linear-key", ("lin_api_",), r"[A-Za-z0-9]{32,}+"),
    _vendor("notion-token", ("ntn_",), r"[A-Za-z0-9]{40,}+"),
    _vendor("vault-token", ("hvs.", "hvb."), _WORD + r"{24,}+"),
    _vendor("age-key", ("AGE-SECRET-KEY-1",), r"[A-Z0-9]{50,}+"),
    # Sixteen characters of base32, which need not hold a digit.
    _vendor("aws-key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z2-7]{16}(?![A-Za-z0-9])", bool),
)

_JWT = Detector(
    re.compile(_starts_word("eyJ") + rf"{_WORD}{{8,}}+\.eyJ{_WORD}{{8,}}+\.{_WORD}{{10,}}+"),
    lambda match: (*match.span(), "jwt"),
    ("eyJ",),
)

_PEM_TITLE = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM = Detector(
    re.compile(
        rf"-----BEGIN {_PEM_TITLE}"
        rf"(?:(?:[^-\"]|-(?!----))*+-----END {_PEM_TITLE}"
        # Without its end, for example cut by a tool: headers, then what looks like base64.
        r"|(?:(?:\s|\\{1,7}[nr])*+[A-Z][A-Za-z-]{2,15}: [^\s\"\\]{0,80}+)*+"
        r"(?:\s|\\{1,7}[nr])*+(?:[A-Za-z0-9+/=]|\s|\\{1,7}[nr]){32,}+)"
    ),
    lambda match: (*match.span(), "private-key"),
    ("PRIVATE KEY",),
)


_TEMPLATE = ("$", "{", "<", "%")
_ORDINARY_PASSWORDS = frozenset({"pass", "password", "passwd", "pwd", "secret"})
"""What documentation writes in the place of a password."""


def _find_password_of_url(match: re.Match[str]) -> Finding | None:
    password = match["password"]
    if password.startswith((*_TEMPLATE, "[redacted:")) or password in _ORDINARY_PASSWORDS:
        return None
    return (*match.span("password"), "password")


_URL = Detector(
    re.compile(
        r"(?P<user>://[^\s:/@\"'\\<>]{0,256}:)(?P<password>[^\s@/\"'\\]{1,256})@(?=[A-Za-z0-9\[])"
    ),
    _find_password_of_url,
    ("://",),
)


def _holds_pair(value: str) -> bool:
    """Whether `value` is base64 of `user:password`."""
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False


_HEADER_NAME = re.compile(
    r"authorization[\"'\\]{0,4}\s{0,4}[:=,]\s{0,4}[\"'\\]{0,4}\Z", re.IGNORECASE
)


def _find_credentials(match: re.Match[str]) -> Finding | None:
    value, scheme = match["value"], match["scheme"].lower()
    if scheme == "basic":
        value = value.rstrip(".")  # of a sentence
        secret = _holds_pair(value)
    elif _HEADER_NAME.search(_before(match, 40)):
        secret = any(map(str.isdigit, value)) or (len(value) >= 20 and not value.isupper())
    else:
        secret = len(value) >= 16 and _is_random(value)
    start = match.start("value")
    return (start, start + len(value), scheme) if secret else None


_HEADER = Detector(
    re.compile(
        rf"(?P<scheme>{_spellings('bearer', 'basic', 'token')})"
        r"(?P<space>\s{1,4})(?P<value>[A-Za-z0-9._~+/-]{8,}+={0,2})"
    ),
    _find_credentials,
)

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_AWS_SECRET = re.compile(r"[A-Za-z0-9/+]{40}")
_CODE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)+|[A-Za-z_]+")


def _classes(value: str) -> int:
    tests = (str.islower, str.isupper, str.isdigit, "!@#$%^&*+~?".__contains__)
    return sum(any(map(test, value)) for test in tests)


def _is_random(value: str) -> bool:
    """Whether letters and digits change as often as in random text, and seldom in names.

    Random base62 changes its class (lower, upper, digit) at 0.62 of all places, 0.45 when the
    capital of a word is not counted; names in code stay under 0.3 and hold hardly any digit.
    """
    letters = re.sub(r"[^A-Za-z0-9]", "", value)
    digits = sum(character.isdigit() for character in letters)
    if digits < 2 or digits == len(letters) or _longest_run(value) < 12:
        return False
    if len(letters) < 20 and not (
        any(map(str.islower, letters)) and any(map(str.isupper, letters))
    ):
        return False
    changes = sum(
        1
        for left, right in pairwise(letters)
        if (left.isdigit() != right.isdigit()) or (left.islower() and right.isupper())
    )
    return changes >= 0.22 * (len(letters) - 1)


def _is_assigned_secret(value: str, *, strong: bool, quoted: bool, spaced: bool) -> bool:
    """Whether the value given to a telling name is a secret.

    A strong name (password, secret, api_key) makes a secret of a long hash or UUID and of a short
    password of three classes of characters; after a weak one (key, token) only random text counts.
    What is not quoted may be a name in code, surely so where space or a colon stands before it.
    """
    if not quoted and _CODE_NAME.fullmatch(value):
        return False
    hexadecimal = _HEX.fullmatch(value) or _UUID.fullmatch(value)
    if hexadecimal:
        return strong and len(value) >= 24 and not value.isdigit()
    is_path = "/" in value and not _AWS_SECRET.fullmatch(value)
    is_name = not quoted and spaced and value.isidentifier()
    is_password = _classes(value) >= 3 and any(map(str.isdigit, value))
    if strong and is_password and not is_path and not is_name:
        return not value.startswith(_TEMPLATE)
    return len(value) >= 16 and _is_random(value)


_STRONG_PREFIX = re.compile(
    r"(?:api|access|account|private|auth|refresh|bearer)[_-]?\Z", re.IGNORECASE
)


def _find_assigned(match: re.Match[str]) -> Finding | None:
    quoted, name = match["quoted"], match["name"].lower()
    value = match["bare"] if quoted is None else quoted
    strong = name not in {"key", "token"} or _STRONG_PREFIX.search(_before(match, 8)) is not None
    spaced = not match["before"].endswith("=")
    if not _is_assigned_secret(value, strong=strong, quoted=quoted is not None, spaced=spaced):
        return None
    kind = "password" if name.startswith(("pass", "pwd")) else "secret"
    return (*match.span("bare" if quoted is None else "quoted"), kind)


KEYWORDS = _spellings(
    "key", "token", "password", "passwd", "passphrase", "pwd", "secret", "credential"
)
"""Names, or parts of them, that tell of a secret."""

_ASSIGNMENT = Detector(
    re.compile(
        r"(?P<before>(?P<name>"
        + KEYWORDS
        + r")[A-Za-z0-9_]{0,24}+[\"'\\]{0,8}\s{0,8}(?::=|=>|=(?!=)|:(?!:))\s{0,8})"
        r"(?:(?P<open>\\{0,7}[\"'`])(?P<quoted>[^\s\"'`\\]{8,512}+)(?=\\{0,7}[\"'`])"
        r"|(?P<bare>[A-Za-z0-9+/_.~!@#$%^*-]{8,512}+={0,2})(?![(\[A-Za-z0-9]))"
    ),
    _find_assigned,
)

DETECTORS = (_PEM, _URL, *_VENDORS, _JWT, _HEADER, _ASSIGNMENT)
