# ruff: noqa: E501  (a table of texts, one a line)
"""Named secrets in manifests, declarations, commands, logs and tables.

The author of these texts had not read the rules. docs/redaction.md has the figures of the first
run.
"""

import base64
import html
import json
from collections.abc import Callable, Mapping
from random import Random
from urllib.parse import quote

from tests.secrets.corpus.keys import HEX, text

Form = Callable[[str], str]
Assigned = tuple[Callable[[Random], str], tuple[Form, ...]]


def _special(random: Random) -> str:
    return f"{text(random, 6)}{random.randrange(10, 99)}{random.choice('!#$*')}{text(random, 5)}"


def _human(random: Random) -> str:
    return f"{random.choice(['Summer', 'Tiger', 'Hamburg'])}{random.randrange(1000, 9999)}{random.choice('!#*')}"


def _hexadecimal(random: Random) -> str:
    return text(random, 32, HEX)


def _base64(random: Random) -> str:
    return base64.b64encode(random.randbytes(32)).decode()


SURROUNDINGS: Mapping[str, Assigned] = {
    "manifests": (_special, (
        lambda v: json.dumps([{"ParameterKey": "POSTGRES_PASSWORD", "ParameterValue": v}]),
        lambda v: json.dumps({"parameters": {"smtpPassword": {"value": v}}}),
        lambda v: f'variable "db_password" {{\n  type = string\n  default = "{v}"\n}}\n',
        lambda v: f"data:\n  db_password: |\n    {v}\n", lambda v: f"admin_password: >-\n  {v}\nnext: 1\n",
        lambda v: f'<property name="db_password"><value>{html.escape(v)}</value></property>')),
    "declarations": (_human, (
        lambda v: f'public const string dbPassword = @"{v}";', lambda v: f'std::string smtpPassword{{"{v}"}};',
        lambda v: f'Dim rootPassword As String = "{v}"', lambda v: f"db_password: Final[str] = '{v}'",
        lambda v: f'admin_password: str = Field(default="{v}")', lambda v: f'(def smtp-password "{v}")',
        lambda v: f'ENV["REDIS_PASS"] ||= "{v}"', lambda v: f'const k = process.env.DB_PASSWORD || "{v}";',
        lambda v: f'DriverManager.getConnection(url, "app", "{v}");')),
    "declared keys": (_hexadecimal, (
        lambda v: f"M.access_token = [[{v}]]", lambda v: f'API_KEY = b"{v}"', lambda v: f'auth_token: str = Field(default="{v}")',
        lambda v: f'Config {{ host: "h", refresh_token: Some("{v}"), port: 1 }}',
        lambda v: f'secret_key = os.environ.get("SECRET_KEY") or "{v}"')),
    "positions": (_special, (
        lambda v: f"htpasswd -bc .htpasswd bob {v}", lambda v: f"net user bob {v} /add",
        lambda v: f"db.internal:5432:app:appuser:{v}", lambda v: f"requirepass {v}\nport 6379",
        lambda v: f"openssl enc -aes-256-cbc -k {v} -in a", lambda v: f"echo {v} | vercel env add SMTP_PASSWORD production",
        lambda v: json.dumps({"auths": {"r.io": {"auth": base64.b64encode(f"bob:{v}".encode()).decode()}}}))),
    "set": (_hexadecimal, (
        lambda v: f"gh secret set DATADOG_APP_KEY --body {v}", lambda v: f"set -gx WANDB_API_KEY {v}",
        lambda v: f"pulumi config set clientSecret {v} --secret", lambda v: f"Set `SIGNING_SECRET` to `{v}` first.",
        lambda v: f"SET client_secret {v}")),
    "logs": (_special, (
        lambda v: f"1 validation error for Settings\nldap_bind_password\n  Extra inputs are not permitted [type=extra_forbidden, input_value={v!r}, input_type=str]",
        lambda v: f'Content-Disposition: form-data; name="password"\r\n\r\n{v}\r\n--x--',
        lambda v: quote(quote(f"smtp_password={v}", safe=""), safe=""),
        lambda v: f"-KEYSTORE_PASSWORD=\n+KEYSTORE_PASSWORD={v}\n PORT=1\n")),
    "tables": (_base64, (
        lambda v: f"| name | value |\n|---|---|\n| `APP_SECRET` | `{v}` |\n", lambda v: f"- **CLIENT_SECRET**: `{v}`",
        lambda v: f":auth_token: ``{v}``", lambda v: f"<tr><td>AUTH_TOKEN</td><td>{html.escape(v)}</td></tr>",
        lambda v: f'<input name="auth_token" type="hidden" value="{html.escape(v)}">')),
}  # fmt: skip
"""Each family has a kind of value, and the texts that give it to a name."""
