import base64
import json
import string
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from treadle import secrets
from treadle.secrets import (
    Rule,
    Rules,
    find_suspects,
    redact,
    redact_counted,
    redact_named,
    redactor,
    register,
    use_rules,
)
from treadle.secrets.shapes import DETECTORS

ALPHANUMERIC = "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vWxYz"
KEYS = {
    "api-key": [
        f"sk-{ALPHANUMERIC}",
        f"sk-proj-{ALPHANUMERIC}_{ALPHANUMERIC}-x",
        f"sk-ant-api03-{ALPHANUMERIC}-{ALPHANUMERIC}",
        f"sk-or-v1-{'0123456789abcdef' * 4}",
        f"gsk_{ALPHANUMERIC}",
        f"xai-{ALPHANUMERIC}",
    ],
    "github-token": [f"ghp_{ALPHANUMERIC}A", f"github_pat_11{ALPHANUMERIC}_{ALPHANUMERIC}"],
    "gitlab-token": ["glpat-aB3dE5fG7hI9jK1lM2nO"],
    "slack-token": ["xoxb-" + f"123456789012-1234567890123-{ALPHANUMERIC}"],
    "google-key": [f"AIzaSy{ALPHANUMERIC[:33]}"],
    "huggingface-token": [f"hf_{ALPHANUMERIC}"],
    "stripe-key": ["sk_" + f"live_{ALPHANUMERIC}"],
    "npm-token": [f"npm_{ALPHANUMERIC}A"],
    "pypi-token": [f"pypi-AgEIcHlwaS5vcmc{ALPHANUMERIC * 2}"],
    "sendgrid-key": [f"SG.{ALPHANUMERIC[:22]}.{ALPHANUMERIC}aB3dE5fG"],
    "aws-key": ["AKIAIOSFODNN7EXAMPLE", "ASIAABCDEFGHIJKLMNOP"],
    "jwt": [f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{ALPHANUMERIC}"],
}
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,3F17\n\n"
    + f"{ALPHANUMERIC}{ALPHANUMERIC}\n" * 3
    + "-----END RSA PRIVATE KEY-----"
)


@pytest.mark.parametrize(
    ("kind", "key"), [(kind, key) for kind, keys in KEYS.items() for key in keys]
)
def test_keys_of_known_shape_are_redacted_anywhere(kind: str, key: str) -> None:
    marked = f"[redacted:{kind}]"

    assert redact(f"use {key}.") == f"use {marked}."
    assert redact(key) == marked
    assert redact(f'"{key}", \n({key})') == f'"{marked}", \n({marked})'
    inside = json.dumps({"content": json.dumps({"text": f"first\n{key}\ttext\u001b{key}"})})
    assert key not in redact(inside)
    assert json.loads(json.loads(redact(inside))["content"])["text"].count(marked) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [redacted:bearer]"),
        (
            '{"Authorization": "Bearer abc123def456"}',
            '{"Authorization": "Bearer [redacted:bearer]"}',
        ),
        (
            '{\\"authorization\\": \\"Bearer abc123def456\\"}',
            '{\\"authorization\\": \\"Bearer [redacted:bearer]\\"}',
        ),
        (f"curl -H 'X: Bearer {ALPHANUMERIC}'", "curl -H 'X: Bearer [redacted:bearer]'"),
        (
            f"authorization: Basic {base64.b64encode(b'user:word').decode()}",
            "authorization: Basic [redacted:basic]",
        ),
        (
            "postgres://root:hunter2@db.example/main?x=1",
            "postgres://root:[redacted:password]@db.example/main?x=1",
        ),
        ("redis://:hunter2@localhost:6379/0", "redis://:[redacted:password]@localhost:6379/0"),
        (f"OPENAI_API_KEY={ALPHANUMERIC}\nX=1", "OPENAI_API_KEY=[redacted:secret]\nX=1"),
        (f'token = "{ALPHANUMERIC[:24]}"', 'token = "[redacted:secret]"'),
        (f"?access_token={ALPHANUMERIC}&page=2", "?access_token=[redacted:secret]&page=2"),
        ("DB_PASSWORD=Summer2024\n", "DB_PASSWORD=[redacted:password]\n"),
        ('"password": "Tr0ub4dor&3"', '"password": "[redacted:password]"'),
        (
            'client_secret: "0123456789abcdef0123456789abcdef"',
            'client_secret: "[redacted:secret]"',
        ),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "aws_secret_access_key = [redacted:secret]",
        ),
        (f"a {PEM} b", "a [redacted:private-key] b"),
        (json.dumps({"k": PEM}), '{"k": "[redacted:private-key]"}'),
        (json.dumps({"k": PEM[:120]}), '{"k": "[redacted:private-key]"}'),
        (repr(json.dumps({"k": PEM[:120]})), '\'{"k": "[redacted:private-key]"}\''),
        (
            f"Authorization: Basic {base64.b64encode(b'user:words').decode().rstrip('=')}.",
            "Authorization: Basic [redacted:basic].",
        ),
    ],
)
def test_only_the_secret_in_a_text_is_redacted(text: str, expected: str) -> None:
    assert redact(text) == expected


ORDINARY = [
    "auth, session, token, password, secret and key are ordinary words",
    "The session key is rotated; Bearer authentication uses a token.",
    "Authorization: Bearer <your-token-here>",
    "token = tokens[i]",
    "token = getUser2FromCache(user)",
    "key = lambda item: item.request_id_2",
    "password = config.database.password2",
    'api_key = os.environ["OPENAI_API_KEY_2"]',
    "secret_token: Optional[SecretToken2] = None",
    'password = "${DB_PASSWORD_1}"',
    "private_key: PKCS7PrivateKeyTypes,",
    "keep_secret_for_24_hours: keep_secret_for_24_hours,",
    'cache_key = "src/treadle2/conversations/session_2024.py"',
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "key: 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    f"token {uuid.UUID(int=2**100 + 7)} and key={uuid.UUID(int=2**100 + 7)}",
    base64.b64encode(bytes(range(256))).decode(),
    f"data:image/png;base64,{base64.b64encode(bytes(range(200))).decode()}",
    '{"max_tokens": 4096, "token_budget": 16000, "total_tokens": 123456789}',
    "class='sk-circle-fade-dot-wrapper task-runner-0123456789abcdefghij'",
    "https://user:password@host.example and https://${USER}:${PASS}@host.example",
    "ssh://git@example.org:22/treadle@v1 and http://localhost:8080/v1",
    "call_9fKx2 toolu_01A09q90qw90lq917835lq9",
    "-----BEGIN PRIVATE KEY----- is how such a file begins",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
    "NOTAKIAABCDEFGHIJKLMNOP AKIAABCDEFGHIJKLMNOPQRS",
    '".vault_pass", ".s3cfg", ".boto"',
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_source_of_this_project_stays() -> None:
    for path in sorted(Path(secrets.__file__).parent.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert redact(text) == text, path


def test_registered_values_are_redacted_also_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redactor, "_registered", ())
    register('open "sesame" ü')
    register("plain-key")
    register("plain-key-longer")
    register("ollama")
    register("abc")

    assert redact("plain-key, plain-key-longer") == "[redacted:registered], [redacted:registered]"
    for text in ('open "sesame" ü', json.dumps({"a": 'open "sesame" ü'})):
        assert "sesame" not in redact(text)
    assert redact("abc runs ollama") == "abc runs ollama"


@given(st.binary(max_size=20), st.binary(max_size=20), st.booleans())
def test_registered_value_is_redacted_in_base64(
    before: bytes, after: bytes, url_safe: bool
) -> None:
    key = b"zzConfigured/Key99aQ4x7Lm2Wv"
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redactor, "_registered", ())
        register(key.decode())
        assert "[redacted:registered]" in redact(encode(before + key + after).decode())


def test_secret_in_nested_json_is_redacted_at_each_level() -> None:
    text = json.dumps({"api_key": ALPHANUMERIC})
    for _ in range(3):
        text = json.dumps({"arguments": text})
        assert ALPHANUMERIC not in redact(text)


PIECES = st.sampled_from(
    [
        *(key for keys in KEYS.values() for key in keys),
        PEM,
        "password=",
        '"',
        "\\",
        " ",
        "\n",
        "://a:",
    ]
)


@given(st.lists(PIECES | st.text(max_size=12), max_size=12).map("".join))
def test_redaction_is_idempotent(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@given(st.lists(PIECES | st.text(max_size=12), max_size=12).map("".join))
def test_json_stays_json_with_the_same_keys(text: str) -> None:
    message = json.dumps({"role": "user", "content": text, "last": [text, 1]})

    redacted = json.loads(redact(message))

    assert redacted.keys() == {"role", "content", "last"}
    assert redacted["last"][1] == 1


@pytest.mark.parametrize("before", ["\x1f0", "\n", "\t", "\\", "C:\\new", "\u2028"])
@pytest.mark.parametrize("key", [f"sk_live_{ALPHANUMERIC}", f"my_api_key_{ALPHANUMERIC}"])
def test_nested_json_stays_valid_after_redaction(before: str, key: str) -> None:
    text = json.dumps({"a": json.dumps([f"{before}{key}", 1])})

    redacted = redact(text)

    assert ALPHANUMERIC not in redacted
    assert json.loads(json.loads(redacted)["a"])[1] == 1


def unscreened(text: str) -> str:
    """Redaction that runs every detector on the whole text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redactor, "suspected", lambda text: [(0, len(text))])
        patch.setattr(redactor, "holds_base64", lambda *_: True)
        patch.setattr(
            redactor,
            "detectors_for",
            lambda _, windows: [(detector, windows) for detector in DETECTORS],
        )
        return redact(text)


NAMES = ["key", "api_key", "Token", "PASSWORD", "secret", "pwd", "Bearer", "basic", "Authorization"]
GLUE = [
    *(":", "=", ":=", "=>", "==", "::", " ", "    ", "\n", "\t", "\x1c", "\x85", "\xa0", "\u2003"),
    *('"', "'", "`", "\\", '\\"', "\\n", "\\u001b", "-", "_", ".", "@", "/", "://", "${", "(", ","),
]
VALUES = st.text("aB3dE5fG7hI9jK1lM2nO4-_./+=!", min_size=1, max_size=45) | st.text(
    "0123456789abcdef", min_size=1, max_size=40
)
LIKELY = st.lists(
    st.sampled_from([*(hint for detector in DETECTORS for hint in detector.hints), *NAMES])
    | st.sampled_from(GLUE)
    | st.sampled_from(
        ["author\u0131zation", "AUTHOR\u0130ZATION", "٣", "字", "\ud800", PEM[:90], "dXNlcjpw"]
    )
    | VALUES,
    min_size=2,
    max_size=8,
).map("".join)


@settings(max_examples=1_500, deadline=None)
@example("\ud800sk-glimt-00000000000000")
@example("\ud800" * 900 + " password = 'hunter2!xyz'")
@given(LIKELY)
def test_first_scan_misses_no_secret(text: str) -> None:
    assert redact(text) == unscreened(text)


@given(st.lists(LIKELY | st.text(max_size=20), max_size=6))
def test_scan_of_many_texts_finds_each_text_with_a_secret(texts: list[str]) -> None:
    found = find_suspects(texts)

    assert found == sorted(set(found))
    assert {place for place, text in enumerate(texts) if redact(text) != text} <= set(found)


def test_clean_text_is_fast() -> None:
    page = Path(secrets.__file__).parents[1] / "errors.py"
    text = page.read_text(encoding="utf-8")[:2_000]

    def seconds(clean: Callable[[str], str]) -> float:
        begin = time.process_time()
        for _ in range(50):
            clean(text)
        return time.process_time() - begin

    redact(text)
    assert min(seconds(redact) for _ in range(5)) * 3 < min(seconds(unscreened) for _ in range(5))


def test_redacted_secrets_are_counted_by_kind() -> None:
    text = f"{KEYS['api-key'][0]} and {KEYS['api-key'][1]}, DB_PASSWORD=Summer2024"

    cleaned, counts = redact_counted(text)

    assert counts == {"api-key": 2, "password": 1}
    assert redact_counted(cleaned) == (cleaned, {})


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("api_key", ALPHANUMERIC, "secret"),
        ("db.password", "Tr0ub4dor&3", "password"),
        ("http.request.header.authorization", "Bearer abc123def456", "bearer"),
        ("gen_ai.token.type", "input", None),
        ("idempotency_key", "9fceb02d0ae598e95dc970b74767f19372d61af8", None),
        ("session.name", "the secret garden", None),
        ("api_key", 'two "words" in it', None),
    ],
)
def test_attribute_name_decides_about_its_value(name: str, value: str, kind: str | None) -> None:
    cleaned, counts = redact_named(name, value)

    assert counts == ({kind: 1} if kind else {})
    assert ("[redacted:" in cleaned) == (kind is not None)


@pytest.fixture
def own_rules() -> Iterator[None]:
    use_rules(
        Rules(
            (Rule("staff", r"EMP-\d{4}"), Rule("card", r"\b\d{16}\b", "****")),
            allowed=(r"sk-demo-.*", "EMP-0000"),
        )
    )
    yield
    use_rules(Rules())


@pytest.mark.usefixtures("own_rules")
def test_user_rules_redact_more_and_exempt_texts() -> None:
    text = f"EMP-1234 EMP-0000 4111111111111111 sk-demo-{ALPHANUMERIC} {KEYS['api-key'][0]} \ud800"

    cleaned, counts = redact_counted(text)

    assert cleaned == (
        f"[redacted:staff] EMP-0000 **** sk-demo-{ALPHANUMERIC} [redacted:api-key] \ud800"
    )
    assert counts == {"staff": 1, "card": 1, "api-key": 1}
    assert redact_counted(cleaned) == (cleaned, {})
    assert find_suspects(["a", "EMP-1234"]) == [0, 1]


@pytest.mark.usefixtures("own_rules")
@given(st.recursive(
    st.none() | st.integers() | st.sampled_from(["EMP-1234", 'a"EMP-1234\\', 4111111111111111]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
    | inner.map(json.dumps),
    max_leaves=6,
))  # fmt: skip
def test_user_rules_keep_json_valid(value: object) -> None:
    text = json.dumps({"value": value})

    cleaned = redact(text)

    assert json.loads(cleaned).keys() == {"value"}
    assert "EMP-1234" not in cleaned


def test_invalid_pattern_is_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match=r"invalid perl operator|invalid"):
        Rule("ill", r"(?<=a)b")
    with pytest.raises(ValueError, match="missing"):
        Rules(allowed=("(",))


ADVERSARIAL = [
    "key", "key=", 'token="', "password", "password=", "-----BEGIN PRIVATE KEY-----", "eyJ",
    "eyJaaaaaaaa.", "://a:", "://" + "a" * 257, "sk-", "sk-1 ", "bearer ", "authorization: ", "\\n",
    "bearer    ", "token    =    ", "SG.", "a1", "-", " ", "=", "://:",
    "-----BEGIN PRIVATE KEY-----\n",
]  # fmt: skip


@pytest.mark.parametrize("piece", ADVERSARIAL)
@pytest.mark.parametrize("first", ["", "key=", "-----BEGIN PRIVATE KEY-----"])
def test_time_is_linear_in_the_text(piece: str, first: str) -> None:
    def seconds(length: int) -> float:
        text = first + piece * (length // len(piece))
        begin = time.process_time()
        redact(text)
        return time.process_time() - begin

    # Sixteen times the text; a quadratic pattern would take 256 times as long.
    small = min(seconds(8_000) for _ in range(3))
    assert seconds(128_000) < 60 * small + 0.2


@pytest.mark.slow
@pytest.mark.parametrize("piece", ADVERSARIAL)
def test_adversarial_megabyte_is_redacted(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))

    assert set(redact(text)) <= set(text) | set(string.printable)
