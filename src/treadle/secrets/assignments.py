# ruff: noqa: E501  (patterns are read as a whole)
"""Secrets by the name that they are given to, in whatever syntax: `DB_PASS=…`, `--password …`.

A name tells how much its value must show: after a name of a password a short one of several
classes of characters is enough, after `api_key` a hash too, after `key` or `token` random text
alone. How the value is written counts as well: an unquoted one may be a name in code.
"""

import re

from treadle.secrets.detector import MARK, Detector, Finding, any_of, before, spellings
from treadle.secrets.randomness import (
    classes,
    is_hexadecimal,
    is_random,
    is_random_letters,
    longest_run,
)

KEYWORDS = spellings(
    "passphrase", "password", "passwd", "pass", "pwd", "secret", "credential", "key", "token",
    "signature", "sessionid",
) + (
    "|passWord|PassWord|passwort|Passwort|contraseña|mot_de_passe|IDENTIFIED BY|identified by"
    "|senha|Senha|SENHA|kennwort|Kennwort|wachtwoord|Wachtwoord|parola|Parola|hasło|Hasło|lösenord|Lösenord"
    "|пароль|Пароль|密码|密碼|パスワード|비밀번호"
    "|?sig|&sig|_pw|_PW|Pw|psk|PSK|requirepass|masterauth"
)  # fmt: skip
"""Names, or parts of them, that tell of a secret."""

WEAK_KEYWORDS = "key|Key|token|Token|signature|Signature|sessionid|Sessionid|?sig|&sig"
"""Those after which random text alone counts, unless a strong word is before them."""

_LEAST = 6
"""Characters of a value."""

_COMMANDS = ("requirepass", "masterauth")
"""Settings of Redis, after which a password follows with nothing between."""

_PASSWORDS = (
    "pass",
    "pwd",
    "contraseña",
    "mot_de_passe",
    "identified",
    "_pw",
    "pw",
    "psk",
    *("senha", "kennwort", "wachtwoord", "parola", "hasło", "lösenord"),
    *("пароль", "密码", "密碼", "パスワード", "비밀번호"),
    *_COMMANDS,
)
_WEAK = frozenset({"key", "token", "signature", "sessionid", "?sig", "&sig"})

_TYPED = (
    r"(?:\s[aA]s\s[sS]tring|:\s?(?:(?:Optional|Final|ClassVar)\[)?(?:str|string|String|&str|&'static str|char\*|bytes)\]?"
    r"(?:\s?\|\s?None)?)\s?="
)
_CLOSED = r"[\"'`*\\\])}]{0,8}"
_WRAPPED = (
    r"(?:(?:Some|SecretStr|SecretString|Optional\.of|String\.from|String::from|Field|Buffer\.from)"
    r"\((?:default=)?(?=\\{0,7}[\"'`]))?"
)
"""What stands around a value in code, and is no function that makes another one of it."""
_JOINS = "|".join(
    (
        rf"(?P<typed>{_CLOSED}\s{{0,8}}{_TYPED}\s{{0,8}}{_WRAPPED})",
        # A name and a value as two fields: Kubernetes, CloudFormation, XML.
        (
            r"(?P<pair>[\"'\\]{0,8}(?:,|:\s{0,4}\{|(?:\s[a-z-]{2,20}=\"[^\"\s]{0,60}\"){1,3})?(?:\s|\\{1,4}[nrt]){0,40}"
            r"[\"'\\]{0,8}(?:Parameter)?[vV]alue[\"'\\]{0,8}\s{0,4}[:=]\s{0,8}"
            r"|[\"']\s?>\s{0,40}<value>|\"(?:(?:\r?\n|\\r\\n)){2})"
        ),
        # What a program takes where the environment has no value: `process.env.API_KEY || "…"`.
        rf"(?P<fallback>{_CLOSED}(?:\s{{0,4}}(?:\|\|=?|\?\?=?|\?:)|\sor)\s{{0,8}})(?=\\{{0,7}}[\"'`])",
        # `variable "api_key" { default = "…" }` of Terraform, and what pydantic reports.
        r"(?P<block>\\{0,7}\"\s{0,4}\{[^{}]{0,200}?\sdefault\s{0,8}=\s{0,8}(?=\\{0,7}\"))",
        r"(?P<reported>\\{0,2}[\nn] {2}[^\n]{1,160}, input_value=)",
        r"(?P<cell>[`*\"]{0,2}[ \t]{0,40}\|[ \t]{0,40})",
        r"(?P<set>[`\"'*]{0,3}\s(?:to|--body|--value)[\s=]{1,2})",
        rf"(?P<equals>{_CLOSED}\s{{0,8}}(?::=|=>|->|[→\uff1a]|=(?!=)|:(?!:)|={{2,3}}(?=\s{{0,4}}[\"'`]))\s{{0,8}}(?:\[\s{{0,8}}(?=[\"'`]))?(?:[|>][+-]?\s{{1,40}})?{_WRAPPED})",
        r"(?P<plist></[a-zA-Z]{2,10}>\s{0,40}<[a-zA-Z]{2,10}>)",
        r"(?P<tag>[\"'\\]{0,4}>\s{0,8})",
        r"(?P<argument>[\"'\\]{1,8}\s{0,4},\s{0,8}|[({]\s{0,4})(?=\\{0,7}[\"'`])",
        r"(?P<said>\sfor\s[\"']?[\w@.-]{1,40}[\"']?\s?[:=]\s{1,4}|(?:\sfor\s[\w@.-]{1,40})?\s(?:is|was|=|ist|lautet|é|es|est|:)(?::|\s=)?\s{1,4})",
        r"(?P<blank>[\"']?[ \t]{1,8}|[\"'\\]{1,8},\s{0,4}(?=[\"'\\]))",
    )
)
_QUOTED = r"(?:@|[rRbBuULN]{1,2}#{0,2})?(?P<open>\\{0,7}[\"'`](?:\"\"|''|`)?)(?P<quoted>[^\s\"'`\\]{6,512}+)(?=\\{0,7}[\"'`])"
_BARE = r"(?P<long>\[\[)?(?P<bare>[A-Za-z0-9+/_.~!@#$%^*?:&-]{6,512}+={0,2})(?![(\[A-Za-z0-9])"

_TAILS = re.compile(
    r"(?:^|[_-])(?:ids?|at|counts?|len|length|min|max|name|file|filename|path|dir|url|uri|type|"
    r"size|field|label|labels|policy|expir\w*|ttl|budget|limit|usage|index|version|word|words|"
    r"code|map|space|prefix|suffix|arn|ref|manager|provider|store|hint|error|message|text|"
    r"placeholder|title|required|enabled|changed|updated|created|reset|set|format|pattern|regex|"
    r"mgr|s?manager|handler|hasher|validator|encoder|reset|"
    r"algorithm|strength|hash|digest|fingerprint|checksum|bits|usages|ops|pair|board|up|down|press|"
    r"frames?)$|(?:Id|Ids|At|Count|Length|Name|File|Path|Url|URL|Type|Size|Field|Label|Policy|"
    r"Expiry|Ttl|Limit|Index|Version|Map|Prefix|Hash|Digest|Fingerprint|Text|Error|Hint|Mgr|Manager|Handler|Hasher|Validator|Encoder|Input|Form|"
    r"Service|Provider|Helper|Util|Utils|Type|MgrWithDefaultRealm)$"
)
"""What a name ends with that is about a secret, and is none."""
_OTHER_WORDS = re.compile(
    r"(?:ed|ing|es|age|ages|port|ports|ive|enger|engers|through|able|c[a-z]+|ENGER|PORT|THROUGH|ED|ING|IVE)(?![a-z])"
)
"""What makes another word of `pass`."""
_BEFORE_PASS = ("db", "sql", "root", "admin", "user", "smtp", "ftp", "mail", "redis", "pg", "app")
_JS_NAME = re.compile(r"[+!~-]*\$[A-Za-z0-9_]+\$[A-Za-z0-9_$]*")
_PW_OF_WORD = re.compile(r"_?[pP][wW][abce-zABCE-Z]")
"""`pw` at the begin of a longer word; `pwd` is another name of a password."""
_PUBLIC = (
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
)
"""What is before `key` or `token` that makes it the name of a secret."""


def _follows_any(words: tuple[str, ...], ahead: str) -> bool:
    """Whether a text ends with one of the words, with or without a separator after it."""
    lowered = ahead.lower()
    return lowered.endswith(words) or (
        lowered[-1:] in {"_", ".", "-"} and lowered[:-1].endswith(words)
    )


_TEMPLATE = re.compile(
    r"[$%]?[{<(\[]|\$[A-Za-z_({]|%[A-Za-z_]+%|[*.•xX#?_-]{5,}|\*{3}"
    r"|(?:your|insert|enter|replace|change|example|placeholder|dummy|fake|test|"
    r"redacted|todo|none|null|nil|true|false|undefined|string|required|optional|process\.env|"
    r"os\.|env\.|config\.|self\.|this\.|var\.|local\.|data\.|secrets?\.|request\.|args\.|vault:|"
    r"arn:aws|ref\+|op://|file://|https?://|ssm:|projects/)(?:[^A-Za-z]|me\b|\Z)",
    re.IGNORECASE,
)
_CODE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\??\.[A-Za-z_][A-Za-z0-9_]*)+|[A-Za-z_-]+")
_NAMELIKE = re.compile(
    r"(?=[A-Za-z_.-]*(?:pass(?!age)|pwd|secret|(?:^|[^A-Za-z]|api|my|auth)(?:token|key|user|field|input|auth|cred)(?![a-z]{3})))"
    r"[A-Za-z_.-]*\d{0,3}",
    re.IGNORECASE,
)
"""A name with one of these words in it; people write such names in the place of a secret."""
_EXAMPLE = re.compile(
    r"(?:^|[^A-Za-z])(?:example|sample|dummy|fake|test|testing|changeme|change|placeholder|foo|bar|baz|your|my|"
    r"abc|abcd|xyz|todo|none|default|demo|mock|invalid|wrong|lorem|hello|world|version|step|page|item|row|"
    r"col|id|utf|sha|md|base|rsa|aes|ed|ecdsa|hs|rs|es|v|iso|http|oauth|x|prod|dev|staging|local|"
    r"localhost|node|python|py|ubuntu|debian|us|eu|ap)(?=[\d_.-]|\Z)",
    re.IGNORECASE,
)
"""A word that values of examples, versions and names of algorithms contain."""
_PATH = re.compile(
    r"\.{0,2}/(?:[a-z0-9_.-]+/)*[a-z0-9_.-]*|[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*\.[a-z]{1,5}"
)
_PATH_CHARACTERS = re.compile(r"[A-Za-z0-9_./-]+")
_SPOKEN_SECRET = re.compile(
    r"[A-Za-z]{4,24}[!#$%&*_.-]?\d{2,6}[!#$%&*]?|[a-z]{3,16}(?:[_.-][a-z]{3,16}){1,5}[_.-]?\d{2,6}[!#$%&*]?"
)
_DIGITS_TWICE = re.compile(r"\d+[A-Za-z]+\d")
_MARKED = re.compile(r"[\d!@#$%^&*+~?=|;,]")
_SEGMENTS = re.compile(r"[A-Za-z0-9_.-]{1,20}(?:/[A-Za-z0-9_.-]{1,24})+")
_AWS_SECRET = re.compile(r"[A-Za-z0-9/+]{40}")
_OPTION = re.compile(r"(?:^|[\s\"'\[(,])--?(?:[A-Za-z]+-){0,4}\Z")


def _find(match: re.Match[str]) -> Finding | None:
    ahead = before(match, 60)
    group = "bare" if match["quoted"] is None else "quoted"
    value = match[group] if group == "quoted" else _bare(match, ahead)
    if len(value) < _LEAST or value.startswith(MARK) or _TEMPLATE.match(value):
        return None
    if not _is_telling(match, ahead) or _is_code(match, value):
        return None
    literal = _is_literal(match, ahead, quoted=group == "quoted")
    if literal is None or not _is_given(match, value, ahead, literal=literal):
        return None
    start = match.start(group)
    return start, start + len(value), "password" if _of_password(match) else "secret"


def _is_code(match: re.Match[str], value: str) -> bool:
    """Whether the syntax says that the value is a name in code or another argument."""
    if match["argument"] is not None:
        # `set_password("service", "user", …)`: the password would be the only argument.
        called = match["argument"][0] in "({"
        return (
            called
            and match.string[match.end("quoted") : match.end("quoted") + 12].lstrip("\\\"'`")[:1]
            == ","
        )
    spaced = match["equals"] is not None and match["equals"][-1:].isspace()
    return match["quoted"] is None and spaced and _JS_NAME.fullmatch(value) is not None


def _bare(match: re.Match[str], ahead: str) -> str:
    """An unquoted value without what follows it in a sentence or in an address."""
    value = match["bare"]
    if match["tag"] is not None or match["equals"] is not None:
        value = value.rstrip(".,:?&")
    in_address = match.string.startswith("=", match.end()) or _ADDRESS.search(ahead)
    return value.partition("&")[0] if in_address else value


def _of_password(match: re.Match[str]) -> bool:
    return match["name"].lower().startswith(_PASSWORDS)


def _is_telling(match: re.Match[str], ahead: str) -> bool:
    """Whether the whole name, of which the keyword is a part, is that of a secret."""
    name, word = match["name"], match["name"].lower()
    if _TAILS.search(match["tail"]) or _PW_OF_WORD.match(name + match["tail"]):
        return False
    if word in _WEAK and (_follows_any(_PUBLIC, ahead) or match["tail"] == "s"):
        return False
    if word in {"pass", "psk"} and _OTHER_WORDS.match(match["tail"]):
        return False
    if name == "PASS" and ahead[-1:].isupper() and not _follows_any(_BEFORE_PASS, ahead):
        return False
    if name[0].islower() and ahead[-1:].isalpha() and ahead[-1].islower():
        # Part of a longer word, such as `monkey`; joined names (`apikey`) are known.
        joined = _follows_any(STRONG_WORDS, ahead)
        return joined or word.startswith(("passw", "passph", "pwd"))
    return True


def _is_given(match: re.Match[str], value: str, ahead: str, *, literal: bool) -> bool:
    """Whether the value given to the name is a secret."""
    word = match["name"].lower()
    if _of_password(match):
        sure = literal or (":" in match[0] and _DIGITS_TWICE.search(value) and classes(value) >= 3)
        return (sure and is_password(value)) or _is_secret(value, strong=True, literal=literal)
    strong = word not in _WEAK or _follows_any(STRONG_WORDS, ahead)
    strong = strong or _OPTION.search(ahead) is not None
    upper = literal and match["name"].isupper() and match["equals"] is not None
    named = strong or (upper and word in {"key", "token"})
    if word == "token" and literal and is_hexadecimal(value):
        return len(value) >= 32
    return _is_secret(value, strong=named, literal=literal)


_OF_QUOTED = re.compile(
    r"(?:#define|USER|WITH|USER|ROLE|LOGIN|\(def|proxy_set_header)\b[^\n]{0,200}\Z"
)
_OF_BARE = re.compile(
    r"\b(?:(?:ENV|ARG|setx|SETX|setenv|set -[a-zA-Z]{1,4}|SET|config set)[ \t][^\n]{0,200}|(?:machine|login|host|user)\s[^;{}()]{0,200})\Z"
)
_SPOKEN = frozenset(
    {"password", "passwd", "Password", "PASSWORD", "PASSWD", "passphrase", "Passphrase", "passwort"}
)
"""Names after which a password may follow with nothing between."""
_LINE = re.compile(
    r"(?:^|\n|\\n)[ \t]{0,40}(?:\d{1,6}[ \t|:→]{1,4}[ \t]{0,40})?(?:[-#>+][ \t]{0,40}){0,2}[\w.-]{0,40}\Z"
)
"""What stands before the name in a line of YAML, of a header or of settings."""
_SAID = re.compile(r"(?:^|\n|\\n)[^\n{}()\[\]<>=]{0,70}[\s/|,;]\Z")
"""What stands before the name in a sentence: `Login: admin / Password: …`."""
_NUMBER = re.compile(r"\d{2}")
_ODD = re.compile(r"[A-Za-z0-9][#@!$%^?~]+[A-Za-z0-9]")
"""Characters within a word that no expression of code has there."""
_ADDRESS = re.compile(r"[?&;][\w.%-]{0,40}\Z")


def _is_literal(match: re.Match[str], ahead: str, *, quoted: bool) -> bool | None:
    """Whether the value is text and not code; None where the syntax says that it is no value."""
    if match["blank"] is not None:
        asked = _OPTION.search(ahead) or match["name"].lower().startswith(
            ("identified", *_COMMANDS)
        )
        declared = _declares(match, quoted=quoted) and (quoted or _has_digit(match))
        return True if asked or declared or _follows(match) else None
    if match["tag"] is not None:
        closes = match.string.startswith(("</", "<\\"), match.end())
        return True if quoted or closes else None
    if match["cell"] or match["set"] or "<td>" in (match["plist"] or ""):
        return True if quoted or _stands_out(match) else None
    joins = (
        *(match["pair"], match["plist"], match["said"], match["long"]),
        *(match["fallback"], match["block"], match["reported"]),
    )
    if not quoted and (match["equals"] or "").rstrip(" \t").endswith(("=\n", "=\r\n")):
        return None  # an empty setting, with the next one in the line below
    if quoted or any(join is not None for join in joins) or _ADDRESS.search(ahead):
        return True
    return _is_setting(match)


def _has_digit(match: re.Match[str]) -> bool:
    return any(map(str.isdigit, match["bare"] or "")) or classes(match["bare"] or "") >= 3


def _follows(match: re.Match[str]) -> bool:
    """Whether what stands behind the name, without anything between, can only be its value."""
    value = match["bare"] or match["quoted"] or ""
    if _of_password(match):
        return match["tail"] == "" and match["name"] in _SPOKEN and _stands_out(match)
    return len(value) >= 20 and "/" not in value and is_random(value) and not is_hexadecimal(value)


def _stands_out(match: re.Match[str]) -> bool:
    """Whether an unquoted value cannot be a word of the text around it."""
    value = match["bare"] or ""
    if _of_password(match):
        twice = classes(value) >= 3 and _DIGITS_TWICE.search(value) is not None
        return twice or is_random(value)
    return len(value) >= 20 and (is_hexadecimal(value) or is_random(value))


def _declares(match: re.Match[str], *, quoted: bool) -> bool:
    """Whether a word before the name says that a value follows after a blank."""
    return (_OF_QUOTED if quoted else _OF_BARE).search(before(match, 240)) is not None


def _is_setting(match: re.Match[str]) -> bool:
    """Whether an unquoted value stands in settings, in a header or in a command, not in code."""
    joined = (match["equals"] or match["typed"]).rstrip("\n")
    line = before(match, 80)
    if not joined[-1:].isspace() and joined.endswith("="):
        # `NAME=value` of a shell, of a command or of settings; `(name=value)` may be code.
        return match["name"].isupper() or "(" not in line.rpartition("\n")[2]
    ends = match.string[match.end() : match.end() + 2]
    at_end = not ends or ends[0] in "\r\n\"'`" or ends in {"\\n", "\\r"}
    value = match["bare"]
    if not at_end:
        # In a sentence or a log line, `(user: bob, password: …)`.
        closes = ends[0] in "),}]" and ":" in joined and match["name"] in _SPOKEN
        return closes and classes(value) >= 3 and _NUMBER.search(value) is not None
    if ":" not in joined:
        return (
            _of_password(match)
            and _LINE.search(line) is not None
            and (
                _stands_out(match) or (not value.isidentifier() and _ODD.search(value) is not None)
            )
        )
    if _SAID.search(line) and (match["name"].istitle() or match["name"] in _SPOKEN):
        return classes(value) >= 3 or _SPOKEN_SECRET.fullmatch(value) is not None
    return _LINE.search(line) is not None


def is_password(value: str) -> bool:
    """Whether text given to the name of a password is one: several classes, and no name."""
    if value.isdigit() or value[0] == "." or len(set(value)) < 4 or classes(value) < 2:
        return False
    patterns = (_NAMELIKE, _CODE_NAME, _PATH)
    if is_random_letters(value):
        return True
    named = any(pattern.fullmatch(value) for pattern in patterns)
    return not named and _MARKED.search(value) is not None


def _is_secret(value: str, *, strong: bool, literal: bool) -> bool:
    """Whether text given to the name of a secret is random enough for that name."""
    if not literal and (_CODE_NAME.fullmatch(value) or _PATH.fullmatch(value)):
        return False
    if is_hexadecimal(value):
        return strong and len(value) >= 20 and not value.isdigit()
    if _is_place(value) or (value.count(":") > 1 and longest_run(value) < 12):
        return False
    return (strong and _is_strong(value, literal=literal)) or (
        len(value) >= 16 and is_random(value)
    )


def _is_place(value: str) -> bool:
    """Whether it is a path, not a key in base64 that has slashes."""
    if "/" not in value or _AWS_SECRET.fullmatch(value):
        return False
    short = _SEGMENTS.fullmatch(value) is not None and longest_run(value) < 16
    return short or _PATH.fullmatch(value) is not None


def _is_strong(value: str, *, literal: bool) -> bool:
    """Whether it is a secret after a name such as `api_key`: several classes, or a long run."""
    if literal and _is_spoken(value):
        return True
    if len(value) >= 8 and classes(value) >= 3 and any(map(str.isdigit, value)):
        is_name = (not literal and value.isidentifier()) or _NAMELIKE.fullmatch(value)
        if not is_name and not _PATH.fullmatch(value):
            is_path = _PATH_CHARACTERS.fullmatch(value) is not None and "/" in value
            return not is_path or is_random(value) or _AWS_SECRET.fullmatch(value) is not None
    return literal and len(value) >= 20 and longest_run(value) >= 16 and _is_mixed(value)


def _is_spoken(value: str) -> bool:
    """Whether it is a secret that a person chose: words in lower case, then a number."""
    if _SPOKEN_SECRET.fullmatch(value) is None or _EXAMPLE.search(value):
        return False
    return _NAMELIKE.fullmatch(value) is None


def _is_mixed(value: str) -> bool:
    """Lower-case letters and digits in turns, as in keys of base36."""
    digits = sum(character.isdigit() for character in value)
    least = len(value) // (6 if value.isidentifier() else 8)
    return least <= digits < len(value)


ASSIGNMENT = Detector(
    re.compile(
        rf"(?P<name>{any_of(KEYWORDS.split('|'))})(?P<tail>[A-Za-z0-9_-]{{0,24}}+)(?:{_JOINS})(?:{_QUOTED}|{_BARE})"
    ),
    _find,
    cues=(KEYWORDS.replace("?", r"\?"),),
    resumes=True,
)
