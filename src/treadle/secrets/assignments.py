# ruff: noqa: E501  (a pattern on one line is easier to read)
"""Finds secrets by the names before them, in any syntax: `DB_PASS=…`, `--password …`.

The name decides what its value must look like. After the name of a password, a short value with
several classes of characters is enough. After `api_key`, a hash is a secret too. After `key` or
`token`, only random text is a secret. The syntax also matters, since an unquoted value may be a
name in code.
"""

import re

from treadle.secrets.detector import MARK, Detector, Finding, any_of, before
from treadle.secrets.names import (
    COMMANDS,
    KEYWORDS,
    PASSWORDS,
    PUBLIC_WORDS,
    STRONG_WORDS,
    WEAK,
)
from treadle.secrets.randomness import (
    classes,
    is_hexadecimal,
    is_random,
    is_random_letters,
    longest_run,
)

_LEAST = 6
"""The least length of a value in characters."""

_TYPED = (
    r"(?:\s[aA]s\s[sS]tring|:\s?(?:(?:Optional|Final|ClassVar)\[)?(?:str|string|String|&str|&'static str|char\*|bytes)\]?"
    r"(?:\s?\|\s?None)?)\s?="
)
_CLOSED = r"[\"'`*\\\])}]{0,17}"
_WRAPPED = (
    r"(?:(?:new\s)?(?:Some|SecretStr|SecretString|Optional\.of|String|String\.from|String::from|Field|Buffer\.from)"
    r"\((?:default=)?(?=\\{0,15}[\"'`]))?"
)
"""Calls in code that wrap a value without changing it."""
_JOINS = "|".join(
    (
        rf"(?P<typed>{_CLOSED}\s{{0,8}}{_TYPED}\s{{0,8}}{_WRAPPED})",
        # A name and a value are two fields, as in Kubernetes, CloudFormation and XML.
        (
            r"(?P<pair>[\"'\\]{0,8}(?:,|:\s{0,4}\{|(?:\s(?:[a-z]{2,12}:)?[a-z-]{2,20}=\"[^\"\s]{0,60}\"){1,3})?(?:\s|\\{1,4}[nrt]){0,40}"
            r"[\"'\\]{0,8}(?:[a-z]{2,12}:|Parameter)?[vV]alue[\"'\\]{0,8}\s{0,4}[:=]\s{0,8}"
            r"|[\"']\s?>\s{0,40}<value>|\"(?:(?:\r?\n|\\r\\n)){2})"
        ),
        # A fallback for a missing variable: `process.env.API_KEY || "…"`.
        rf"(?P<fallback>{_CLOSED}(?:\s{{0,4}}(?:\|\|=?|\?\?=?|\?:)|\sor)\s{{0,8}})(?=\\{{0,7}}[\"'`])",
        # `variable "api_key" { default = "…" }` of Terraform, and reports of pydantic.
        r"(?P<block>\\{0,7}\"\s{0,4}\{[^{}]{0,200}?\sdefault\s{0,8}=\s{0,8}(?=\\{0,7}\"))",
        r"(?P<reported>\\{0,2}[\nn] {2}[^\n]{1,160}, input_value=)",
        r"(?P<cell>[`*\"]{0,2}[ \t]{0,40}\|[ \t]{0,40})",
        r"(?P<set>[`\"'*]{0,3}\s(?:to|--body|--value)[\s=]{1,2})",
        rf"(?P<equals>(?:\(\))?{_CLOSED}\s{{0,8}}(?:<<<|[:?+]=|=>|->|[→\uff1a]|=(?!=)|:(?!:)|={{2,3}}(?=\s{{0,4}}[\"'`]))\s{{0,8}}(?:\[\s{{0,8}}(?=[\"'`]))?(?:[|>][+-]?\s{{1,40}}(?:(?://|#|\*|;)\s{{1,40}})?)?{_WRAPPED})",
        r"(?P<plist></[a-zA-Z]{2,10}>\s{0,40}<[a-zA-Z]{2,10}>)",
        r"(?P<tag>[\"'\\]{0,4}>\s{0,8})",
        r"(?P<argument>[\"'\\]{1,8}\s{0,4},\s{0,8}|[({]\s{0,4})(?=\\{0,7}[\"'`])",
        r"(?P<phrase>\sfor\s[\"']?[\w@.-]{1,40}[\"']?\s?[:=]\s{1,4}|(?:\sfor\s[\w@.-]{1,40})?(?:\s(?:is|was|=|ist|lautet|é|è|es|est|jest|är|er|:|will be|should be|has been)(?:\s(?:now|still|currently|jetzt|(?:set|reset|changed|updated|rotated)(?:\sto)?))?(?::|\s=)?\s{1,4}|(?:是|为|は)))",
        r"(?P<dash>[`*\"]{0,3}\s[-\u2013\u2014]\s{1,2}[`\"']?)",
        r"(?P<bracket>\s[\[<(«](?=[^\s\])>»]{6,64}[\])>»]))",
        r"(?P<blank>[\"']?[ \t]{1,8}|[\"'\\]{1,8},\s{0,4}(?=[\"'\\]))",
    )
)
_QUOTED = r"(?:@|[rRbBuULN]{1,2}#{0,2})?(?P<open>\\{0,15}[\"'`](?:\"\"|''|[`\"'])?)(?P<quoted>[^\s\"'`\\]{6,512}+)(?=\\{0,15}[\"'`])"
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
"""Endings of names that are about a secret but do not name a secret."""
_OTHER_WORDS = re.compile(
    r"(?:ed|ing|es|age|ages|port|ports|ive|enger|engers|through|able|c[a-z]+|ENGER|PORT|THROUGH|ED|ING|IVE)(?![a-z])"
)
"""Letters after `pass` that make it another word."""
_BEFORE_PASS = (
    *("db", "sql", "root", "admin", "user", "smtp", "ftp", "mail", "redis", "pg", "app", "store"),
    *("key", "trust", "new", "old", "bind", "ldap", "proxy", "login", "wifi", "my", "default"),
)
_JS_NAME = re.compile(r"[+!~-]*\$[A-Za-z0-9_]+\$[A-Za-z0-9_$]*")
_PW_OF_WORD = re.compile(r"_?[pP][wW][abce-zABCE-Z]")
"""Matches `pw` at the beginning of a longer word, except `pwd`, which is a name of a password."""


def _follows_any(words: tuple[str, ...], ahead: str) -> bool:
    """Whether a text ends with one of the words, with or without a separator after the word."""
    lowered = ahead.lower()
    return lowered.endswith(words) or (
        lowered[-1:] in {"_", ".", "-", " "} and lowered[:-1].endswith(words)
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
"""Matches a name that contains a word such as `password`. Examples have such names as values."""
_EXAMPLE = re.compile(
    r"(?:^|[^A-Za-z])(?:example|sample|dummy|fake|test|testing|changeme|change|placeholder|foo|bar|baz|your|my|"
    r"abc|abcd|xyz|todo|none|default|demo|mock|invalid|wrong|lorem|hello|world|version|step|page|item|row|"
    r"col|id|utf|sha|md|base|rsa|aes|ed|ecdsa|hs|rs|es|v|iso|http|oauth|x|prod|dev|staging|local|"
    r"localhost|node|python|py|ubuntu|debian|us|eu|ap)(?=[\d_.-]|\Z)",
    re.IGNORECASE,
)
"""Matches a word that occurs in examples, versions and names of algorithms."""
_PATH = re.compile(
    r"\.{0,2}/(?:[a-z0-9_.-]+/)*[a-z0-9_.-]*|[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*\.[a-z]{1,5}"
)
_PATH_CHARACTERS = re.compile(r"[A-Za-z0-9_./-]+")
_MEMORABLE_SECRET = re.compile(
    r"[A-Za-z]{4,24}[!#$%&*_.-]?\d{2,6}[!#$%&*]?|[a-z]{3,16}(?:[_.-][a-z]{3,16}){1,5}[_.-]?\d{2,6}[!#$%&*]?"
)
_BASE32 = re.compile(r"[A-Z2-7]{16}(?:[A-Z2-7]{4}){0,12}")
_DIGITS_TWICE = re.compile(r"\d+[A-Za-z]+\d")
_MARKED = re.compile(r"[\d!@#$%^&*+~?=|;,]")
_SEGMENTS = re.compile(r"[A-Za-z0-9_.-]{1,20}(?:/[A-Za-z0-9_.-]{1,24})+")
_AWS_SECRET = re.compile(r"[A-Za-z0-9/+]{40}")
_OPTION = re.compile(r"(?:^|[\s\"'\[(,])--?(?:[A-Za-z]+-){0,4}(?:[a-z]{1,8})?\Z")
_SWITCH = re.compile(r"(?:^|\s)/[a-z]{0,10}\Z")
"""Matches the text before the name in an option of Windows: `/pass:…`."""
_OF_ROLE = re.compile(r"role|vault", re.IGNORECASE)
"""Matches words near a `secret_id` of Vault, which is a secret. A `secret_id` of AWS is a name."""
_CHECKSUM = re.compile(r"(?:checksum|digest|hash|sha\d{0,3})/\Z", re.IGNORECASE)
"""Matches the text before a name whose value is a hash of the secret."""


def _find(match: re.Match[str]) -> Finding | None:
    ahead = before(match, 60)
    group = "bare" if match["quoted"] is None else "quoted"
    value = match[group] if group == "quoted" else _bare(match, ahead)
    if len(value) < _LEAST or value.startswith(MARK) or _TEMPLATE.match(value):
        return None
    if not _names_secret(match, ahead) or _is_code(match, value):
        return None
    literal = _is_literal(match, ahead, quoted=group == "quoted")
    if literal is None or not _is_given(match, value, ahead, literal=literal):
        return None
    start = match.start(group)
    return start, start + len(value), "password" if _of_password(match) else "secret"


def _is_code(match: re.Match[str], value: str) -> bool:
    """Whether the syntax shows that the value is a name in code or an argument without a secret."""
    if match["argument"] is not None:
        # In `set_password("service", "user", …)`, the first argument is not a password. A password
        # would be the only argument.
        if match["name"] == "_auth":
            return True  # `_auth` is the name of a function
        called = match["argument"][0] in "({"
        return (
            called
            and match.string[match.end("quoted") : match.end("quoted") + 12].lstrip("\\\"'`")[:1]
            == ","
        )
    spaced = match["equals"] is not None and match["equals"][-1:].isspace()
    return match["quoted"] is None and spaced and _JS_NAME.fullmatch(value) is not None


def _bare(match: re.Match[str], ahead: str) -> str:
    """Return an unquoted value without the text that follows it in a sentence or a URL."""
    value = match["bare"]
    if match["tag"] is not None or match["equals"] is not None:
        value = value.rstrip(".,:?&")
    in_address = match.string.startswith("=", match.end()) or _ADDRESS.search(ahead)
    return value.partition("&")[0] if in_address else value


def _of_password(match: re.Match[str]) -> bool:
    return match["name"].lower().startswith(PASSWORDS)


def _names_secret(match: re.Match[str], ahead: str) -> bool:
    """Whether the whole name, of which the keyword is a part, is the name of a secret."""
    name, word = match["name"], match["name"].lower()
    if _CHECKSUM.search(ahead) or _is_other_word(match, ahead):
        return False
    if word in WEAK and (_follows_any(PUBLIC_WORDS, ahead) or match["tail"] == "s"):
        return False
    if name == "PASS" and ahead[-1:].isupper() and not _follows_any(_BEFORE_PASS, ahead):
        return False
    if name[0].islower() and ahead[-1:].isalpha() and ahead[-1].islower():
        # The keyword is part of a longer word, such as `monkey`. Joined names such as `apikey` are
        # exceptions.
        joined = _follows_any(STRONG_WORDS, ahead) or (
            word == "pass" and _follows_any(_BEFORE_PASS, ahead)
        )
        return joined or word.startswith(("passw", "passph", "pwd"))
    return True


def _is_other_word(match: re.Match[str], ahead: str) -> bool:
    """Whether the keyword is part of another word, or the end of the name rules out a secret."""
    word, tail = match["name"].lower(), match["tail"]
    if word in {"pw", "_auth", "_salt", "_pat"} and not _is_whole(match, ahead):
        return True
    if _PW_OF_WORD.match(match["name"] + tail):
        return True
    ends = _TAILS.search(tail) or (word in {"pass", "psk"} and _OTHER_WORDS.match(tail))
    return ends is not None and ends is not False and not _is_exception(match)


def _around(match: re.Match[str]) -> str:
    return before(match, 240) + match.string[match.end() : match.end() + 120]


def _is_exception(match: re.Match[str]) -> bool:
    """Whether a name is the name of a secret although its end usually rules that out."""
    whole = (match["name"] + match["tail"]).lower()
    return whole == "passcode" or (
        whole in {"secret_id", "secretid"} and _OF_ROLE.search(_around(match)) is not None
    )


def _is_whole(match: re.Match[str], ahead: str) -> bool:
    """Whether a short name such as `pw` is not part of another word."""
    begins = match["name"][0] == "_" or match["name"] == "Pw" or not ahead[-1:].isalnum()
    return begins and (match["tail"] == "" or match["tail"].isdigit())


def _is_given(match: re.Match[str], value: str, ahead: str, *, literal: bool) -> bool:
    """Whether the value after a name is a secret."""
    word = match["name"].lower()
    if _of_password(match):
        sure = literal or (":" in match[0] and _DIGITS_TWICE.search(value) and classes(value) >= 3)
        return (sure and is_password(value)) or _is_secret(value, strong=True, literal=literal)
    strong = word not in WEAK or _follows_any(STRONG_WORDS, ahead)
    strong = strong or _OPTION.search(ahead) is not None
    upper = literal and match["name"].isupper() and match["equals"] is not None
    named = strong or (upper and word in {"key", "token"})
    if word == "token" and literal and is_hexadecimal(value):
        return len(value) >= 32
    return _is_secret(value, strong=named, literal=literal)


_OF_QUOTED = re.compile(
    r"(?:#define|USER|WITH|ROLE|LOGIN|\(def|\(set[qf!]?|setenv|buildConfigField|resValue|proxy_set_header)\b[^\n]{0,200}\Z"
)
_OF_BARE = re.compile(
    r"\b(?:(?:ENV|ARG|setx|SETX|setenv|set -[a-zA-Z]{1,4}|SET|config set)[ \t][^\n]{0,200}|(?:machine|login|host|user)\s[^;{}()]{0,200})\Z"
)
_SPOKEN = frozenset(
    {"password", "passwd", "Password", "PASSWORD", "PASSWD", "passphrase", "Passphrase", "passwort"}
)
"""Names that a password may follow directly."""
_LINE = re.compile(
    r"(?:^|\n|\\n)[ \t]{0,40}(?:\d{1,6}[ \t|:→]{1,4}[ \t]{0,40})?(?:(?:[-#>+*;]|//)[ \t]{0,40}){0,2}[\w.-]{0,40}\Z"
)
"""Matches the text before the name in a line of YAML, of a header or of settings."""
_SECTION = re.compile(
    r"(?:^|\n)[ \t]{0,8}\[[\w .:@/-]{1,60}\][ \t]{0,8}\r?(?:\n[^\n\"'(){}]{0,160}){0,40}\n[\w. -]{0,40}\Z"
)
"""Matches the text before the name in a section of a settings file without quotes."""
_IN_STRING = re.compile(r"[\"'][\w-]{0,40}\Z")
_SENTENCE = re.compile(r"(?:^|\n|\\n)[^\n{}()\[\]<>=]{0,70}[\s/|,;]\Z")
"""Matches the text before the name in a sentence: `Login: admin / Password: …`."""
_NUMBER = re.compile(r"\d{2}")
_ODD = re.compile(r"[A-Za-z0-9][#@!$%^?~]+[A-Za-z0-9]")
"""Matches characters within a word that do not occur in words of code."""
_ADDRESS = re.compile(r"[?&;][\w.%-]{0,40}\Z")


def _is_literal(match: re.Match[str], ahead: str, *, quoted: bool) -> bool | None:
    """Whether the value is text and not code.

    Returns None if the syntax shows that the name does not have this value.
    """
    if match["blank"] is not None:
        option = _OPTION.search(ahead) or match["name"].lower().startswith(
            ("identified", *COMMANDS)
        )
        declared = _declares(match, quoted=quoted) and (quoted or _has_digit(match))
        named = quoted and match["blank"].isspace() and _is_named_password(match, ahead)
        return True if option or declared or named or _follows(match) else None
    sure = _is_sure(match, quoted=quoted)
    if sure is not None:
        return True if sure else None
    joins = (
        *(match["pair"], match["plist"], match["phrase"], match["long"]),
        *(match["fallback"], match["block"], match["reported"]),
    )
    if not quoted and (match["equals"] or "").rstrip(" \t").endswith(("=\n", "=\r\n")):
        return None  # an empty setting, followed by the next setting
    if quoted or any(join is not None for join in joins) or _ADDRESS.search(ahead):
        return True
    operator = (match["equals"] or "").strip("\"'`*\\])} \t")
    of_command = operator in {"?=", "<<<"} or (operator == ":" and _SWITCH.search(ahead))
    return True if of_command else _is_setting(match)


def _is_sure(match: re.Match[str], *, quoted: bool) -> bool | None:
    """Whether the words or markup between name and value show that the value is text.

    Returns None for other separators.
    """
    if match["bracket"] is not None:
        return match["name"] in _SPOKEN
    if match["dash"] is not None:
        labelled = _ends_line(match) and (match["name"][0].isupper() or match["name"] in _SPOKEN)
        return labelled and _is_evident(match)
    if match["tag"] is not None:
        return quoted or match.string.startswith(("</", "<\\"), match.end())
    if match["cell"] or match["set"] or "<td>" in (match["plist"] or ""):
        return quoted or _stands_out(match)
    return None


def _has_digit(match: re.Match[str]) -> bool:
    return any(map(str.isdigit, match["bare"] or "")) or classes(match["bare"] or "") >= 3


def _follows(match: re.Match[str]) -> bool:
    """Whether the text directly after the name can only be its value."""
    value = match["bare"] or match["quoted"] or ""
    if _of_password(match):
        spoken = match["tail"] == "" and match["name"] in _SPOKEN
        return spoken and (_stands_out(match) or _is_line(match))
    return len(value) >= 20 and "/" not in value and is_random(value) and not is_hexadecimal(value)


def _is_unlike_code(match: re.Match[str]) -> bool:
    """Whether an unquoted value after ` = ` cannot be a name or an expression in code."""
    value = match["bare"]
    if value.isidentifier():
        chosen = classes(value) >= 3 and _MEMORABLE_SECRET.fullmatch(value) is not None
        return chosen or _stands_out(match)
    return _stands_out(match) or _ODD.search(value) is not None


def _is_named_password(match: re.Match[str], ahead: str) -> bool:
    """Whether a name is the name of a password, and not the verb `pass`."""
    verb = match["name"].lower() == "pass" and not ahead[-1:].isalnum() and not match["tail"]
    return _of_password(match) and not verb


def _ends_line(match: re.Match[str]) -> bool:
    """Whether nothing follows the value in its line or in its string."""
    ends = match.string[match.end() : match.end() + 2]
    return not ends or ends[0] in "\r\n\"'`|" or ends in {"\\n", "\\r", " |"}


def _is_line(match: re.Match[str]) -> bool:
    """Whether a line has only the name and the value, and the value contains a number."""
    begins = before(match, 1) in {"", "\n", "\t"} or before(match, 2) == "\\n"
    value = match["bare"] or match["quoted"]
    return (
        begins and _ends_line(match) and classes(value) >= 3 and _NUMBER.search(value) is not None
    )


def _is_evident(match: re.Match[str]) -> bool:
    """Whether a value in a sentence is a secret and not an ordinary word."""
    value = match["bare"] or match["quoted"] or ""
    if _of_password(match):
        return (
            _stands_out(match)
            or classes(value) >= 3
            or _MEMORABLE_SECRET.fullmatch(value) is not None
        )
    return len(value) >= 16 and (is_hexadecimal(value) or is_random(value) or _is_base32(value))


def _stands_out(match: re.Match[str]) -> bool:
    """Whether an unquoted value cannot be a word of the text around it."""
    value = match["bare"] or ""
    if _of_password(match):
        twice = classes(value) >= 3 and _DIGITS_TWICE.search(value) is not None
        return twice or is_random(value)
    return len(value) >= 20 and (is_hexadecimal(value) or is_random(value))


def _declares(match: re.Match[str], *, quoted: bool) -> bool:
    """Whether the word before the name shows that a value follows after a blank."""
    return (_OF_QUOTED if quoted else _OF_BARE).search(before(match, 240)) is not None


def _is_setting(match: re.Match[str]) -> bool:
    """Whether an unquoted value is in settings, in a header or in a command, not in code."""
    joined = (match["equals"] or match["typed"]).rstrip("\n")
    line = before(match, 80)
    if not joined[-1:].isspace() and joined.endswith("="):
        # `NAME=value` is text of a shell, a command or settings. In contrast, `(name=value)` may be
        # code.
        return match["name"].isupper() or "(" not in line.rpartition("\n")[2]
    ends = match.string[match.end() : match.end() + 2]
    at_end = not ends or ends[0] in "\r\n\"'`" or ends in {"\\n", "\\r"}
    value = match["bare"]
    if joined.rstrip().endswith(("->", "→")):
        return at_end and _is_evident(match)
    if not at_end:
        # This is a sentence or a log line, such as `(user: bob, password: …)`.
        closes = ends[0] in "),}]" and ":" in joined and match["name"] in _SPOKEN
        return closes and classes(value) >= 3 and _NUMBER.search(value) is not None
    return _is_in_line(match, line, quoted=ends[:1] in {'"', "'"}, colon=":" in joined)


def _is_in_line(match: re.Match[str], line: str, *, quoted: bool, colon: bool) -> bool:
    """Whether the line around a name shows that the value at its end is not code."""
    value = match["bare"]
    if not colon:
        return _LINE.search(line) is not None and (
            (_of_password(match) and _is_unlike_code(match))
            or _SECTION.search(before(match, 1_500)) is not None
        )
    if quoted and _IN_STRING.search(line):
        return _has_digit(match)  # this is a header among the arguments of a command
    if _SENTENCE.search(line) and (match["name"].istitle() or match["name"] in _SPOKEN):
        return classes(value) >= 3 or _MEMORABLE_SECRET.fullmatch(value) is not None
    in_sentence = _SENTENCE.search(line) and _ends_line(match) and _is_evident(match)
    return bool(in_sentence) or _LINE.search(line) is not None


def is_password(value: str) -> bool:
    """Whether a value has several classes of characters, as passwords have, and is not a name."""
    if value.isdigit() or value[0] == "." or len(set(value)) < 4 or classes(value) < 2:
        return False
    patterns = (_NAMELIKE, _CODE_NAME, _PATH)
    if is_random_letters(value):
        return True
    named = any(pattern.fullmatch(value) for pattern in patterns)
    return not named and _MARKED.search(value) is not None


def _is_secret(value: str, *, strong: bool, literal: bool) -> bool:
    """Whether a value is random enough to be a secret. The name before it sets the threshold."""
    if not literal and (_CODE_NAME.fullmatch(value) or _PATH.fullmatch(value)):
        return False
    if is_hexadecimal(value):
        return strong and len(value) >= 20 and not value.isdigit()
    if _is_place(value) or (value.count(":") > 1 and longest_run(value) < 12):
        return False
    return (strong and _is_strong(value, literal=literal)) or (
        (len(value) >= 16 and is_random(value)) or (len(value) >= 14 and is_random_letters(value))
    )


def _is_place(value: str) -> bool:
    """Whether a value is a path, and not a base64 key with slashes."""
    if "/" not in value or _AWS_SECRET.fullmatch(value):
        return False
    short = _SEGMENTS.fullmatch(value) is not None and longest_run(value) < 16
    return short or _PATH.fullmatch(value) is not None


def _is_strong(value: str, *, literal: bool) -> bool:
    """Whether a value after a name such as `api_key` is a secret.

    Such a value has several classes of characters, or a long run of letters and digits.
    """
    if literal and (_is_spoken(value) or is_random_letters(value) or _is_base32(value)):
        return True
    if len(value) >= 8 and classes(value) >= 3 and any(map(str.isdigit, value)):
        is_name = (not literal and value.isidentifier()) or _NAMELIKE.fullmatch(value)
        if not is_name and not _PATH.fullmatch(value):
            is_path = _PATH_CHARACTERS.fullmatch(value) is not None and "/" in value
            return not is_path or is_random(value) or _AWS_SECRET.fullmatch(value) is not None
    return literal and len(value) >= 20 and longest_run(value) >= 16 and _is_mixed(value)


def _is_base32(value: str) -> bool:
    """Whether a value is the base32 secret of one-time passwords."""
    return _BASE32.fullmatch(value) is not None and any(map(str.isdigit, value))


def _is_spoken(value: str) -> bool:
    """Whether a person may have chosen the secret: words in lower case, then a number."""
    if _MEMORABLE_SECRET.fullmatch(value) is None or _EXAMPLE.search(value):
        return False
    return _NAMELIKE.fullmatch(value) is None


def _is_mixed(value: str) -> bool:
    """Whether a value mixes letters and digits as base36 keys do."""
    digits = sum(character.isdigit() for character in value)
    least = len(value) // (6 if value.isidentifier() else 8)
    return least <= digits < len(value)


KEYWORD_PATTERN = any_of(KEYWORDS.split("|"))
ASSIGNMENT = Detector(
    rf"(?P<name>{KEYWORD_PATTERN})(?P<tail>[A-Za-z0-9_-]{{0,24}}+)(?:{_JOINS})(?:{_QUOTED}|{_BARE})",
    _find,
    cues=(KEYWORDS.replace("\\", r"\\").replace("?", r"\?"),),
    resumes=True,
)
