"""Redaction reaches its goals on a corpus that each seed generates."""

import pytest

from scripts.write_redaction_figures import PAGE, with_figures
from tests.secrets.measurement import measure
from treadle.secrets import redact


@pytest.mark.parametrize("seed", [20_261_129, 7])
def test_redaction_finds_planted_secrets_and_leaves_harmless_texts(seed: int) -> None:
    figures = measure(seed)

    assert len(figures.vendors) >= 60
    assert sum(total for total, _ in figures.vendors.values()) >= 375
    assert sum(total for total, _ in figures.harmless.values()) >= 400
    assert figures.recall >= 0.95
    assert figures.false_positives <= 0.01
    for family, (total, gone) in (*figures.vendors.items(), *figures.assigned.items()):
        assert gone >= total * 0.8, family


def test_documented_figures_are_current() -> None:
    page = PAGE.read_text("utf-8")

    assert with_figures(page) == page, "run scripts/write_redaction_figures.py"


@pytest.mark.parametrize(
    "text",
    [
        "openssl enc -aes-256-cbc -pbkdf2 -in a -out b",
        "mysql -u root -p shop_db2 < dump1.sql",
        "sshpass -f pw1.txt ssh -p 2222 root@10.0.0.1",
        "htpasswd -c .htpasswd bob1",
        "| Secret | Base64URL |\n| Password | 8-64 characters |",
    ],
)
def test_options_and_table_cells_without_a_password_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "keyring.set_password('service1', 'user1', password)",
        '{"testing.iconPassed": "#5DE4c7", "pskcxml": "application/pskc+xml"}',
        '("EXPASS", "*EXPORT", "EXPROF")',
        "passed to ``MarkdownIt(renderer_cls=...)`` as it is",
        'MovedAttribute("HTTPPasswordMgr", "urllib2")',
        "this.key = ++$c7afcf057887556c$var$KEY;",
        "see https://REDACTED:REDACTED@www.example.com",
        "add an option for keeping user/pass maybe?",
        "arn:aws:secretsmanager:eu-west-1:151700963480:secret:prod/db-wgf4Tw",
    ],
)
def test_code_of_libraries_stays(text: str) -> None:
    assert redact(text) == text


def test_next_name_is_not_the_value_of_an_empty_setting() -> None:
    text = "-STORE_PASSWORD=\n+STORE_PASSWORD=Tiger7712!x\n"

    assert redact(text) == "-STORE_PASSWORD=\n+STORE_PASSWORD=[redacted:password]\n"
