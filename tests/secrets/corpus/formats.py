# ruff: noqa: E501  (a table of texts, one a line)
"""Secrets that a format or a person's choice of words shows, without a vendor's prefix."""

import base64
import json
from collections.abc import Callable, Mapping
from random import Random
from urllib.parse import quote

from tests.secrets.corpus.keys import BASE32, HEX, LETTERS, text

Form = Callable[[str], str]
Assigned = tuple[Callable[[Random], str], tuple[Form, ...]]

WORDS = (
    *(
        "acid",
        "actor",
        "bamboo",
        "basket",
        "cabin",
        "canvas",
        "desert",
        "dolphin",
        "ember",
        "falcon",
    ),
    *("garden", "harbor", "island", "jungle", "kitten", "lemon", "magnet", "nectar", "orbit"),
)


def _hash(random: Random) -> str:
    salted = f"{text(random, 22)}{text(random, 31, LETTERS + './')}"
    return random.choice(
        (
            f"$2y$12${salted}",
            f"$6${text(random, 16)}${text(random, 86, LETTERS + './')}",
            f"$apr1${text(random, 8)}${text(random, 22, LETTERS + './')}",
            "{SSHA}" + base64.b64encode(random.randbytes(28)).decode(),
            f"pbkdf2_sha256$600000${text(random, 22)}${base64.b64encode(random.randbytes(32)).decode()}",
        )
    )


def _phrase(random: Random) -> str:
    return " ".join(random.choice(WORDS) for _ in range(12))


def _chosen(random: Random) -> str:
    first, second, third = (random.choice(WORDS) for _ in range(3))
    number = random.randrange(10, 999)
    return random.choice(
        (f"{first}-{second}-{third}-{number}", f"{first}{number}", f"{first}{second.title()}!{number}",
         f"{first}{second}_{number}")
    )  # fmt: skip


def _signature(random: Random) -> str:
    return text(random, 64, HEX)


def _digest(random: Random) -> str:
    return text(random, 32, HEX)


def _data(random: Random) -> str:
    return base64.b64encode(text(random, 30).encode()).decode()


def _base32(random: Random) -> str:
    return text(random, 32, BASE32)


def _mixed(random: Random) -> str:
    return "".join(random.choice("bcdfgh") + random.choice("QRSTVW") for _ in range(9))


def _web_key(random: Random) -> str:
    return text(random, 86)


FORMATS: Mapping[str, Assigned] = {
    "password hashes": (_hash, (
        lambda v: f"bob:{v}\n", lambda v: f"root:{v}:19000:0:99999:7:::\n", lambda v: json.dumps({"content": f"userPassword: {v}\n"}),
        lambda v: f"INSERT INTO auth_user VALUES (1, 'bob', '{v}');")),
    "seed phrases": (_phrase, (
        lambda v: f"mnemonic: {v}", lambda v: f'MNEMONIC="{v}"', lambda v: json.dumps({"seedPhrase": v}),
        lambda v: f"My recovery phrase is {v}.")),
    "kubernetes secrets": (_data, (
        lambda v: f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  config: {v}\n",
        lambda v: repr(f"kind: Secret\ntype: Opaque\ndata:\n  a.conf: {v}\n  b: YWJjZGVmZ2hp\n"),
        lambda v: quote(f"kind: Secret\ndata:\n  url: {v}\n"))),
    "signed addresses": (_signature, (
        lambda v: f"https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-SignedHeaders=host&X-Amz-Signature={v}",
        lambda v: f"https://storage.googleapis.com/b/o?X-Goog-Signature={v}&X-Goog-Expires=900",
        lambda v: f"https://a.blob.core.windows.net/c/b?sv=2024&sig={v}")),
    "digests": (_digest, (
        lambda v: f'Authorization: Digest username="bob", realm="api", nonce="{v[::-1]}", uri="/x", response="{v}"',
        lambda v: f'Authorization: Digest username=3D"bob", uri=3D"/x", response=3D"{v}"')),
    "chosen words": (_chosen, (
        lambda v: f"export API_TOKEN={v}\n", lambda v: json.dumps({"apiKey": v}), lambda v: f"client_secret={v}&grant_type=code",
        lambda v: f"    44\t    password: {v}\n", lambda v: f"ENV NPM_TOKEN={v}\nRUN npm ci", lambda v: f"[ERROR] login failed (user: bob, password: {v.replace('-', '').title()}7)",
        lambda v: f"keystore.password = {v}#Kx\nkeystore.path=/etc/ks.jks")),
    "other languages": (_chosen, (
        lambda v: f"senha={v}", lambda v: f"Das Passwort lautet: {v}!7", lambda v: f"пароль: {v}\n", lambda v: f"密码: {v}",
        lambda v: f"Hasło: {v}\n")),
    "places in commands": (_base32, (
        lambda v: f"oathtool --totp -b {v}", lambda v: f"smbclient //s/x -U bob%{v}",
        lambda v: f"ConvertTo-SecureString -String '{v}' -AsPlainText -Force",
        lambda v: f"xfreerdp /u:bob /p:{v} /v:host", lambda v: f"snmp-server community {v} RO", lambda v: f"mc alias set m http://m:9000 minio {v}",
        lambda v: f"kubectl create secret generic a --from-literal=user=bob --from-literal=pw={v}", lambda v: f"jdbc:oracle:thin:scott/{v}@//db:1521/X",
        lambda v: f"otp = pyotp.TOTP('{v}').now()", lambda v: f"2FA setup key: {v}",
        lambda v: f"##vso[task.setvariable variable=token]{v}", lambda v: f"::add-mask::{v}")),
    "columns": (_chosen, (
        lambda v: f"id,name,password\n1,bob,{v}\n2,eve,\n", lambda v: f"user;Passwort;Rolle\nbob;{v};admin\n", lambda v: f"name\tapi_key\nci\t{v}",
        lambda v: f"| user | password |\n|------|----------|\n| bob | {v} |\n", lambda v: f" id | password \n----+----------\n  1 | {v}\n",
        lambda v: json.dumps({"content": f"login,secret\nbob,{v}\n"}), lambda v: f"INSERT INTO users (login, password) VALUES ('eve', ''), ('bob', '{v}');")),
    "letters": (_mixed, (
        lambda v: f"DB_PASSWORD={v}", lambda v: json.dumps({"client_secret": v}), lambda v: f'String pass = new String("{v}");')),
    "sentences": (lambda random: f"{_chosen(random).title()}7", (
        lambda v: f"Password - {v}", lambda v: f"pw: {v}", lambda v: f"username bob\npassword {v}", lambda v: f"the password has been changed to {v}",
        lambda v: f"creds: bob / {v}", lambda v: f"using passphrase [{v}]", lambda v: json.dumps({"m": f"密码: {v}"}))),
    "logins": (lambda random: f"{_chosen(random).title()}7", (
        lambda v: f"ssh bob:{v}@10.1.2.3", lambda v: f'dsn := "app:{v}@tcp(127.0.0.1:3306)/shop"', lambda v: f'new PDO("mysql:host=h", "app", "{v}")',
        lambda v: f"http --auth svc:{v} GET https://x.y", lambda v: f"zip -P {v} out.zip a", lambda v: f"gh auth login --with-token <<< {v}")),
    "web keys": (_web_key, (
        lambda v: json.dumps({"kty": "oct", "k": v, "alg": "HS512"}), lambda v: json.dumps({"keys": [{"kty": "RSA", "n": "x" * 40, "q": v}]}, indent=1))),
}  # fmt: skip
"""Each family has a kind of value, and the texts that show it."""
