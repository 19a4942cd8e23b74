"""Secrets in shapes that passed an earlier version."""

import base64
import json

import pytest

from treadle.secrets import redact

BODY = "Zq8vT3nLw5XyK2bRj7MfP4cHd9SgA6eUQ1tVo0iNx_k"
PAIR = base64.b64encode(b"joe:Zq8vT3nLw5XyK2bR").decode()


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"https://api.telegram.org/bot123456789:AA{BODY[:33]}/getMe", BODY[:33]),
        (json.dumps({"auths": {"r.io": {"auth": PAIR}}}), PAIR),
        (json.dumps({"body": json.dumps({"auth": PAIR})}), PAIR),
        (json.dumps({"kty": "EC", "crv": "P-256", "d": BODY}), BODY),
        (json.dumps({"body": json.dumps({"kty": "OKP", "d": BODY})}), BODY),
        (f"assert token == '{BODY[:24]}'", BODY[:24]),
        (f"passwords: ['{BODY[:12]}', 'x']", BODY[:12]),
        (f"set password for 'bob' = '{BODY[:12]}'", BODY[:12]),
        (f"passphrase = {BODY[:12]}\n", BODY[:12]),
        (f"WARN invalid token '{BODY[:24]}' from 10.0.0.1", BODY[:24]),
        ("[pypi]\nusername = ci\npassword = summer3728\n", "summer3728"),
        (f"export VAULT_ROOT_TOKEN ?= {BODY[:24]}", BODY[:24]),
        (f"// client_secret: |\n//   {BODY[:20]}", BODY[:20]),
        (f"next=a%253Dsk-ant-api03-{BODY}%2Bsource%253Dcli", BODY),
        (f"cached under STAGING-npm_{BODY[:36].replace('_', 'a')}", BODY[:30]),
        (f'"type": "random_password", "attributes": {{"result": "{BODY[:20]}"}}', BODY[:20]),
        (f"wget --header='X-Auth-Key: {BODY[:12]}' https://a.b", BODY[:12]),
        (f"passcode: {BODY[:12]}\n", BODY[:12]),
        (f"role_id=r secret_id={BODY[:16]}", BODY[:16]),
        (f'"name": "session", "value": "{BODY[:32]}"', BODY[:32]),
        ('ganache -m "' + "zone walk violin voyage " * 2 + 'wine wave zoo zebra"', "violin voyage"),
        ('accounts: ["0x' + "e8f2bc84" * 8 + '"],', "e8f2bc84e8f2bc84"),
    ],
)
def test_secret_in_an_uncommon_shape_is_redacted(text: str, secret: str) -> None:
    assert secret not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"auth": "basicauthentication"}',
        '{"auth": "c29tZSB0ZXh0IHdpdGhvdXQgaXQ="}',
        '{"d": "M10 10 H 90 V 90 H 10 L 10 10"}',
        '{"d": "a short word"}',
        "see https://t.me/bot123456789 and robot12:AA",
        "checksum/secret: b7c8023564002e1ac9659f6a77f83a7fe57cb05d91809dfc487ea220e9a5c973",
        "ACa9b08297dbf5b14320b8bb4c14e6a60c (an account of Twilio)",
        "Pass `allow_imaginary=False` to filter them out.",
        "    ec.EllipticCurvePrivateKey,\n    ed448.Ed448PrivateKey,\n",
        "| `accessKey` | |\n| `ariaPosInSet2` | |\n",
        "from a import password, token\nfrom b2 import c, d\n",
        "id,password_hint\n1,Tiger4421\n",
        "npm:left-pad1@1.3.0 and mailto:bob99@example.com",
        'secret_id = "orders-database-2024"',
        '{"k": "a-name_of_something-longer"}',
        "const key = getItemAtIdx",
    ],
)
def test_harmless_lookalikes_stay(text: str) -> None:
    assert redact(text) == text
