"""Texts that make patterns and parsers slow: each is read in its time, or split by lines.

A text that never comes to an end fails by the time limit of the test.
"""

from pathlib import Path

import pytest

from treadle.code.languages import LANGUAGES, OUTLINES
from treadle.code.parse.file import parse_file

SIZE = 100_000
TEXTS = {
    "blanks before a word": b"# a" + b" " * SIZE + b"x",
    "blanks in a receiver": b"package a\nfunc (" + b" " * SIZE + b"s T) f() {}",
    "blanks in a type": b"def f(a: X" + b" " * SIZE + b"| Y): ...",
    "blanks in a key": b"key" + b" " * SIZE + b"x",
    "blanks in a table": b"[ a" + b" " * SIZE + b"x",
    "comments without an end": b"/*\n" * (SIZE // 3),
    "conditions without an end": b"#ifdef __cplusplus\n" * (SIZE // 19),
    "parted dots in a macro": b"m!{" + (b".  " * 38 + b"(a(b))\n") * (SIZE // 130) + b"}",
    "brackets in one line": b"][" * (SIZE // 2),
    "headings": b"# a\n## b\n### c\n" * (SIZE // 30),
}
PATHS = [*sorted(f"a{language.extensions[0]}" for language in (*LANGUAGES, *OUTLINES)), "a.h"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("path", ["a.go", "a.h"])
def test_hostile_texts_are_parsed_in_time(tmp_path: Path, path: str, text: str) -> None:
    (tmp_path / path).write_bytes(TEXTS[text] + b"\nx = 1" * 400)  # long lines alone are minified
    parsed = parse_file(tmp_path, path)
    assert parsed.skipped is None
    assert parsed.items or path.endswith(".ipynb")  # such a text is not a notebook with cells


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("path", PATHS)
def test_every_language_parses_hostile_texts_in_time(tmp_path: Path, path: str, text: str) -> None:
    test_hostile_texts_are_parsed_in_time(tmp_path, path, text)
