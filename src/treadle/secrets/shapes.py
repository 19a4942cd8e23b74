# ruff: noqa: E501  (a pattern on one line is easier to read)
"""Detectors for values that have the form of a secret, and the list of all detectors.

All patterns take time linear in the length of the text. Each begins with a literal or a short
keyword. Every repetition is bounded or possessive. A match can begin at only one position of a run
of characters.
"""

import base64
import binascii
import re

from treadle.secrets.assignments import ASSIGNMENT, is_password
from treadle.secrets.detector import MARK, Detector, Finding, before, spellings, starts_word
from treadle.secrets.formats import FORMATS
from treadle.secrets.randomness import is_hexadecimal, is_random, longest_run
from treadle.secrets.tables import INSERT, TABLE
from treadle.secrets.vendors import VENDOR_DETECTORS, WORD

_JWT = Detector(
    starts_word("eyJ", alone=False) + rf"{WORD}{{8,}}+\.eyJ{WORD}{{8,}}+\.(?:{WORD}{{10,}}+)?",
    lambda match: (*match.span(), "jwt"),
    ("eyJ",),
    (r"eyJ[A-Za-z0-9_-]{8}",),
)

_PEM_TITLE = r"[A-Z0-9 +]{0,40}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----"
_PEM = Detector(
    rf"-----BEGIN[ +]{_PEM_TITLE}"
    rf"(?:(?:[^-\"]|-(?!----))*+-----END[ +]{_PEM_TITLE}"
    # A key that a tool truncated has no end. It has headers, then text that looks like base64.
    r"|(?:(?:\s|\\{1,7}[nr])*+[A-Z][A-Za-z-]{2,15}: [^\s\"\\]{0,80}+)*+"
    r"(?:\s|\\{1,7}[nr])*+(?:[A-Za-z0-9+/=]|\s|\\{1,7}[nr]){32,}+)",
    lambda match: (*match.span(), "private-key"),
    ("PRIVATE KEY", "PRIVATE+KEY"),
    (r"-----BEGIN(?:[ +]|%20)[A-Z0-9 +%]*PRIVATE(?:[ +]|%20)KEY",),
)
_PUTTY = Detector(
    r"Private-Lines: \d{1,4}(?:\s|\\{1,7}[nr])++"
    r"(?P<key>(?:[A-Za-z0-9+/=]|\s|\\{1,7}[nr]){32,}+)(?!: )",
    lambda match: (*match.span("key"), "private-key"),
    ("Private-Lines: ",),
    (r"Private-Lines: [0-9]",),
)


_TEMPLATE = ("$", "{", "<", "%s", "%(", "*")
_ORDINARY_PASSWORDS = frozenset(
    [
        "pass", "password", "passwd", "pwd", "secret", "pw", "...", "redacted", "xxx", "xyz",
        "bar", "b", "user", "xxxx", "xxxxx", "changeme",
    ]
)  # fmt: skip
"""Placeholders for passwords in documentation."""


def _find_password_of_url(match: re.Match[str]) -> Finding | None:
    password = match["password"]
    if password.startswith((*_TEMPLATE, MARK)) or password.lower() in _ORDINARY_PASSWORDS:
        return None
    return (*match.span("password"), "password")


_URL = Detector(
    r"(?P<user>:(?://|\\/\\/)[^\s:/@\"'\\<>]{0,256}:)"
    r"(?P<password>[^\s@/\"'\\]{1,256}|[^\s@\"'\\/]{0,64}/[^\s@\"'\\]{1,190})@(?=[A-Za-z0-9\[])",
    _find_password_of_url,
    ("://", ":\\/"),
    (r":(?://|\\/\\/)[^\s:/@\"'\\<>]*:[^\s@\"'\\]+@",),
)
_URL_USER = Detector(
    r":(?://|\\/\\/)(?P<token>[A-Za-z0-9_~.-]{16,256}+)@(?=[A-Za-z0-9\[])",
    lambda match: (*match.span("token"), "token") if is_random(match["token"]) else None,
    ("://", ":\\/"),
    (r":(?://|\\/\\/)[A-Za-z0-9_~.-]{16}[A-Za-z0-9_~.-]*@",),
)


def _holds_pair(value: str) -> bool:
    """Whether `value` is base64 of `user:password`."""
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False


def _holds_text_pair(value: str) -> bool:
    """Whether `value` is base64 of `user:password` in ASCII."""
    try:
        pair = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    return ":" in pair and pair.isprintable()


_HEADER_NAME = re.compile(
    r"authorization[\"'\\\])]{0,4}\s{0,4}[:=,]\s{0,4}[\"'\\]{0,4}\Z", re.IGNORECASE
)


def _find_credentials(match: re.Match[str]) -> Finding | None:
    value, scheme = match["value"], match["scheme"].lower()
    if scheme == "basic":
        value = value.rstrip(".")  # without the full stop of a sentence
        secret = _holds_pair(value)
    elif _HEADER_NAME.search(before(match, 40)):
        secret = any(map(str.isdigit, value)) or (len(value) >= 20 and not value.isupper())
    else:
        secret = len(value) >= 16 and is_random(value)
    start = match.start("value")
    return (start, start + len(value), scheme) if secret else None


_HEADER = Detector(
    rf"(?P<scheme>{spellings('bearer', 'basic', 'token')})"
    r"(?P<space>\s{1,4})(?P<value>[A-Za-z0-9._~+/-]{8,}+={0,2})",
    _find_credentials,
    screen=(
        r"(?:bearer|Bearer|BEARER|token|Token|TOKEN)SPACE+[A-Za-z0-9._~+/-]{16}",
        r"(?:basic|Basic|BASIC)SPACE+[A-Za-z0-9+/]{8}",
        # Python's case-insensitive `i` also matches letters outside of ASCII. Therefore any
        # characters may be in its place.
        r"(?i:author)[^:=,]{1,3}(?i:zat)[^:=,]{1,3}(?i:on)[\"'\\\])]*SPACE*[:=,](?:[\"'\\]|SPACE)*(?i:bearer|token)",
    ),
    cues=("earer|EARER|oken|OKEN|asic|ASIC",),
)


def _find_other_scheme(match: re.Match[str]) -> Finding | None:
    value = match["value"]
    known = match["scheme"].strip().lower() in {"bearer", "basic", "token"}
    random = is_random(value) or (is_hexadecimal(value) and len(value) >= 20)
    return (*match.span("value"), "authorization") if random and not known else None


_OTHER_SCHEME = Detector(
    r"(?P<name>[aA]uthorization|AUTHORIZATION)[\"'\\\])]{0,4}\s{0,4}[:=,]\s{0,4}[\"'\\]{0,4}"
    r"(?P<scheme>(?:[A-Za-z][A-Za-z0-9-]{1,20}\s{1,2})?)(?:(?:token|apikey|key)=[\"'\\]{0,4})?"
    r"(?P<value>[A-Za-z0-9._~+/:-]{16,}+={0,2})",
    _find_other_scheme,
    ("uthorization", "UTHORIZATION"),
    (
        (
            r"(?:uthorization|UTHORIZATION)[\"'\\\])]*SPACE*[:=,]SPACE*[\"'\\]*"
            r"(?:[A-Za-z0-9-]+SPACE+)?(?:(?:token|apikey|key)=[\"'\\]*)?"
            r"[A-Za-z0-9._~+/:-]{12}"
        ),
    ),
)

_PAIR = re.compile(r"([\w.%-]{1,80})=([^;,\s\"'\\]{8,4096})")
_SESSION = re.compile(r"sess|sid|auth|token|jwt|login|remember|credential|connect", re.IGNORECASE)


def _find_cookie(match: re.Match[str]) -> Finding | None:
    for name, value in _PAIR.findall(match["pairs"]):
        random = is_random(value) or (is_hexadecimal(value) and len(value) >= 16)
        if random or (
            _SESSION.search(name)
            and any(map(str.isdigit, value))
            and any(map(str.isalpha, value))
            and len(value) >= 10
        ):
            return (*match.span("pairs"), "cookie")
    return None


_COOKIE = Detector(
    r"(?:[cC]ookie|COOKIE|(?<=\s)-b)[\"'\\]{0,4}(?:\s{0,4}[:=]|\s)\s{0,4}[\"'\\]{0,4}"
    r"(?P<pairs>[\w.%-]{1,80}=[^\s;\"'\\]{0,4096}+(?:; ?[\w.%-]{1,80}(?:=[^\s;\"'\\]{0,4096}+)?+){0,60}+)",
    _find_cookie,
    ("ookie", "OOKIE", "-b"),
    (
        (
            r"(?:ookie|OOKIE|SPACE-b)[\"'\\]*(?:SPACE*[:=]|SPACE)SPACE*[\"'\\]*"
            r"[A-Za-z0-9_.%\x80-\xff-]+="
        ),
    ),
)

_FETCHES = re.compile(
    r"\b(?:curl|wget|httpie|https?|xh|aria2c|lftp|Invoke-WebRequest)\b[^\n]{0,400}\Z"
)


def _find_user(match: re.Match[str]) -> Finding | None:
    secret = match["secret"].rstrip(",")
    if secret.startswith((*_TEMPLATE, MARK)) or secret.isdigit() or len(secret) < 3:
        return None
    if secret.lower() in _ORDINARY_PASSWORDS or not _FETCHES.search(before(match, 420)):
        return None
    start = match.start("secret")
    return start, start + len(secret), "password"


_USER = Detector(
    r"(?<=[\s\"'])(?:-u|-U|-a|--user|--proxy-user|--auth)[\s=\"'\\,]{0,6}[^\s:\"'\\/]{1,64}:"
    r"(?P<secret>[^\s\"'\\]{3,128}+)",
    _find_user,
    ("-u", "-U", "-a", "-user", "--auth"),
    (
        r"(?:[\"']|SPACE)(?:-u|-U|-a|--user|--proxy-user|--auth)(?:SPACE|[=\"'\\,])*[^\s:\"'\\/]+:[^\s\"'\\]{3}",
    ),
)


def _find_option(match: re.Match[str]) -> Finding | None:
    secret = match["secret"]
    if secret.startswith((*_TEMPLATE, MARK, "-")) or secret.lower() in _ORDINARY_PASSWORDS:
        return None
    if secret.isdigit() or (secret.isalpha() and match["quote"] == "" and len(secret) < 8):
        return None
    return (*match.span("secret"), "password")


_TOOLS = (
    "sshpass", "redis-cli", "docker login", "podman login", "helm registry",
    "mongo", "az login", "az acr", "ldapsearch", "skopeo", "zip", "7z", "openssl", "cqlsh",
    "sqlcmd", "ipmitool", "evil-winrm", "crackmapexec", "netexec", "twine upload",
    "cypher-shell", "elasticsearch-users", "nuget", "signtool", "altool", "oc login", "nerdctl login",
    "buildah login", "crane auth", "argocd login", "influx", "rar",
)  # fmt: skip
_ATTACHING = ("mysql", "mariadb", "sshpass", "mongo", "7z", "rar", "7za")
"""Tools that take `-pPASSWORD` as one word. After `mysql -p`, a separate word is a database."""
_OPTION = Detector(
    rf"\b(?:{'|'.join(map(re.escape, _TOOLS))})\b(?:(?! -[paPwkK][ =]|pass:)[^\n|;]){{0,160}}+"
    r"(?: -[paPwkK][ =]|pass:)(?P<quote>[\"']?)(?P<secret>(?=[^\s\"'\\]{0,40}[0-9!@#$%^&*])[^\s\"'\\;|]{4,128}+)",
    _find_option,
    cues=(rf"\b(?:{'|'.join(_TOOLS)})\b",),
    screen=(r"(?: -[paPwkK](?:[ =][\"']?)?|pass:)[^\s\"'\\;|]*[0-9!@#$%^&*]",),
)
_ATTACHED = Detector(
    rf"\b(?:{'|'.join(_ATTACHING)})(?:(?! -p[^ =])[^\n|;]){{0,160}}+ -p(?P<quote>[\"']?)"
    r"(?P<secret>(?=[^\s\"'\\]{0,40}[0-9!@#$%^&*])[^\s=\"'\\;|][^\s\"'\\;|]{3,127}+)",
    _find_option,
    cues=(rf"\b(?:{'|'.join(_ATTACHING)})",),
)

_KIND = r"live|test|prod|sk|rk|key|token|tok|secret|pat|api|auth|access|svc|cred|priv|pwd"
_PREFIXED = Detector(
    rf"(?<![A-Za-z0-9])(?P<prefix>(?:[A-Za-z][A-Za-z0-9]{{0,15}}[_-]){{0,3}}(?:{_KIND})[_-])"
    r"(?P<body>[A-Za-z0-9]{24,512}+)(?![A-Za-z0-9_-])",
    lambda match: (*match.span(), "key") if _is_foreign_key(match) else None,
    screen=(rf"(?:{_KIND})[_-][A-Za-z0-9]{{16}}",),
    cues=(rf"(?:{_KIND})[_-][A-Za-z0-9]{{24}}",),
)
"""Finds keys of any vendor: a prefix that suggests a key, and random text."""


def _is_foreign_key(match: re.Match[str]) -> bool:
    body = match["body"]
    mixed = any(map(str.islower, body)) and any(map(str.isupper, body))
    return mixed and is_random(body) and not match["prefix"].startswith(("pk_", "pk-", "pub"))


def _find_paired(match: re.Match[str]) -> Finding | None:
    return (*match.span("secret"), "password") if is_password(match["secret"]) else None


_PAIRED = Detector(
    r"(?:(?:[aA]uth|[lL]ogin|[cC]redentials?|[aA]uthenticate)[A-Za-z_]{0,20}\s?=?\s?\(\s{0,4}"
    r"|(?:getConnection|mysqli?_p?connect|new\s(?:mysqli|PDO)|\.connect|imap_open|ldap_bind|ftp_login|ssh2_auth_password|createConnection|newClient|NewClient)\(\s{0,4}[^,\n]{1,200},\s{0,4})"
    r"\\{0,3}[\"'][^\"'\n\\]{1,64}\\{0,3}[\"']\s{0,4},\s{0,4}\\{0,3}[\"'](?P<secret>[^\"'\s\\]{6,128})\\{0,3}[\"']",
    _find_paired,
    ("uth", "ogin", "redential", "onnect", "PDO", "mysqli", "imap_open", "ldap_bind", "Client("),
    (
        r"(?:getConnection|mysqli?_p?connect|new mysqli|new PDO|\.connect|imap_open|ldap_bind|createConnection|[nN]ewClient)\([^,\n]+,SPACE*\\*[\"'][^\"'\n\\]+\\*[\"']SPACE*,SPACE*\\*[\"']",
        r"(?:ftp_login|ssh2_auth_password)\(",
        r"(?:uth|ogin|redentials?|uthenticate)[A-Za-z_]*SPACE*=?SPACE*\(SPACE*\\{0,3}[\"'][^\"'\n\\]+\\{0,3}[\"']SPACE*,",
    ),
)
"""Finds a user and a password in a call: `login("bob", "…")`."""

_PIPED = Detector(
    r"(?:echo|printf)\s{1,2}(?:-n\s)?[\"']?(?P<secret>[^\s\"'\\|]{6,128})[\"']?\s{0,2}\|\s{0,2}"
        r"[^\n|]{0,120}(?:password-stdin|sudo -S|chpasswd|vercel env add|gh secret set|wrangler secret put|--with-token|token-stdin|passwd --stdin|-stdin|cryptsetup|openssl enc|docker secret create|podman secret create|kubeseal)",
    _find_paired,
    (
        "-stdin", "sudo -S", "chpasswd", "env add", "secret ", "--with-token", "cryptsetup",
        "openssl enc", "kubeseal",
    ),
    (
        r"(?:-stdin|sudo -S|chpasswd|env add|secret set|secret put|secret create|--with-token|cryptsetup|openssl enc|kubeseal)",
    ),
)  # fmt: skip
_POSITIONAL = Detector(
    r"(?:(?:sqlplus|expdp|impdp|sqlldr|rman\starget)\s(?:-\w+\s){0,3}[\"']?[^\s/@\"']{1,40}/(?=[^\s@\"'\\]{3,64}@)|jdbc:oracle:\w{2,6}:[\w$#]{1,40}/(?=[^\s@]{3,64}@)"
        r"|htpasswd\s(?:-\w+\s){0,3}-\w*b\w*\s(?:-\w+\s){0,3}[^\s-]\S{0,127}\s\S{1,64}\s"
        r"|net user\s\S{1,64}\s(?!/)|rabbitmqctl\s(?:add_user|change_password)\s\S{1,64}\s)"
        r"[\"']?(?P<secret>[^\s@\"'\\]{3,64})",
    lambda match: (
        (*match.span("secret"), "password") if not match["secret"].startswith(_TEMPLATE) else None
    ),
    (
        "sqlplus", "expdp", "impdp", "sqlldr", "rman", "jdbc:oracle:", "htpasswd", "net user",
        "rabbitmqctl",
    ),
    (
        r"(?:sqlplus|expdp|impdp|sqlldr|rman target|htpasswd|net user|rabbitmqctl)SPACE",
        r"jdbc:oracle:[a-z0-9]+:[A-Za-z0-9_$#]+/",
    ),
)  # fmt: skip
"""Finds passwords that are positional arguments of commands."""

_PGPASS = Detector(
    r"(?<![^\s\"'\\`])[\w.*-]{1,128}:(?:5432|5433|6432|\*):[\w*-]{1,64}:[\w.*@-]{1,64}:"
    r"(?P<secret>[^\s\"'\\]{6,128})",
    _find_paired,
    (":5432:", ":5433:", ":6432:", ":*:"),
    (r":(?:5432|5433|6432|\*):[A-Za-z0-9_*\x80-\xff-]+:[A-Za-z0-9_.*@\x80-\xff-]+:",),
)
_SCHEMES = frozenset(
    {
        "mailto", "npm", "git", "sip", "sips", "xmpp", "acct", "workspace", "email", "from", "to",
        "cc",
    }
)  # fmt: skip


def _find_login(match: re.Match[str]) -> Finding | None:
    secret = match["secret"]
    if match["user"].lower() in _SCHEMES or not is_password(secret):
        return None
    sure = match["host"][0].isdigit() or match["host"].startswith(("tcp(", "unix(", "["))
    mail = secret.replace(".", "").replace("_", "").replace("-", "").isalnum()
    return (*match.span("secret"), "password") if sure or not mail else None


_LOGIN = Detector(
    r"(?<![\w/:.@$%+-])(?P<user>[A-Za-z][\w.-]{1,40}):(?P<secret>[^\s:@/\"'\\<>(){},;`]{6,64})@"
    r"(?P<host>\d{1,3}(?:\.\d{1,3}){3}|(?:tcp|unix)\(|[A-Za-z][\w-]{0,40}(?:\.[\w-]{1,40}){0,6}\.[a-z]{2,12})(?![\w@])?",
    _find_login,
    ("@",),
    (
        r"@(?:[0-9]+\.[0-9]+\.[0-9]+\.|tcp\(|unix\()",
        r"[!#$%^&*~?][A-Za-z0-9]*@[A-Za-z]",
    ),
)
"""Finds a user and a password before a host, without a scheme: `bob:…@10.0.0.5`."""
_LISTED = Detector(
    r"(?:[cC]reds?|CREDS|[cC]redentials?|[lL]ogin|LOGIN|Zugangsdaten|identifiants)(?:\sfor\s[\w.-]{1,40})?(?:\s(?:is|are|was)|\s?[:=])\s{1,2}[`\"']?[\w.@+-]{2,64}\s?[/:|]\s?"
    r"(?P<secret>[^\s\"'`\\/|]{6,64})(?=[\s\"'`\\]|\Z)",
    lambda match: (
        (*match.span("secret"), "password")
        if is_password(match["secret"]) and any(map(str.isdigit, match["secret"]))
        else None
    ),
    ("red", "RED", "ogin", "OGIN", "Zugang", "identif"),
    (
        r"(?:^|[^A-Za-z0-9])(?:[cC]reds?|CREDS|[cC]redentials?|[lL]ogin|LOGIN|Zugangsdaten|identifiants)(?: for [A-Za-z0-9_.-]+)?(?: is| are| was| ?[:=])SPACE[`\"']?[A-Za-z0-9_.@+-]+ ?[/:|] ?[^\s\"'`\\/|]{6}",
    ),
)
"""Finds a user and a password in a sentence: `creds: bob / …`."""
_ENCODED_PAIR = Detector(
    r"(?<![A-Za-z0-9-])_?auth[\"'\\]{0,8}\s{0,4}[:=]\s{0,4}[\"'\\]{0,8}"
    r"(?P<secret>[A-Za-z0-9+/]{8,512}+={0,2})",
    lambda match: (*match.span("secret"), "basic") if _holds_text_pair(match["secret"]) else None,
    ("auth",),
    (r"auth[\"'\\]*SPACE*[:=]SPACE*[\"'\\]*[A-Za-z0-9+/]{8}",),
)
"""Finds a user and a password in the settings of Docker and of npm."""

_QUOTE = r"\\{0,15}[\"']"
_KEY_TYPE = re.compile(r"[\"']kty\\{0,15}[\"']")


def _is_of_web_key(match: re.Match[str]) -> bool:
    if longest_run(match["secret"]) < 6:
        return False
    if match["name"] == "d" and len(match["secret"]) >= 43:
        return True
    around = match.string[max(0, match.start() - 2_500) : match.end() + 200]
    return _KEY_TYPE.search(around) is not None


_JWK = Detector(
    rf"{_QUOTE}(?P<name>d|p|q|dp|dq|qi|k){_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE}(?P<secret>{WORD}{{21,700}}+)(?={_QUOTE})",
    lambda match: (*match.span("secret"), "private-key") if _is_of_web_key(match) else None,
    screen=(r"[\"'](?:d|p|q|dp|dq|qi|k)\\*[\"']SPACE*:SPACE*\\*[\"'][A-Za-z0-9_-]{20}",),
    cues=(r"[\"'](?:d|p|q|dp|dq|qi|k)\\*[\"']SPACE*:",),
)
"""Finds the private parts of a JSON Web Key."""

DETECTORS = (
    _PEM, _PUTTY, _URL, *VENDOR_DETECTORS, _URL_USER, _JWT, _HEADER, _OTHER_SCHEME,
    _COOKIE, _USER, _OPTION, _ATTACHED, _PAIRED, _PIPED, _POSITIONAL, _PGPASS, _ENCODED_PAIR,
    _JWK, *FORMATS, _LOGIN, _LISTED, ASSIGNMENT, TABLE, INSERT, _PREFIXED,
)  # fmt: skip
