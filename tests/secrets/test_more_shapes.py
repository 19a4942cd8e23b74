"""Secrets in shapes that an attack on the product found to pass."""

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
    ],
)
def test_a_secret_in_an_uncommon_shape_is_taken_out(text: str, secret: str) -> None:
    assert secret not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"auth": "basicauthentication"}',
        '{"auth": "c29tZSB0ZXh0IHdpdGhvdXQgaXQ="}',
        '{"d": "M10 10 H 90 V 90 H 10 L 10 10"}',
        '{"d": "a short word"}',
        "see https://t.me/bot123456789 and robot12:AA",
    ],
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert redact(text) == text
