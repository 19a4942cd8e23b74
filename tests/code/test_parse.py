"""Files as they come: hostile bytes, odd encodings, what is skipped and why."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.code.files.walk import MAX_FILE_BYTES, content_hash
from treadle.code.languages import LANGUAGES
from treadle.code.parse.file import ParsedFile, parse_file


def parse(root: Path, name: str, data: bytes) -> ParsedFile:
    (root / name).write_bytes(data)
    return parse_file(root, name)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.py", b"x = 1\0", "binary"),
        ("a.bin", b"\x7fELF\0\0", "binary"),
        ("uv.lock", b"a = 1\n", "lock file"),
        ("package-lock.json", b"{}", "lock file"),
        ("a.min.js", b"x", "minified or generated"),
        ("a.js", b"x=1;" * 10_000, "minified or generated"),
        ("a.py", b"x" * (MAX_FILE_BYTES + 1), "larger than 2 MB"),
        ("a.txt", b"word\n" * 120_000, "text without a grammar, larger than 500 kB"),
    ],
)
def test_file_is_skipped_with_a_reason(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    parsed = parse(tmp_path, name, data)
    assert (parsed.skipped, tuple(parsed.items)) == (reason, ())


def test_unreadable_file_is_skipped(tmp_path: Path) -> None:
    assert parse_file(tmp_path, "gone.py").skipped == "unreadable: No such file or directory"
    (tmp_path / "link.py").symlink_to("gone.py")
    assert str(parse_file(tmp_path, "link.py").skipped).startswith("unreadable")
    os.mkfifo(tmp_path / "pipe.py")
    assert parse_file(tmp_path, "pipe.py").skipped == "unreadable: Not a regular file"


def test_empty_file_is_parsed(tmp_path: Path) -> None:
    assert parse(tmp_path, "empty.txt", b"").items == []
    (module,) = parse(tmp_path, "empty.py", b"").items
    assert (module.item.start_byte, module.item.end_byte, module.item.start_line) == (0, 0, 1)


def test_crlf_bom_and_latin_1_keep_their_bytes(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfdef one():\r\n    return 'caf\xe9'\r\n\r\ndef two():\r\n    pass\r\n"
    parsed = parse(tmp_path, "a.py", data)
    one, two = parsed.items[0].item, parsed.items[1].item
    assert data[one.start_byte : one.end_byte] == b"def one():\r\n    return 'caf\xe9'"
    assert (two.start_line, two.end_line) == (4, 5)
    assert "café" in parsed.items[0].terms
    assert parsed.content_hash == content_hash(data)
    assert parsed.lines == 5


def test_line_of_100_000_characters_is_parsed(tmp_path: Path) -> None:
    text = "# " + "word " * 20_000 + "\n" + "\n".join(f"x{n} = {n}" for n in range(200))
    assert {"x1", "x199"} <= {
        entry.item.name for entry in parse(tmp_path, "a.py", text.encode()).items
    }
    chunks = parse(tmp_path, "a.md", text.encode()).items
    assert all(entry.item.end_byte - entry.item.start_byte <= 8_000 for entry in chunks)


@pytest.mark.parametrize(
    ("name", "opening", "closing"),
    [
        ("a.py", b"(", b")"),
        ("a.py", b"x[", b"]"),
        ("a.rs", b"mod a { ", b"}"),
        ("a.ts", b"namespace a { ", b"}"),
        ("a.js", b"function a() { ", b"}"),
        ("a.go", b"{", b"}"),
        ("a.java", b"class A { ", b"}"),
        ("a.c", b"{", b"}"),
        ("a.cpp", b"namespace a { ", b"}"),
        ("a.rs", b"m! { ", b"}"),
    ],
)
def test_nesting_of_10_000_levels_is_parsed(
    tmp_path: Path, name: str, opening: bytes, closing: bytes
) -> None:
    parsed = parse(
        tmp_path, name, b"\n".join([opening] * 10_000) + b"\n" + b"\n".join([closing] * 10_000)
    )
    assert parsed.skipped is None
    assert len(parsed.items) < 2_000


def test_deep_python_blocks_are_parsed(tmp_path: Path) -> None:
    data = "\n".join(" " * depth + "class A:" for depth in range(1_000))
    assert len(parse(tmp_path, "a.py", data.encode()).items) < 100


def test_many_siblings_with_comments_are_parsed(tmp_path: Path) -> None:
    parsed = parse(tmp_path, "a.py", b"# c\ndef f(): pass\n" * 16_000)
    assert len(parsed.items) == 16_001
    assert parsed.items[15_999].item.start_line == 31_999


@settings(max_examples=60, deadline=None)
@given(
    data=st.binary(max_size=400),
    suffix=st.sampled_from([".md", *(entry.extensions[0] for entry in LANGUAGES)]),
)
def test_any_bytes_give_ranges_inside_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str
) -> None:
    root = tmp_path_factory.mktemp("any")
    check_ranges(parse(root, "a" + suffix, data), data)


words = st.sampled_from(
    [
        "def f():",
        "class A:",
        "fn f() {",
        "}",
        "{",
        "impl X",
        "# c",
        "// c",
        "/*",
        "*/",
        '"""',
        "\n",
        "\n\n",
        "    ",
        "func (s S) M()",
        "@d",
        "#[a]",
        "é",
        "\r\n",
        "export ",
        "const x = () =>",
        "(",
    ]
)


@settings(max_examples=100, deadline=None)
@given(
    source=st.lists(words, max_size=40).map(" ".join),
    suffix=st.sampled_from([entry.extensions[0] for entry in LANGUAGES]),
)
def test_any_code_gives_ranges_inside_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, source: str, suffix: str
) -> None:
    root = tmp_path_factory.mktemp("any")
    data = source.encode()
    check_ranges(parse(root, "a" + suffix, data), data)


def check_ranges(parsed: ParsedFile, data: bytes) -> None:
    for place, entry in enumerate(parsed.items):
        item = entry.item
        assert 0 <= item.start_byte <= item.end_byte <= len(data)
        assert 0 <= item.signature_start <= item.signature_end <= len(data)
        assert 1 <= item.start_line <= item.end_line <= max(1, parsed.lines)
        assert data[: item.start_byte].count(b"\n") + 1 == item.start_line
        if item.parent is not None:
            parent = parsed.items[item.parent].item
            assert item.parent < place
            assert parent.start_byte <= item.start_byte <= item.end_byte <= parent.end_byte
