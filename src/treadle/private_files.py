"""Recognizes files that usually contain keys or passwords, by name and by content.

No tool reads, greps, indexes or writes them without consent.
"""

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from treadle.file_names import comparable

HEAD_BYTES = 8_000
"""Bytes at the beginning of a file that `why_private_content` examines."""

SECRET_FOLDERS = frozenset({
    ".git", ".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".password-store", ".envs",
})  # fmt: skip
"""Folders whose content no tool reads: data of version control and stores of keys."""

SECRET_TAILS = frozenset({
    ".kube/config", ".docker/config.json", ".config/gcloud", ".config/gh", ".config/hub",
    ".config/rclone", ".config/op", ".m2/settings.xml", ".m2/settings-security.xml",
    ".cargo/credentials", ".gem/credentials", ".bundle/config", ".composer/auth.json",
    "composer/auth.json", ".gradle/gradle.properties", ".subversion/auth",
    ".terraform.d/credentials.tfrc.json", ".chef/knife.rb", ".snowflake/connections.toml",
    ".snowsql/config", ".dbt/profiles.yml", ".kaggle/kaggle.json", ".huggingface/token",
    "huggingface/token", ".streamlit/secrets.toml", ".mc/config.json", ".openstack/clouds.yaml",
    ".vscode/sftp.json", ".circleci/cli.yml", ".ngrok2/ngrok.yml", ".pulumi/credentials.json",
})  # fmt: skip
"""Endings of private paths, in lower case.

Each has two parts. The path is a private file, or a folder whose whole content is private.
"""

SECRET_NAMES = frozenset({
    ".envrc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".pypirc", ".npmrc",
    ".yarnrc.yml", ".htpasswd", ".git-credentials", ".dockercfg", ".dockerconfigjson",
    ".vault-token", ".vault_pass", ".s3cfg", ".boto", ".databrickscfg", ".snowsql",
    "kubeconfig", "credentials", "credentials.json", "credentials.yml", "credentials.yaml",
    "credentials.xml", "credentials.toml", "credentials.ini", "credentials.csv", "secrets.json",
    "secrets.yml", "secrets.yaml", "secrets.toml", "secrets.ini", "secrets.env",
    "client_secret.json", "client_secrets.json", "service_account.json", "service-account.json",
    "serviceaccountkey.json", "application_default_credentials.json", "token.json",
    "master.key", "accesskeys.csv", "rootkey.csv", "terraform.rc", ".terraformrc", "ansible_vault",
    "wp-config.php", "pgpass.conf", "kubeconfig.yaml", "kubeconfig.yml", "credentials.tfrc.json",
    "secret.yml", "secret.yaml", "secret.json", "secret.txt", "secrets.txt", "secrets.properties",
    "vault.yml", "vault.yaml", "password.txt", "passwords.txt", "api_keys.json", "apikeys.json",
    "api_keys.txt", "apikeys.txt", "token.txt", "token.pickle", "cookies.txt",
    "cookies.sqlite", "logins.json", "key4.db", "wallet.dat", "kaggle.json", "rclone.conf",
    ".rclone.conf", ".sentryclirc", ".clasprc.json", ".ftpconfig", "sftp-config.json",
    ".remote-sync.json", "filezilla.xml", "recentservers.xml", ".authinfo", ".authinfo.gpg",
    ".netrc.gpg", ".msmtprc", ".fetchmailrc", ".dev.vars", ".auth.json", "key.properties",
    "openrc.sh", "deploy_key", "deploy_rsa", ".htdigest", ".passwd", ".bash_history",
    ".zsh_history", ".python_history", ".mysql_history", ".psql_history", ".sqlite_history",
    ".node_repl_history", ".irb_history", ".rediscli_history", ".dbshell", "env.txt", ".flaskenv",
    "oauth.json", "service-account-key.json", "gcp-key.json", "google-credentials.json",
    "local.settings.json", "auth.json", "keystore.properties", "signing.properties",
})  # fmt: skip
"""Names of private files, in lower case."""

SECRET_KEYS = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk")
"""Names of private keys of SSH, also with any suffix except `.pub`, as in `id_rsa.bak`."""

SECRET_ENDINGS = (
    ".env", ".pem", ".key", ".p12", ".p8", ".pfx", ".jks", ".bcfks", ".keystore", ".truststore",
    ".ppk", ".kdbx", ".kdb", ".agekey", ".pkcs12", ".tfstate", ".tfvars", ".tfvars.json",
    ".kubeconfig", ".ovpn", ".mobileprovision", ".keytab", ".asc.key", ".gpg-key", ".secret",
    ".secrets", ".htpasswd", ".pgpass", ".netrc", ".tfplan",
)  # fmt: skip
"""Endings of names of private files."""

HARMLESS_ENDINGS = (
    ".example", ".sample", ".template", ".dist", ".tmpl", ".tpl", ".defaults", ".j2", ".pub",
    "-example", "-sample", "-template", "_example", "_sample", "_template", ".md",
)  # fmt: skip
"""Endings of names that mean that a file contains no real secret, such as example files."""

_HARMLESS_WORD = re.compile(r"(?:^|[._-])(?:example|sample|template)(?:[._-]|$)")
"""Matches `example`, `sample` and `template` anywhere in a name, as in `example.env`."""

_DOTENV = re.compile(
    r"\.env(?:[._~\d-]|$)|env\.(?:local|prod|dev|stag)|client_secret_|(?:wg\d{1,3}\.conf)$"
    r"|.{0,80}firebase-adminsdk.{0,80}\.json$"
)

PROGRAM_ENDINGS = (
    ".py", ".pyi", ".pyw", ".rs", ".ts", ".mts", ".cts", ".tsx", ".js", ".jsx", ".mjs", ".cjs",
    ".go", ".java", ".c", ".h", ".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".h++",
    ".ipp", ".tpp", ".cs", ".csx", ".rb", ".rake", ".gemspec", ".php", ".phtml", ".kt", ".kts",
    ".swift", ".lua", ".scala", ".sc", ".dart", ".zig", ".hs", ".ex", ".exs", ".jl", ".r", ".m",
    ".mm", ".ml", ".sol",
    ".proto", ".graphql", ".gql",
)  # fmt: skip
"""Endings of names of source code files.

Shell scripts are not in the list, since many of them exist only to set environment variables with
keys.
"""

_ABOUT_KEYS = (*PROGRAM_ENDINGS, ".html")
"""Endings of names of files that are about keys but contain none, such as `id_rsa_test.go`."""

_COPY = re.compile(
    r"(?:~|#|\.(?:bak|backup|old|orig|save|saved|swp|swo|tmp|copy|disabled|off|prev|\d{1,8})"
    r"|[._-](?:bak|backup|old|copy)|\s?\(\d+\))$"
)
"""Matches the endings of names of copies.

The name without the ending is the original's name, and a copy of a private file is private too.
"""

_PRIVATE_FOLDER = "the folder {} holds internal data or keys"
_PRIVATE_NAME = "a file of such a name usually holds keys or passwords"
_PRIVATE_BELOW = "only source code is read in a folder that is called {}, as keys often are"
_PRIVATE_CONTENT = "it holds {}"

_KEY_WORDS = (b"PRIVATE KEY", b"PuTTY-User-Key-File", b"AGE-SECRET-KEY", b"secret key")
"""Texts of which each match of `_KEY_BLOCK` contains at least one."""

_KEY_BLOCK = (
    rb"(?m)-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----[ \t]*\r?$"
    rb"|^---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----|^PuTTY-User-Key-File-\d:"
    rb"|^AGE-SECRET-KEY-1[0-9A-Z]{20}|^untrusted comment: .{0,80}secret key"
)
_BEFORE_KEY = (
    rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:#|//|;)[^\n]*\n|[ \t\r]*\n|Bag Attributes[^\n]*\n"
    rb"|[ ]{1,8}(?:localKeyID|friendlyName|Microsoft)[^\n]*\n|Key Attributes[^\n]*\n"
    rb"|-----BEGIN CERTIFICATE-----\r?\n(?:[A-Za-z0-9+/=]{1,80}\r?\n){1,100}"
    rb"-----END CERTIFICATE-----\r?\n)*"
)
"""Matches the text that may precede a key in a file that only contains keys."""

_CONTENTS = (
    (b"service_account", "a key of a service account", (
        rb'"type"\s{0,9}:\s{0,9}"service_account"', rb'"private_key"\s{0,9}:',
    )),
    (b"kind:", "credentials of a cluster", (
        rb"(?m)^kind:[ \t]{0,9}Config\b",
        rb"(?m)^[ \t]{2,20}(?:client-key-data|token|password):[ \t]",
    )),
    (b'"auths"', "credentials of container registries", (
        rb'"auths"\s{0,9}:\s{0,9}\{',
        rb'"(?:auth|identitytoken)"\s{0,9}:\s{0,9}"[A-Za-z0-9+/=_.-]{8,8000}(?:"|\Z)',
    )),
    (b"aws_secret_access_key", "credentials of a cloud", (
        rb"(?m)^\[[\w .-]{1,60}\][ \t]*\r?$",
        rb"(?m)^aws_secret_access_key[ \t]{0,9}=[ \t]{0,9}[A-Za-z0-9/+=]{20}",
    )),
    (b":_", "a token of a package registry", (
        rb"(?m)^//[^\n]{1,200}:_(?:authToken|password|auth)[ \t]{0,9}=[ \t]{0,9}[^\s$]",
    )),
    (b"terraform_version", "the state of Terraform", (
        rb'"terraform_version"\s{0,9}:', rb'"(?:lineage|serial)"\s{0,9}:',
    )),
    (b"[Interface]", "a key of a virtual network", (
        rb"(?m)^\[Interface\][ \t]*\r?$",
        rb"(?m)^PrivateKey[ \t]{0,9}=[ \t]{0,9}[A-Za-z0-9+/]{43}=",
    )),
    (b"DB_PASSWORD", "the settings of WordPress", (
        rb"\A<\?php", rb"define\(\s{0,9}'DB_PASSWORD',\s{0,9}'[^']", rb"define\(\s{0,9}'AUTH_KEY'",
    )),
    (b"$ANSIBLE_VAULT", "an encrypted vault", (rb"\A\$ANSIBLE_VAULT;",)),
)  # fmt: skip
"""Kinds of private content: a word, a description, and patterns.

A file is of the kind if all its patterns match. The word is searched before the patterns, because
few files contain it. The test of a file takes 39 µs instead of 127 µs (the first 8,000 bytes of 682
source files, on a busy machine).
"""


class _Rule(NamedTuple):
    """The reasons why tools must not read files in a folder.

    If `nothing` is set, tools may read no file in the folder. If `only_programs` is set, they may
    read only source code. None means that there is no such reason.
    """

    nothing: str | None = None
    only_programs: str | None = None


def why_private(relative: str, *, is_folder: bool = False) -> str | None:
    """Return why tools must not read the file or folder at `relative`, or None if they may.

    `relative` is a POSIX path relative to the root.

    The function examines only the names of the file and its folders. Upper and lower case do not
    matter. Some private names, such as `credentials`, are also common names of packages. Therefore
    source code below `credentials/` may be read, but no other file there.
    """
    folder, _, name = comparable(relative).rpartition("/")
    return _rule_of(folder).nothing or why_private_entry(folder, name, is_folder=is_folder)


def why_private_entry(folder: str, name: str, *, is_folder: bool) -> str | None:
    """Return the result of `why_private` for an entry of a readable folder.

    `folder` is relative to the root.
    """
    above, name = comparable(folder.rpartition("/")[2]), comparable(name)
    if is_folder:
        return _rule_below(above, name).nothing
    if reason := _why_private_in(above, name):
        return reason
    return None if name.endswith(PROGRAM_ENDINGS) else _rule_of(folder).only_programs


@lru_cache(1_024)
def _rule_of(folder: str) -> _Rule:
    """Return the rule of a folder from its name and its parents' names.

    `folder` is relative to the root.
    """
    only_programs = None
    for above, name in pairwise(["", *comparable(folder).split("/")]):
        rule = _rule_below(above, name)
        if rule.nothing:
            return rule
        only_programs = only_programs or rule.only_programs
    return _Rule(only_programs=only_programs)


def _rule_below(above: str, name: str) -> _Rule:
    """Return the rule of the folder `name` in a folder named `above`.

    A private folder whose name begins with a dot contains settings and keys of programs. Therefore
    tools must not read even source code in it.
    """
    reason = _why_private_in(above, name)
    if reason and (name.startswith(".") or _is_secret_tail(above, name)):
        return _Rule(reason)
    return _Rule(only_programs=_PRIVATE_BELOW.format(name) if reason else None)


def _why_private_in(above: str, name: str) -> str | None:
    return _PRIVATE_NAME if _is_secret_tail(above, name) else _why_private_name(name)


def _is_secret_tail(above: str, name: str) -> bool:
    return f"{above}/{_COPY.sub('', name)}" in SECRET_TAILS


def _why_private_name(name: str) -> str | None:
    if name in SECRET_FOLDERS:
        return _PRIVATE_FOLDER.format(name)
    if name.endswith(HARMLESS_ENDINGS) or _HARMLESS_WORD.search(name):
        return None
    while True:
        if _is_secret(name):
            return _PRIVATE_NAME
        shorter = _COPY.sub("", name)
        if shorter == name:
            return None
        name = shorter


def _is_secret(name: str) -> bool:
    if name in SECRET_NAMES or name.endswith(SECRET_ENDINGS) or _DOTENV.match(name):
        return True
    key = next((key for key in SECRET_KEYS if name.startswith(key)), None)
    after = name[len(key or "") :]
    return key is not None and not after[:1].isalnum() and not after.endswith(_ABOUT_KEYS)


def why_private_content(head: bytes) -> str | None:
    """Return why tools must not read a file that begins with `head`, or None if they may.

    The function recognizes files that consist of keys or credentials. It ignores code that mentions
    a key.
    """
    head = head[:HEAD_BYTES]
    if any(word in head for word in _KEY_WORDS):
        start = re.match(_BEFORE_KEY, head)
        if re.compile(_KEY_BLOCK).match(head, start.end() if start else 0):
            return _PRIVATE_CONTENT.format("a private key")
    for word, what, patterns in _CONTENTS:
        if word in head and all(re.search(pattern, head) for pattern in patterns):
            return _PRIVATE_CONTENT.format(what)
    return None
