# ruff: noqa: E501  (a table of texts, one a line)
"""Texts in which a secret is planted, by family: keys of vendors, and secrets by what names them."""

import base64
import html
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from urllib.parse import quote

from tests.secrets.corpus.formats import FORMATS as SHOWN
from tests.secrets.corpus.keys import HEX, LETTERS, VENDORS, text
from tests.secrets.corpus.surroundings import SURROUNDINGS

PROSE = "The build ran for a while, then it asked for access and went on with the next step. " * 4


@dataclass(frozen=True, slots=True)
class Planted:
    """A text with a secret; `named` families are those that the documentation names."""

    family: str
    form: str
    text: str
    secret: str


Form = Callable[[str], str]

FORMS: Mapping[str, Form] = {
    "alone": lambda key: key,
    "sentence": lambda key: f"I set it up with {key}, please check.",
    "json": lambda key: json.dumps({"messages": [{"role": "user", "content": f"here: {key}"}]}),
    "json in json": lambda key: json.dumps({"arguments": json.dumps({"value": key})}),
    "prefixed name": lambda key: f"MY_{key}",
    "address": lambda key: f"GET https://api.example.com/v1/items?page=2&k={key}&limit=5",
    "percent": lambda key: f"q=deploy%20{quote(key, safe='')}%20now",
    "unicode escape": lambda key: (
        f'{{"query": "k\\u003d{json.dumps(key)[1:-1]}\\u0026page\\u003d2"}}'
    ),
    "html": lambda key: f"<code>&quot;{html.escape(key)}&quot;</code>",
    "coloured": lambda key: f"\x1b[32mok\x1b[0m key \x1b[1;31m{key}\x1b[0m done",
    "colour within": lambda key: f"found {key[:12]}\x1b[31m{key[12:]}\x1b[0m in file",
    "attachment": lambda key: (
        "data:text/plain;base64,"
        + base64.b64encode(f"{PROSE * 4}\nvalue {key}\n{PROSE}".encode()).decode()
    ),
    "diff": lambda key: f"@@ -1,2 +1,2 @@\n-old\n+{key}\n",
    "python": lambda key: f'client = Client("{key}")',
    "yaml list": lambda key: f"items:\n  - {key}\n  - other\n",
}
"""How a key of a vendor stands in text."""


def _password(random: Random) -> str:
    kinds = (
        lambda: f"{text(random, 5, 'abcdefghkmnp')}{random.choice('!@#$%^&*')}{text(random, 4)}",
        lambda: (
            f"{random.choice(['Winter', 'Falcon', 'Purple', 'Kaffee'])}{random.randrange(1950, 2030)}!"
        ),
        lambda: text(random, 14),
        lambda: f"Tr0ub{random.randrange(10, 99)}dor&{random.randrange(2, 9)}",
    )
    return random.choice(kinds)()


def _plain(random: Random) -> str:
    """A password without characters that a shell or an address would have to quote."""
    return f"{text(random, 6)}{random.randrange(10, 99)}{text(random, 4)}"


def _key(random: Random) -> str:
    return random.choice(
        (text(random, 40, HEX), text(random, 32), text(random, 43, LETTERS + "-_"))
    )


Assigned = tuple[Callable[[Random], str], tuple[Form, ...]]


def _encoded(value: str) -> str:
    return base64.b64encode(value.encode()).decode()


ASSIGNED: Mapping[str, Assigned] = {
    "environment": (_password, (
        lambda v: f"DB_PASS={v}\nPORT=5432\n", lambda v: f"export MYSQL_PWD='{v}'",
        lambda v: f"PGPASSWORD={v} psql -h db", lambda v: f'$env:SMTP_PASSWORD = "{v}"',
        lambda v: f"REDIS_PASSWORD={v}", lambda v: f'set "FTP_PASS={v}"')),
    "environment key": (_key, (
        lambda v: f"DATADOG_API_KEY={v}", lambda v: f"export SECRET_KEY_BASE={v}",
        lambda v: f"ENCRYPTION_KEY={v}\n", lambda v: f"ENV STRIPE_WEBHOOK_SECRET={v}",
        lambda v: f"COHERE_API_KEY: '{v}'", lambda v: f"env: [MISTRAL_API_KEY={v}]")),
    "command option": (_plain, (
        lambda v: f"deploy --password {v} --host a", lambda v: f"deploy --password={v}",
        lambda v: f"tool login --username bob --password '{v}'", lambda v: f'["--token", "{v}{v}"]',
        lambda v: f"cli --api-key {v}{v}", lambda v: f"vault login --secret={v}{v}")),
    "client option": (_plain, (
        lambda v: f"mysql -u root -p{v} shop", lambda v: f"sshpass -p '{v}' ssh host",
        lambda v: f"redis-cli -h cache -a {v} ping", lambda v: f"docker login -u bob -p {v} registry")),
    "curl user": (_plain, (
        lambda v: f"curl -u admin:{v} https://api.example.com", lambda v: f"curl --user 'bob:{v}' https://x.y/z",
        lambda v: f'curl -sS -X POST -u "svc:{v}" https://x.y', lambda v: f"wget --user bob:{v} https://x.y")),
    "cookie": (lambda r: text(r, 32, HEX), (
        lambda v: f"Cookie: theme=dark; sessionid={v}; lang=en", lambda v: f"Set-Cookie: JSESSIONID={v}; Path=/; HttpOnly",
        lambda v: json.dumps({"headers": {"cookie": f"sid={v}"}}), lambda v: f"curl -b 'auth_token={v}' https://x.y")),
    "kubernetes": (_password, (
        lambda v: f'env:\n  - name: DB_PASSWORD\n    value: "{v}"\n',
        lambda v: f"kind: Secret\ndata:\n  password: {_encoded(v + '-longer')}\n",
        lambda v: json.dumps({"name": "MYSQL_ROOT_PASSWORD", "value": v}),
        lambda v: f'stringData:\n  db-password: "{v}"\n')),
    "xml": (_password, (
        lambda v: f"<password>{html.escape(v)}</password>", lambda v: f'<add key="ApiSecret" value="{html.escape(v)}x9"/>',
        lambda v: f'<property name="connection.password" value="{html.escape(v)}"/>',
        lambda v: f'<entry key="dbPassword">{html.escape(v)}</entry>')),
    "address user": (_plain, (
        lambda v: f"postgres://app:{v}@db.example.com:5432/main", lambda v: f"git clone https://bob:{v}@git.example.com/a.git",
        lambda v: f"amqp://guest:{v}@mq/vhost", lambda v: json.dumps({"url": f"mongodb+srv://u:{v}@c.example.net/db"}),
        lambda v: f"redis://:{v}@cache:6379/0", lambda v: f"smtp%3A%2F%2Fbob%3A{v}%40mail.example.com")),
    "address token": (_key, (
        lambda v: f"https://api.example.com/x?api_key={v}", lambda v: f"wss://x.y/z?access_token={v}&v=2",
        lambda v: f"https://h.y/cb#access_token={v}", lambda v: f"GET /v1?client_secret={v} HTTP/1.1")),
    "json": (_password, (
        lambda v: json.dumps({"password": v}), lambda v: json.dumps({"db": {"userPassword": v}}),
        lambda v: json.dumps(json.dumps({"passwd": v})), lambda v: json.dumps({"credentials": {"pwd": v}}, indent=2))),
    "json key": (_key, (
        lambda v: json.dumps({"api_key": v}), lambda v: json.dumps({"clientSecret": v}),
        lambda v: json.dumps({"arguments": json.dumps({"accessToken": v})}), lambda v: json.dumps({"private_token": v}))),
    "yaml": (_password, (
        lambda v: f"database:\n  password: '{v}'\n", lambda v: f'smtp:\n  user: bob\n  pass: "{v}"\n',
        lambda v: f"admin_password: {v}\n", lambda v: f'- secret: "{v}{v}"\n')),
    "header": (_key, (
        lambda v: f"Authorization: Bearer {v}", lambda v: f"X-Api-Key: {v}",
        lambda v: json.dumps({"headers": {"Authorization": f"Token {v}"}}), lambda v: f"PRIVATE-TOKEN: {v}",
        lambda v: f"-H 'X-Auth-Token: {v}'", lambda v: f"Authorization: Basic {_encoded('bob:' + v)}")),
    "connection string": (_plain, (
        lambda v: f"Server=db;Database=a;User Id=sa;Password={v};", lambda v: f"jdbc:mysql://db/a?user=u&password={v}",
        lambda v: f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={_encoded(v * 5)}",
        lambda v: f"host=db user=app password={v} dbname=main")),
    "code": (_password, (
        lambda v: f'password = "{v}"', lambda v: f"const dbPassword: string = '{v}';",
        lambda v: f'String pwd = "{v}";', lambda v: f"'password' => '{v}',",
        lambda v: f'cfg.SetPassword("{v}")', lambda v: f'os.environ["DB_PASSWORD"] = "{v}"',
        lambda v: f'Password: "{v}",', lambda v: f'#define WIFI_PASSWORD "{v}"')),
    "settings": (_password, (
        lambda v: f'[db]\npassword = "{v}"\n', lambda v: f"spring.datasource.password={v}\n",
        lambda v: f'resource "db" "a" {{\n  password = "{v}"\n}}', lambda v: f"mail.smtp.pass={v}\n")),
    "netrc": (_plain, (
        lambda v: f"machine api.example.com login bob password {v}\n",
        lambda v: f"//registry.example.com/:_authToken={v}{v}",
        lambda v: f"machine h\n  login b\n  password {v}\n")),
    "sql": (_plain, (
        lambda v: f"CREATE USER app IDENTIFIED BY '{v}';", lambda v: f"ALTER ROLE app WITH PASSWORD '{v}';",
        lambda v: f"CREATE LOGIN a WITH PASSWORD = '{v}';")),
    "prose": (_plain, (
        lambda v: f"the password is {v}", lambda v: f"My password: {v}", lambda v: f"Passwort ist {v}",
        lambda v: f"the api key is {v}{v}", lambda v: f'login bob, password was "{v}"')),
    "escaped": (_plain, (
        lambda v: f"password%3D{v}%26user%3Dbob", lambda v: f'{{"a": "password\\u003d{v}"}}',
        lambda v: f"&quot;password&quot;:&quot;{v}&quot;", lambda v: f"\x1b[33mpassword\x1b[0m=\x1b[32m{v}\x1b[0m",
        lambda v: f"password&#61;{v}", lambda v: "log " + _encoded(f"{PROSE}password={v}\n{PROSE}"))),
    **SURROUNDINGS,
    **SHOWN,
}  # fmt: skip
"""Secrets by their names, in the syntaxes that have them."""


def planted(seed: int = 20_261_129) -> Iterator[Planted]:
    """The whole corpus; the same seed gives the same."""
    random = Random(seed)
    forms = list(FORMS.items())
    for place, (family, make) in enumerate(VENDORS.items()):
        for step in range(5):
            name, form = forms[(place + step * 4) % len(forms)]
            key = make(random)
            if key.startswith("-----") and name in {
                "colour within",
                "prefixed name",
                "address",
                "percent",
            }:
                name, form = "sentence", FORMS["sentence"]
            yield Planted(family, name, form(key), key)
    for family, (make, assigned) in ASSIGNED.items():
        for number, form in enumerate(assigned):
            for _ in range(2):
                secret = make(random)
                yield Planted(family, str(number), form(secret), secret)
