"""The prose check finds forbidden words. `make check` runs it on the project."""

import pytest

from scripts.check_prose import Finding, findings, report

FOUND = Finding("docs/page.md", 3, "told", "report")


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("The model is told why.", "told"),
        ("So were three more.", "So were"),
        ("It waits. Nor does it end.", "Nor does"),
        ("Of what waits, all is written.", "Of what "),
        ("The root is no repository.", "is no repository"),
        ("Built early, so that who asks finds it.", "who asks"),
    ],
)
def test_forbidden_prose_is_found_in_pages_and_modules(sentence: str, found: str) -> None:
    for path, text in (
        ("a.md", sentence),
        ("src/a.py", f"# {sentence}\n"),
        ("tests/a.py", f"# {sentence}\n"),
        ("tests/a.py", f'"""{sentence}"""\n'),
        ("web/src/a.ts", f"/** {sentence} */\n"),
        ("src/a.py", f'"""{sentence}"""\n'),
        ("src/a.py", f'raise ValueError(f"{{name}}: {sentence}")\n'),
    ):
        assert [each.found for each in findings(path, text)] == [found]


@pytest.mark.parametrize(
    "sentence",
    [
        "There is no repository.",
        "It is no longer read.",
        "The token stands for a word.",
        "I'll wait.",
        "Solaris is supported.",
        "The key `told` is read.",
    ],
)
def test_plain_prose_passes(sentence: str) -> None:
    assert not list(findings("a.md", sentence))


def test_names_of_tests_are_prose() -> None:
    found = findings("tests/a.py", "def test_it_is_told() -> None: ...\n")
    assert [each.found for each in found] == ["told"]


def test_code_is_not_prose() -> None:
    assert not list(findings("tests/a.py", "raise ValueError('it was told why')\n"))
    assert not list(findings("a.md", "```\nit is told\n```\n"))
    assert not list(findings("src/a.py", "told = stands('tell')\n"))


def test_a_finding_is_reported_with_its_line() -> None:
    assert [each.line for each in findings("a.md", "One.\n\nIt is told.\n")] == [3]


def test_an_unchecked_path_may_not_get_more_findings() -> None:
    assert report([FOUND], {"docs": 1}) == []
    assert report([FOUND], {"docs": 0})[-1] == "docs has 1 findings, more than its 0."


def test_a_checked_path_may_not_have_findings() -> None:
    assert report([FOUND], {"src": 5}) == [str(FOUND)]


def test_an_entry_that_can_be_lowered_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([FOUND], {"docs": 2}) == []
    assert "lower its entry from 2" in capsys.readouterr().out
