# ruff: noqa: E501, UP031  (a table of texts, one a line)
"""Texts that look like secrets and are none, by kind."""

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from random import Random

from tests.secrets.corpus.keys import HEX, LETTERS, LOWER, UPPER, text, uuid_like

Make = Callable[[Random], str]


def _png(random: Random) -> str:
    data = b"\x89PNG\r\n\x1a\n" + zlib.compress(random.randbytes(600))
    return base64.b64encode(data).decode()


def _sri(random: Random) -> str:
    return "sha512-" + base64.b64encode(random.randbytes(64)).decode()


def _minified(random: Random) -> str:
    names = [text(random, 1, "abcdefgh") for _ in range(6)]
    a, b, c, d, e, f = names
    return (
        f"!function({a},{b}){{var {c}={a}.token||{b}[0],{d}={e}=>{c}.key===({d}??1)?{f}:null;"
        f'{a}.password=function(t){{return this._pwd=t,this}};{b}.key="k{random.randrange(9)}"}}(this,{{}});'
    )


KINDS: Mapping[str, tuple[Make, ...]] = {
    "hashes": (
        lambda r: f"commit {text(r, 40, HEX)}",
        lambda r: f"sha256:{text(r, 64, HEX)}",
        lambda r: f"md5 = {text(r, 32, HEX)}",
        lambda r: f"checksum: {text(r, 64, HEX)}  dist/app.tar.gz",
        lambda r: f"index {text(r, 7, HEX)}..{text(r, 7, HEX)} 100644",
        lambda r: f"cache_key: {text(r, 40, HEX)}",
        lambda r: f'"etag": "{text(r, 32, HEX)}"',
        lambda r: f'ETag: W/"{text(r, 27)}"',
    ),
    "ids": (
        lambda r: f"request_id={uuid_like(r)}",
        lambda r: json.dumps({"session_id": uuid_like(r), "user": {"id": uuid_like(r)}}),
        lambda r: f"idempotency_key: {uuid_like(r)}",
        lambda r: json.dumps({"tool_call_id": f"call_{text(r, 24)}"}),
        lambda r: json.dumps({"id": f"chatcmpl-{text(r, 29)}", "object": "chat.completion"}),
        lambda r: json.dumps({"id": f"toolu_01{text(r, 22)}", "type": "tool_use"}),
        lambda r: json.dumps({"id": f"msg_01{text(r, 22)}", "role": "assistant"}),
        lambda r: f"price_1{text(r, 23)} prod_{text(r, 14)} cus_{text(r, 14)}",
        lambda r: f"payment_intent=pi_3{text(r, 23)}",
        lambda r: f"trace {text(r, 32, HEX)} span {text(r, 16, HEX)}",
        lambda r: f"traceparent: 00-{text(r, 32, HEX)}-{text(r, 16, HEX)}-01",
        lambda r: f"arn:aws:iam::{text(r, 12, '0123456789')}:role/deploy-key-rotation",
        lambda r: f"i-0{text(r, 16, HEX)} ami-0{text(r, 16, HEX)}",
        lambda r: "pk" + f"_live_{text(r, 24)} is publishable",
    ),
    "lock files": (
        lambda r: json.dumps({"version": "1.2.3", "integrity": _sri(r), "dev": True}),
        lambda r: f"github.com/pkg/errors v0.9.1 h1:{base64.b64encode(r.randbytes(32)).decode()}",
        lambda r: f'checksum = "{text(r, 64, HEX)}"',
        lambda r: f"    --hash=sha256:{text(r, 64, HEX)} \\",
        lambda r: f'"content-hash": "{text(r, 32, HEX)}",',
        lambda r: f"  resolution: {{integrity: {_sri(r)}}}",
    ),
    "images": (
        lambda r: f"data:image/png;base64,{_png(r)}",
        lambda r: json.dumps({"type": "image", "source": {"media_type": "image/png", "data": _png(r)}}),
        lambda r: f'<img src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///{base64.b64encode(r.randbytes(30)).decode()}">',
        lambda r: f"![plot](data:image/jpeg;base64,/9j/{base64.b64encode(r.randbytes(300)).decode()})",
    ),
    "public keys": (
        lambda r: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{text(r, 43)} bob@host",
        lambda r: f"-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkq{text(r, 52)}\n{text(r, 64)}\n-----END PUBLIC KEY-----",
        lambda r: f"-----BEGIN CERTIFICATE-----\nMIID{text(r, 60)}\n{text(r, 64)}\n-----END CERTIFICATE-----",
        lambda r: f"SHA256:{text(r, 43)} bob@host (ED25519)",
        lambda r: f'"public_key": "{base64.b64encode(r.randbytes(32)).decode()}"',
        lambda r: json.dumps({"kty": "RSA", "e": "AQAB", "n": text(r, 300), "kid": text(r, 16, HEX)}),
        lambda r: f"age1{text(r, 58, LOWER)}",
    ),
    "placeholders": (
        lambda r: "password: <your password>",
        lambda r: 'api_key = "YOUR_API_KEY_HERE"',
        lambda r: "export OPENAI_API_KEY=sk-...",
        lambda r: "password=********",
        lambda r: "DB_PASS=${DB_PASSWORD:-changeme}",
        lambda r: "postgres://user:password@localhost:5432/db",
        lambda r: "token: ${{ secrets.GITHUB_TOKEN }}",
        lambda r: 'secret = "{{ vault_secret }}"',
        lambda r: "curl -u $USER:$PASS https://example.com",
        lambda r: "mysql -u root -p shop",
        lambda r: 'api_key: "xxxxxxxxxxxxxxxxxxxxxxxx"',
        lambda r: "--password PASSWORD   the password to use",
        lambda r: "Authorization: Bearer <token>",
        lambda r: "https://user:%s@host/path" % "{password}",
    ),
    "code": (
        lambda r: f"token = tokens[{r.randrange(9)}]",
        lambda r: f"password = get_password_{r.randrange(9)}(user)",
        lambda r: "const key = Object.keys(props)[0];",
        lambda r: f"for key{r.randrange(9)} in self.keys2: pass",
        lambda r: 'password = os.environ["DB_PASSWORD"]',
        lambda r: "secretKeyRef:\n  name: db-secret2\n  key: password1",
        lambda r: "def login(self, password: str, token2: str | None = None) -> Session:",
        lambda r: "if (token.type === TokenType.Identifier2) return parsePassword1();",
        lambda r: f"max_tokens: {r.randrange(1000, 99999)}, total_tokens={r.randrange(1000, 99999)}",
        lambda r: "this.passwordField2 = document.getElementById('password-input-2');",
        lambda r: 'key="src/components/session_2024.py"',
        lambda r: "assert token == expected_token_2",
        lambda r: "passwordResetAt: 2024-05-12T10:20:30Z",
        lambda r: 'case "password": return validatePassword2(value);',
        _minified,
        lambda r: f"primary_key=True, foreign_key='user_2.id', sort_key='2024-{r.randrange(10, 12)}'",
        lambda r: "auth = AuthMiddleware2(app, session=Session3())",
        lambda r: '{"name": "password", "type": "string", "minLength": 8}',
        lambda r: f"keyCode: {r.randrange(100)}, keyPath: ['user1', 'name2']",
        lambda r: "from tests.fixtures.token2 import Token2, make_token_v3",
    ),
    "styles": (
        lambda r: f".css-{text(r, 6, LOWER)}{{color:#{text(r, 6, HEX)};background:url(/a/{text(r, 8, HEX)}.png)}}",
        lambda r: f'<div class="sc-{text(r, 6)} {text(r, 5)} sk-circle-{r.randrange(12)} key-{r.randrange(9)}">',
        lambda r: f'<script src="/assets/index-{text(r, 8)}.js" integrity="{_sri(r)}"></script>',
        lambda r: f"main.{text(r, 20, HEX)}.chunk.js",
        lambda r: f"--token-color-{r.randrange(9)}: #{text(r, 6, HEX)};",
    ),
    "addresses": (
        lambda r: f"https://github.com/org/repo/commit/{text(r, 40, HEX)}",
        lambda r: f"https://cdn.example.com/v1/{text(r, 32, HEX)}/image.jpg?v={r.randrange(10**9)}",
        lambda r: f"https://docs.google.com/document/d/1{text(r, 43)}/edit",
        lambda r: f"https://www.youtube.com/watch?v={text(r, 11)}",
        lambda r: f"git@github.com:org/repo-{text(r, 6)}.git",
        lambda r: f"/home/bob/.cache/pip/http/{text(r, 2, HEX)}/{text(r, 56, HEX)}",
        lambda r: f"http://localhost:{r.randrange(1000, 9999)}/v1/keys/{r.randrange(99)}",
        lambda r: f"page_token={text(r, 8, HEX)}&page=2",
        lambda r: f"s3://bucket-{text(r, 8, LOWER)}/keys/2024/11/{text(r, 12, HEX)}.json",
        lambda r: f"user%40example.com%2Fpath%20with%20key%20{r.randrange(99)}",
    ),
    "git": (
        lambda r: f"tree {text(r, 40, HEX)}\nparent {text(r, 40, HEX)}\nauthor Bob <b@x.y> 17000{text(r, 5, '0123456789')} +0100",
        lambda r: f"100644 blob {text(r, 40, HEX)}\tsrc/secret_keys.py",
        lambda r: f"{text(r, 40, HEX)} refs/heads/token-refresh-{r.randrange(99)}",
        lambda r: f"version https://git-lfs.github.com/spec/v1\noid sha256:{text(r, 64, HEX)}\nsize 1234",
        lambda r: f"+  secret_name: db-credentials-{r.randrange(99)}",
    ),
    "data": (
        lambda r: base64.b64encode(r.randbytes(200)).decode(),
        lambda r: base64.b64encode(f"An ordinary text number {r.randrange(9999)}, written in base64. ".encode() * 5).decode(),
        lambda r: hashlib.sha1(r.randbytes(8)).hexdigest(),
        lambda r: f"{text(r, 8, UPPER)}-{text(r, 4, UPPER)}-{text(r, 4, UPPER)} is the order number",
        lambda r: f"ISBN 978-{r.randrange(9)}-{text(r, 4, '0123456789')}-{text(r, 4, '0123456789')}-1, IBAN DE{text(r, 20, '0123456789')}",
        lambda r: json.dumps([round(r.uniform(-1, 1), 6) for _ in range(30)]),
        lambda r: f"ACGT{text(r, 80, 'ACGT')}",
        lambda r: f"MAC {':'.join(text(r, 2, HEX) for _ in range(6))} ip 10.0.{r.randrange(255)}.{r.randrange(255)}",
        lambda r: f"tokenizer.json: {{'{text(r, 4, LETTERS)}': {r.randrange(50000)}, 'key': {r.randrange(50000)}}}",
        lambda r: f"build {text(r, 12, HEX)} passed in {r.randrange(99)}.{r.randrange(99)}s; 12 passed, 2 failed",
    ),
    "commands and tables": (
        lambda r: f"openssl enc -aes-256-cbc -pbkdf2 -in a{r.randrange(9)} -out b",
        lambda r: f"mysql -u root -p shop_db{r.randrange(9)} < dump1.sql",
        lambda r: f"sshpass -f pw{r.randrange(9)}.txt ssh -p 2222 root@10.0.0.1",
        lambda r: f"htpasswd -c .htpasswd bob{r.randrange(9)}\nnet user bob{r.randrange(9)} /delete",
        lambda r: f"| Password | 8-64 characters |\n| Secret | Base64URL |\n| API key | v{r.randrange(9)}.2.0 |",
        lambda r: f"Set `password` to `true`, then rename `token` to `access_token{r.randrange(9)}`.",
        lambda r: f"const token = opts.token || 'anonymous';\nkey = key or \"unnamed-{r.randrange(9)}\"",
        lambda r: f'variable "db_password" {{\n  type = string\n  default = ""\n}}\nvariable "name{r.randrange(9)}" {{ default = "deployer-v2" }}',
        lambda r: f"localStorage.setItem('app:theme:v{r.randrange(9)}', 'dark-1'); const STORAGE_KEY = 'layout.v12';",
    ),
    "prose": (
        lambda r: "auth, session, token, password, secret and key are ordinary words",
        lambda r: f"The session key is rotated every {r.randrange(99)} days; Bearer authentication uses a token.",
        lambda r: f"Password must be at least {r.randrange(8, 20)} characters, with 1 digit and 1 symbol.",
        lambda r: f"the key is in row{r.randrange(9)}, the token was consumed at step{r.randrange(9)}",
        lambda r: "Your password is required. Forgot password? Password reset sent to b***@example.com",
        lambda r: f"A secret is stored under secret/data/app{r.randrange(9)}; see docs/keys.md",
        lambda r: "token limit exceeded: 128000 tokens (input 127,500 + output 500)",
    ),
}  # fmt: skip
"""How a harmless text of each kind is made."""


def harmless(seed: int = 20_261_129) -> Iterator[tuple[str, str]]:
    """The whole corpus, each text with its kind; the same seed gives the same."""
    random = Random(seed)
    for kind, makers in KINDS.items():
        for make in makers:
            for _ in range(4):
                yield kind, make(random)
