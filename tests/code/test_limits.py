"""Hostile files: they cost a bounded time, never the process, and stay searchable by lines."""

from pathlib import Path

import pytest

from treadle.code.languages import limits
from treadle.code.model import Reading
from treadle.code.parse.file import parse_file


@pytest.mark.parametrize(
    ("name", "unit"), [("a.js", b"{a:"), ("a.py", b"("), ("a.go", b"func("), ("a.js", b"`${")]
)
def test_deeply_nested_file_is_split_by_lines(tmp_path: Path, name: str, unit: bytes) -> None:
    """The first of these overflows the stack of the parser."""
    (tmp_path / name).write_bytes(b"\n".join([unit] * 200_000))
    parsed = parse_file(tmp_path, name)
    assert parsed.skipped is None
    assert parsed.reading is Reading.LINES
    assert parsed.items


def test_slow_parse_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("def f(): pass\n" * 10_000)
    monkeypatch.setattr(limits, "PARSE_SECONDS", 0.0)
    assert parse_file(tmp_path, "a.py").reading is Reading.LINES
    monkeypatch.undo()
    assert parse_file(tmp_path, "a.py").reading is Reading.PARSED


@pytest.mark.parametrize(
    ("name", "unit"),
    [("a.py", "class A: pass\n"), ("a.md", "# A\n\nb\n"), ("a.go", "type A int\n")],
)
def test_file_with_too_many_items_is_split_by_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, unit: str
) -> None:
    monkeypatch.setattr(limits, "MAX_ITEMS", 200)
    (tmp_path / name).write_text(unit * 200)
    parsed = parse_file(tmp_path, name)
    assert (parsed.reading, len(parsed.items) >= 200) == (Reading.PARSED, True)
    (tmp_path / name).write_text(unit * 201)
    parsed = parse_file(tmp_path, name)
    assert parsed.reading is Reading.LINES
    assert 0 < len(parsed.items) < 50


@pytest.mark.parametrize("name", ["a.yaml", "a.toml", "a.json", "go.mod", "a.md"])
def test_a_text_without_a_key_is_not_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("# nothing but a comment\n")
    assert parse_file(tmp_path, name).skipped is None


def test_brackets_that_close_are_not_nested() -> None:
    assert not limits.nested_too_deep(b"f(a[0], {1: 2});\n" * 100_000)
    assert limits.nested_too_deep(b"(" * 10_001 + b")" * 10_001)
