# ruff: noqa: E501  (a pattern on one line is easier to read)
"""Finds secrets by their format or their place.

Examples are hashes of passwords, recovery phrases, and arguments of commands.
"""

import re

from treadle.secrets.detector import Detector, Finding, before
from treadle.secrets.randomness import is_hexadecimal, is_random

_HASH = Detector(
    r"(?<![A-Za-z0-9$])(?:\$(?:apr1|[1567y]|2[abxy]|sha1|md5|argon2(?:id|i|d)|scrypt|pbkdf2(?:-sha\d{3})?|bcrypt-sha256|P|H|S)\$[A-Za-z0-9./+=,$_-]{16,400}+"
    r"|(?:pbkdf2_sha(?:1|256|512)|bcrypt_sha256|argon2|scrypt)\$[A-Za-z0-9./+=,$_-]{24,400}+"
    r"|(?:pbkdf2|scrypt):[a-z0-9:]{3,40}\$[A-Za-z0-9./+=]{4,40}\$[A-Fa-f0-9]{32,200}+"
    r"|\{(?:S?SHA(?:256|512)?|S?MD5|CRYPT|PBKDF2)\}[A-Za-z0-9./+=$]{12,200}+"
    r"|SCRAM-SHA-256\$\d{3,6}:[A-Za-z0-9+/=:$]{40,200}+)",
    lambda match: (*match.span(), "password-hash") if _is_hash(match[0]) else None,
    screen=(
        r"\$(?:apr1|[1567y]|2[abxy]|sha1|md5|argon2[id]+|scrypt|pbkdf2[a-z0-9-]*|bcrypt-sha256|P|H|S)\$[A-Za-z0-9./+=,$_-]{16}",
        r"(?:pbkdf2_sha[0-9]+|bcrypt_sha256|argon2|scrypt)\$[A-Za-z0-9./+=,$:_-]{16}",
        r"(?:pbkdf2|scrypt):[a-z0-9:]+\$",
        r"(?:SHA[0-9]*|MD5|CRYPT|PBKDF2)\}[A-Za-z0-9./+=$]{12}",
        r"SCRAM-SHA-256\$",
    ),
    cues=(r"[$}][A-Za-z0-9./+=,$_-]{12}",),
)
"""Finds hashes of passwords, as in `htpasswd`, `/etc/shadow`, LDAP, Django and PostgreSQL."""


def _is_hash(value: str) -> bool:
    digest = re.split(r"[$}:,]", value)[-1]
    return len(digest) >= 8 and len(set(digest)) >= 8 and any(map(str.isalpha, digest))


_LINE_END = r"(?:\r?\n|(?:\\{1,3}r)?\\{1,3}n)"
_BASE64_VALUE = re.compile(r"[A-Za-z0-9+/]{8,}={0,2}")
_KIND = re.compile(r"kind\\{0,3}\"?\s?:\s{0,4}\\{0,3}\"?Secret\b")
_DATA = re.compile(rf"(?:{_LINE_END}|[\s\"\\{{,])(?:data|stringData)\\{{0,3}}\"?\s?:")
_TOP_LEVEL = re.compile(rf"{_LINE_END}(?:---|[A-Za-z])")


def _is_secret_data(ahead: str) -> bool:
    """Whether a text ends within the data of a Kubernetes Secret."""
    *_, kind = (0, *(match.end() for match in _KIND.finditer(ahead)))
    *_, data = (0, *(match.end() for match in _DATA.finditer(ahead, kind)))
    return 0 < kind < data and _TOP_LEVEL.search(ahead, data) is None


def _find_in_manifest(match: re.Match[str]) -> Finding | None:
    value = match["value"]
    if not _BASE64_VALUE.fullmatch(value) or len(value) % 4:
        return None
    return (*match.span("value"), "secret") if _is_secret_data(before(match, 1_500)) else None


_MANIFEST = Detector(
    r"(?<=[\s\"'nt])(?P<name>[A-Za-z_.][\w.-]{0,80})\\{0,3}[\"']?\s?:\s{1,2}(?:[|>][+-]?\s{1,40})?\\{0,3}[\"']?"
    rf"(?P<value>[A-Za-z0-9+/]{{8,4096}}+={{0,2}})(?=\\{{0,3}}[\"']?(?:\s{{0,2}}[,}}]|\s|{_LINE_END}|\Z))",
    _find_in_manifest,
    screen=(r"kind\\*\"?SPACE?:SPACE*\\*\"?Secret",),
    cues=(r"kind\\*\"?SPACE?:SPACE*\\*\"?Secret",),
)
"""Finds the base64 values of a Kubernetes Secret, whatever their names are."""

_PHRASE = Detector(
    r"(?P<name>[mM]nemonic|MNEMONIC|(?:[sS]eed|SEED|[rR]ecovery|RECOVERY|[bB]ackup|[wW]allet)[ _-]?(?:[pP]hrase|PHRASE|[wW]ords)?|[sS]eedPhrase|[rR]ecoveryPhrase)"
    r"(?:[_-]?(?:phrase|PHRASE))?[\"'\\*`]{0,8}\s{0,4}(?:[:=]|is|was|=>)\s{0,4}[\"'\\*`]{0,8}(?P<secret>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})(?![A-Za-z])",
    lambda match: (*match.span("secret"), "seed-phrase") if _is_phrase(match["secret"]) else None,
    screen=(
        (
            r"(?:[mM]nemonic|MNEMONIC|(?:[sS]eed|SEED|[rR]ecovery|RECOVERY|[bB]ackup|[wW]allet)[ _-]?(?:[pP]hrase|PHRASE|[wW]ords)?)(?:[_-]?(?:phrase|PHRASE))?"
            r"[\"'\\*`]*SPACE*(?:[:=]|is|was|=>)SPACE*[\"'\\*`]*[a-z]+[ ,]+[a-z]+[ ,]+[a-z]+[ ,]"
        ),
    ),
    cues=("nemonic|NEMONIC|eed|EED|ecovery|ECOVERY|ackup|allet",),
)
"""Finds the recovery phrase of a wallet after a name such as `mnemonic`."""
_FUNCTION_WORDS = frozenset(
    [
        "the", "and", "for", "with", "from", "that", "this", "which", "you", "your", "are", "was",
        "will", "can", "not", "has", "have", "its", "into", "then", "when",
    ]
)  # fmt: skip


def _is_phrase(words: str) -> bool:
    return _FUNCTION_WORDS.isdisjoint(re.split("[ ,]+", words))


_DIGEST = Detector(
    r"Digest\s(?:[^\n\"]|\"[^\"\n]{0,80}\"){0,200}?\bresponse\\{0,7}=\\{0,7}\"?(?P<secret>[a-f0-9]{32,64})",
    lambda match: (*match.span("secret"), "digest"),
    screen=(r"response(?:=|=3D|\\u003[dD]|%3[dD])[\\\"%2]*[a-f0-9]{32}",),
    cues=("response",),
)
_LEAD_IN = (
    # The text before a secret that is an argument of a command, or a part of another format.
    r"oathtool\s(?:-{1,2}[a-z0-9=-]{1,20}\s){0,4}|smbclient\s[^\n]{0,80}?-U\s?[\"']?[\w.\\-]{1,40}%"
    r"|ConvertTo-SecureString\s(?:-String\s)?(?=[\"'])"
    r"|task\.setvariable\svariable=\w{0,40}(?:token|secret|password|key|pwd)\w{0,20}[^\]\n]{0,40}\]"
    r"|(?:add-mask::|_gitlab_session=|AWS4-HMAC-SHA256[^\n]{0,400}?Signature=)"
    r"|ssh-?pass\s-p\s?|nmcli\s[^\n]{0,80}?password\s|wpa_passphrase\s\S{1,40}\s|chpasswd\s{0,2}<<<\s?[\"']?\w{1,40}:"
    r"|mosquitto_(?:pub|sub)\s[^\n]{0,120}?-P\s|(?:curl|wget|http)\s[^\n]{0,120}?--(?:oauth2-bearer|proxy-password|ftp-password|http-password|pass)[\s=]"
    r"|kinit\s[^\n|]{0,40}<<<\s?|ldap(?:search|modify|add)\s[^\n]{0,160}?-w\s?|(?:rclone|restic|borg)\s[^\n]{0,60}?obscure\s"
    r"|-Dsonar\.(?:login|token)=|net use\s[^\n]{0,80}?\\{2,8}[\w.$-]{1,64}\\{1,4}[\w.$-]{1,64}\s(?!/)"
    r"|ngrok\s(?:config\s)?(?:add-)?authtoken\s|snyk\sauth\s|vault\slogin\s|nuget\ssetapikey\s|cloudflared\sservice\sinstall\s"
    r"|poetry\sconfig\spypi-token\.\S{1,40}\s|(?:poetry|composer)\sconfig\s[^\n]{0,30}http-basic\.\S{1,60}\s\S{1,40}\s"
    r"|composer\sconfig\s[^\n]{0,30}(?:github-oauth|gitlab-token|bearer)\.\S{1,60}\s|mc\s(?:alias\sset|config\shost\sadd)\s\S{1,40}\s\S{1,100}\s\S{3,64}\s"
    r"|snmp(?:walk|get|set|bulkwalk|bulkget)\s[^\n]{0,80}?-[cAX]\s|snmp-server\scommunity\s|(?:enable|username\s\S{1,32})\s(?:secret|password)\s(?:\d\s)?|key-string\s(?:\d\s)?"
    r"|xfreerdp3?\s[^\n]{0,120}?/p:|wmic\s[^\n]{0,120}?/password:|schtasks\s[^\n]{0,200}?/RP\s|(?:plink|pscp|psftp)\s[^\n]{0,80}?-pw\s"
    r"|useradd\s[^\n]{0,80}?-p\s|caddy\shash-password\s[^\n]{0,40}?--plaintext\s|openssl\spasswd\s(?:-\w+\s){1,3}|samba-tool\suser\s(?:create|setpassword)\s\S{1,40}\s"
    r"|(?:set-initial-password|reset-admin-password|mosquitto_passwd\s-b\s\S{1,100}\s\S{1,40}|ejabberdctl\sregister\s\S{1,40}\s\S{1,60})\s"
    r"|aws\s(?:ssm\sput-parameter|secretsmanager\s(?:create|put|update)-secret\S{0,10})\s[^\n]{0,200}?--(?:value|secret-string)\s"
    r"|az\skeyvault\ssecret\sset\s[^\n]{0,200}?--value\s|dotnet\suser-secrets\sset\s\S{1,80}\s|networksetup\s-setairportnetwork\s\S{1,20}\s\S{1,40}\s"
    r"|--from-literal[=\s][\"']?(?!(?:user|username|host|hostname|port|url|name|env)=)[\w.-]{1,64}=|TOTP\((?=\\{0,4}[\"'])"
)
_POSITION = Detector(
    rf"(?:{_LEAD_IN})(?P<quote>(?:\\{{0,4}}[\"'])?)(?P<secret>[^\s\"'\\;|&]{{5,200}}+)",
    lambda match: (
        (*match.span("secret"), "secret")
        if not match["secret"].startswith(("$", "{", "<", "-", "%", "[", "*"))
        and (
            any(map(str.isdigit, match["secret"]))
            or match["quote"] != ""
            or len(match["secret"]) >= 16
        )
        else None
    ),
    screen=(
        r"(?:oathtool|smbclient|ConvertTo-SecureString|setvariable variable=|add-mask::|_gitlab_session=|wpa_passphrase|nmcli|mosquitto_|oauth2-bearer|ldap(?:search|modify|add)|chpasswd|rclone|restic)",
        r"(?:^|[^A-Za-z0-9])(?:-Dsonar\.(?:login|token)=|net use|authtokenSPACE|snyk auth|vault login|setapikey|service install|pypi-token\.|http-basic\.|github-oauth\.|gitlab-token\.|mc (?:alias set|config host)|snmp(?:walk|get|set|bulk)|snmp-server community|enable secret|username [a-z]+ (?:secret|password)|key-string|xfreerdp|wmic|schtasks|plink|pscp|psftp|useradd|--plaintext|openssl passwd|samba-tool|set-initial-password|reset-admin-password|mosquitto_passwd|ejabberdctl|ssm put-parameter|secretsmanager|keyvault secret|user-secrets set|setairportnetwork|--from-literal|TOTP\()",
        r"Signature=[A-Fa-f0-9]{16}",
    ),
    cues=(
        r"oathtool|smbclient|SecureString|setvariable|add-mask|_gitlab_session|wpa_passphrase|nmcli|mosquitto_|--oauth2|-password|--pass|ldap|chpasswd|obscure|pass|kinit|AWS4-HMAC|sonar|net use|authtoken|snyk|vault login|setapikey|service install|pypi-token|http-basic|github-oauth|gitlab-token|mc (?:alias|config)|snmp|enable secret|username|key-string|xfreerdp|wmic|schtasks|plink|pscp|psftp|useradd|--plaintext|samba-tool|ejabberdctl|put-parameter|secretsmanager|keyvault|user-secrets|setairport|from-literal|TOTP",
    ),
)
"""Finds secrets that are positional arguments of a command or a directive."""

_PARAMETER = Detector(
    r"[?&](?P<name>auth|sid|session|jwt|ticket|credential|authorization|otp|code|hash|X-(?:Amz|Goog)-(?:Signature|Credential|Security-Token)|sig|signature|apikey|appid|access|k|t)="
    r"(?P<secret>[A-Za-z0-9._~%+/-]{16,2048}+={0,2})",
    lambda match: (*match.span("secret"), "secret") if _is_parameter(match) else None,
    screen=(
        r"[?&](?:auth|sid|session|jwt|ticket|credential|authorization|otp|code|X-(?:Amz|Goog)-[A-Za-z-]+|sig|signature|apikey|appid|access|k|t)=[A-Za-z0-9._~%+/-]{16}",
    ),
    cues=(r"[?&][A-Za-z-]+=",),
)
"""Finds parameters that sign or authorize a URL."""


def _is_parameter(match: re.Match[str]) -> bool:
    value = match["secret"]
    if is_hexadecimal(value):
        return len(value) >= 32 and match["name"].lower().endswith(
            ("sig", "signature", "sid", "session", "ticket", "auth", "appid", "apikey")
        )
    return is_random(value)


_CHAIN_KEY = Detector(
    r"(?P<name>[pP]rivate_?[kK]ey|PRIVATE_KEY|[pP]rivKey|[sS]ecret_?[kK]ey)\w{0,12}[\"'\\]{0,4}\s{0,4}[:=]\s{0,4}[\"'\\]{0,4}(?P<secret>0x[a-fA-F0-9]{64}|[5KL][1-9A-HJ-NP-Za-km-z]{50,51})(?![A-Za-z0-9])",
    lambda match: (*match.span("secret"), "private-key"),
    cues=("riv|RIV|ecret",),
)

_TAKEN_PHRASE = Detector(
    r"(?P<name>\s(?:-m|--mnemonic|--seed-phrase)[ =]|(?:[pP]hrase|[mM]nemonic|Seed|SeedSync)\()\s{0,4}\\{0,4}[\"'`]"
    r"(?P<secret>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})\\{0,4}[\"'`]",
    lambda match: (
        (*match.span("secret"), "seed-phrase")
        if _is_phrase(match["secret"]) and len(match["secret"].split()) % 3 == 0
        else None
    ),
    screen=(
        r"(?:SPACE-m|--mnemonic|--seed-phrase|[pP]hrase\(|[mM]nemonic\(|Seed\(|SeedSync\()[ =]?\\*[\"'`][a-z]+[ ,]+[a-z]+[ ,]+[a-z]+[ ,]+[a-z]+[ ,]+[a-z]+[ ,]+[a-z]+[ ,]+[a-z]+[ ,]",
    ),
    cues=(r"(?:-m|nemonic|hrase|Seed|SeedSync)[ =(]",),
)
"""Finds the recovery phrase of a wallet in an option or a call."""

_ACCOUNTS = re.compile(
    r"(?:accounts|privateKeys|PRIVATE_KEYS|Wallet|Signer|SigningKey|privateKeyToAccount|wallet private key|private key)[\"'\\]{0,4}\s{0,4}[:=(]?\s{0,4}[\[(]?[^\])\n]{0,400}\Z"
)
_ACCOUNT = Detector(
    r"(?P<secret>(?:0x|(?<=key: )|(?<=key is ))[a-fA-F0-9]{64})(?![A-Za-z0-9])",
    lambda match: (
        (*match.span("secret"), "private-key") if _ACCOUNTS.search(before(match, 480)) else None
    ),
    screen=(
        r"(?:ccounts|rivateKeys|RIVATE_KEYS|Wallet|Signer|SigningKey|KeyToAccount)[\"'\\: =(\[]+0x[a-fA-F0-9]{4}",
        r"private key(?::| is) (?:0x)?[a-fA-F0-9]{16}",
    ),
    cues=(r"(?:0x|key: |key is )[a-fA-F0-9]{32}",),
)
"""Finds keys of blockchain accounts, in the lists and calls that contain such keys."""

_GENERATED = Detector(
    r"[\"']\\{0,15}(?P<name>result|bcrypt_hash|b64_std|b64_url)\\{0,15}[\"']\s{0,2}:\s{0,2}\\{0,15}[\"'](?P<secret>[^\s\"'\\]{8,200})\\{0,15}[\"']",
    lambda match: (
        (*match.span("secret"), "password")
        if re.search(r"random_(?:password|string|id|bytes)", before(match, 1_200))
        else None
    ),
    screen=(r"random_(?:password|string|bytes)\\*[\"%]",),
    cues=(r"(?:result|bcrypt_hash|b64_std|b64_url)",),
)
"""Finds random values in the state of Terraform."""

_RECORDED = Detector(
    r"[\"']\\{0,7}?name\\{0,7}[\"']\s{0,4}:\s{0,4}\\{0,7}[\"'][\w.-]{0,40}(?P<name>sess|SESS|Sess|sid|SID|Sid|auth|AUTH|Auth|jwt|JWT|srf|SRF|emember)[\w.-]{0,20}\\{0,7}[\"'],\s{0,40}"
    r"\\{0,7}[\"']value\\{0,7}[\"']\s{0,4}:\s{0,4}\\{0,7}[\"'](?P<secret>[^\s\"'\\]{8,2048})\\{0,7}[\"']",
    lambda match: (
        (*match.span("secret"), "cookie")
        if is_random(match["secret"])
        or (is_hexadecimal(match["secret"]) and len(match["secret"]) >= 16)
        else None
    ),
    screen=(
        r"(?:sess|SESS|Sess|sid|SID|Sid|auth|AUTH|Auth|jwt|JWT|srf|SRF|emember)[A-Za-z0-9_.-]*\\*[\"'],SPACE*\\*[\"']value",
    ),
    cues=(r"value\\*[\"']SPACE*:",),
)
"""Finds cookies and headers in recordings of a browser."""

FORMATS = (
    *(_HASH, _MANIFEST, _PHRASE, _TAKEN_PHRASE, _DIGEST, _POSITION, _PARAMETER, _CHAIN_KEY),
    *(_ACCOUNT, _GENERATED, _RECORDED),
)
