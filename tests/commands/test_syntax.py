"""Compares the parser with bash: the same words reach the same programs, and no others run."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.commands.syntax import NotUnderstoodError, Script, parse

BASH = shutil.which("bash")
STUBS = ("p", "q", "r", "ls")
_STUB = """#!/bin/sh
separator=$(printf '\\001')
call=${0##*/}
for word; do call=$call$separator$word; done
printf '%s\\002' "$call" >> "$CALLS"
"""
"""One write for each call, since the programs of a pipeline write at the same time."""

pytestmark = pytest.mark.skipif(BASH is None, reason="needs bash")


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with programs that only record their words."""
    folder = tmp_path_factory.mktemp("stubs")
    for name in STUBS:
        (folder / name).write_text(_STUB)
        (folder / name).chmod(0o755)
    return folder


def calls(stubs: Path, text: str) -> list[tuple[str, ...]]:
    """The programs that bash starts for `text`, with their words, in any order."""
    folder = stubs / "work"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "d").mkdir(parents=True)
    (folder / "b.c").write_text("")
    record = stubs / "calls"
    record.write_bytes(b"")
    assert BASH is not None
    subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", f"{text}\nwait"],
        cwd=folder,
        env={"PATH": str(stubs), "CALLS": str(record), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    entries = record.read_bytes().decode("utf-8", "surrogateescape").split("\2")[:-1]
    return sorted(tuple(entry.split("\1")) for entry in entries)


def understood(text: str) -> Script | None:
    try:
        return parse(text)
    except (NotUnderstoodError, ValueError):
        return None


ATOMS = [
    "p", "q", "r", "ls", " ", " ", " ", ";", "&&", "||", "|", "|&", "&", "\n", "(", ")", "{ ",
    "; }", "'", '"', "\\", "$", "`", "$(", "x", "-o", "#", ">", ">>", "<", "2>&1", "&>", ">|",
    "<<", "<<E\n", "\nE\n", "<<<", "<(", ">(", "*", "?", "[b]", "b.c", "~", "=", "a=1", "{b,c}",
    "!", "$'", "$x", "${x}", "\\\n", "\r", "\xa0", "'", '\\"', "cd d", "if ", "then ", "fi",
    "time ", "0", "1", "é",
]  # fmt: skip

scripts = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=14).map("".join)


@settings(max_examples=150, deadline=None)
@given(text=scripts)
def test_accepted_text_starts_only_the_programs_that_the_parser_found(
    stubs: Path, text: str
) -> None:
    script = understood(text)
    if script is None:
        return
    found = {
        word for each in script.commands for word in each.texts[: 1 + (each.texts[0] == "time")]
    }
    ran = calls(stubs, script.rendered)
    assert {words[0] for words in ran} <= found, (text, script.rendered)
    assert script.rendered == parse(script.rendered).rendered


@settings(max_examples=150, deadline=None)
@given(text=scripts)
def test_accepted_text_means_what_bash_understands(stubs: Path, text: str) -> None:
    script = understood(text)
    if script is None:
        return
    assert calls(stubs, script.rendered) == calls(stubs, text), (text, script.rendered)


@pytest.mark.parametrize(
    "text",
    [
        "p a 'b c' d\"e f\"g \\; h",
        "p 'a' > out && q < out",
        "p a | q b |& r c",
        "(p; q) && { r; ls; }",
        "p a &\nq b\n# comment\nr",
        "cd d && p *",
        "p * b.? [b]* '*'",
        'p \'\' "" "a\\"b\\$c" "foo$"',
        "! p || q",
        "p a=b ~ '{a,b}' {} 2>&1 >/dev/null",
        "> out p a; q <<< 'x y'",
        "p | q > out | r",
        "p && q > out",
        "\\if p; time q; time -p q; 'time' q | r",
    ],
)
def test_each_accepted_form_means_what_bash_understands(stubs: Path, text: str) -> None:
    script = understood(text)
    if "~" in text:
        assert script is None
        return
    assert script is not None
    assert calls(stubs, script.rendered) == calls(stubs, text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("p $(q)", "runs a command to build a word"),
        ("p `q`", "runs a command to build a word"),
        ("p <(q)", "runs a command in place of a file"),
        ("p $x", "variable"),
        ("p {a,b}", "brace expansion"),
        ("p <<E\nx\nE", "here-document"),
        ("p $'a'", "string"),
        ("p \\\n q", "continues a line"),
        ("p\rq", "control character"),
        ("p \u202eq", "invisible character"),
        ("p ~/x", "home folder"),
        ("p 'a", "cannot parse"),
        ("f() { p; }", "defines a function"),
        ("export A=1", "changes variables"),
        ("time a=1 p", "sets a variable"),
        ("p; then", "a word of the shell"),
        ("p; }", "a word of the shell"),
        ("\\ p", "is not understood"),
        ("* a", "pattern in place of a program"),
        ("p " + "x" * 20_001, "longer than"),
        ("(" * 60 + "p" + ")" * 60, ""),
    ],
)
def test_refusal_names_the_part(text: str, reason: str) -> None:
    with pytest.raises(NotUnderstoodError) as caught:
        parse(text)
    assert reason in caught.value.reason


def test_parser_finds_no_program_in_an_empty_text() -> None:
    with pytest.raises(ValueError, match="empty"):
        parse(" \n")
