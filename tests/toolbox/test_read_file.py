import json
import os
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.toolbox.repository import Repository
from treadle.code import CodeIndex
from treadle.code.snippets import Snippet, parse_snippets
from treadle.events.types import ErrorKind, ToolCallCompleted
from treadle.tokens import estimate


def only_snippet(result: dict[str, str]) -> Snippet:
    (snippet,) = parse_snippets(result["snippet"])
    return snippet


def test_whole_file_is_returned_with_its_size_and_exact_bytes(repository: Repository) -> None:
    path = repository.write("src/a.py", "first\nsecond\n</code>\nlast")
    result = repository.ok("read_file", path="src/a.py")
    assert result == {
        "ok": True,
        "type": "file",
        "v": 1,
        "file": "src/a.py",
        "lines": "1-4",
        "total_lines": 4,
        "total_bytes": 25,
        "content_hash": blake2b(path.read_bytes(), digest_size=32).hexdigest(),
        "snippet": f'<code="{path}" #0:25>\nfirst\nsecond\n</code>\nlast\n</code>',
    }


def test_requested_lines_are_returned_with_their_byte_range(repository: Repository) -> None:
    repository.write("a.txt", "one\ntwo\r\nthree\nfour\n")
    result = repository.ok("read_file", path="a.txt", start_line=2, end_line=3)
    snippet = only_snippet(result)
    assert (snippet.start, snippet.end, snippet.content) == (4, 15, "two\r\nthree\n")
    assert (result["lines"], result["total_lines"]) == ("2-3", 4)


def test_end_beyond_the_file_is_limited_to_the_file(repository: Repository) -> None:
    repository.write("a.txt", "one\ntwo")
    result = repository.ok("read_file", path="a.txt", start_line=2, end_line=99)
    assert only_snippet(result).content == "two"
    assert result["lines"] == "2-2"


def test_empty_file_has_an_empty_snippet(repository: Repository) -> None:
    repository.write("a.txt", "")
    result = repository.ok("read_file", path="a.txt")
    assert (result["lines"], result["total_lines"], only_snippet(result).content) == ("none", 0, "")


def test_omitted_lines_are_reported_with_the_next_call(repository: Repository) -> None:
    repository.write("a.py", "".join(f"value_{n} = {n}\n" for n in range(2000)))
    collected, start = "", 1
    for _ in range(100):
        result = repository.ok("read_file", path="a.py", start_line=start, max_tokens=3000)
        collected += only_snippet(result).content
        if "more" not in result:
            break
        start = int(result["lines"].split("-")[1]) + 1
        assert f"start_line {start} " in result["more"]
    assert collected == (repository.root / "a.py").read_text()


def test_a_line_that_is_too_long_is_cut_between_characters(repository: Repository) -> None:
    repository.write("min.js", "é" * 50_000 + "\nx\n")
    result = repository.ok("read_file", path="min.js", max_tokens=500)
    content = only_snippet(result).content
    assert 0 < len(content) < 50_000
    assert set(content) == {"é"}
    assert result["more"].startswith("Line 1 is truncated")


def test_a_byte_order_mark_is_not_shown(repository: Repository) -> None:
    repository.write("a.cs", b"\xef\xbb\xbfusing System;\r\n")
    snippet = only_snippet(repository.ok("read_file", path="a.cs"))
    assert (snippet.start, snippet.content) == (3, "using System;\r\n")


def test_invalid_byte_is_shown_as_one_character_and_reported(repository: Repository) -> None:
    repository.write("latin.txt", b"caf\xe9\nplain\n")
    result = repository.ok("read_file", path="latin.txt")
    assert only_snippet(result).content == "caf?\nplain\n"
    assert "not UTF-8" in result["note"]
    assert "note" not in repository.ok("read_file", path="latin.txt", start_line=2)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"\x7fELF\0\0\0", "binary"),
        ("text".encode("utf-16"), "utf-16"),
        ("text".encode("utf-32"), "utf-32"),
        ("text".encode("utf-16-le"), "binary"),
    ],
)
def test_file_that_is_not_text_is_refused(
    repository: Repository, content: bytes, word: str
) -> None:
    repository.write("blob", content)
    error = repository.failed("read_file", path="blob").error
    assert error.kind is ErrorKind.UNAVAILABLE
    assert word in error.message


def test_start_beyond_the_file_is_refused_with_the_number_of_lines(repository: Repository) -> None:
    repository.write("a.txt", "one\ntwo\n")
    error = repository.failed("read_file", path="a.txt", start_line=3).error
    assert (error.kind, error.field) == (ErrorKind.VALIDATION, "start_line")
    assert "only 2 lines" in error.message


def test_an_end_before_the_start_is_refused(repository: Repository) -> None:
    repository.write("a.txt", "one\n")
    error = repository.failed("read_file", path="a.txt", start_line=3, end_line=2).error
    assert (error.kind, error.field) == (ErrorKind.VALIDATION, "end_line")


def test_missing_file_is_refused_with_the_nearest_paths(repository: Repository) -> None:
    repository.write("src/session/history.py", "x = 1\n")
    error = repository.failed("read_file", path="src/history.py").error
    assert error.kind is ErrorKind.NOT_FOUND
    assert "src/session/history.py" in (error.hint or "")


def test_folder_is_refused_with_the_name_of_the_right_tool(repository: Repository) -> None:
    error = repository.failed("read_file", path=".").error
    assert (error.kind, error.received) == (ErrorKind.VALIDATION, "a folder")
    assert "list_dir" in (error.hint or "")


@pytest.mark.parametrize("name", [".env", "tls/server.key", ".git/config", "../outside", "link"])
def test_secrets_and_paths_outside_the_root_are_refused(repository: Repository, name: str) -> None:
    (repository.root / "link").symlink_to(repository.root.parent)
    error = repository.failed("read_file", path=name).error
    outside = name in {"../outside", "link"}
    assert error.kind is (ErrorKind.PERMISSION if outside else ErrorKind.DENIED)
    assert error.hint


def test_a_root_that_is_a_link_is_read_by_either_name(tmp_path: Path) -> None:
    root, link = tmp_path / "root", tmp_path / "link"
    root.mkdir()
    link.symlink_to(root)
    with CodeIndex.open(link, cache_dir=tmp_path / "cache") as index:
        tree = Repository(link, index)
        tree.write("a.py", "def found() -> None: ...\n")
        for name in ("a.py", str(link / "a.py"), str(root / "a.py")):
            result = tree.ok("read_file", path=name)
            assert (result["file"], only_snippet(result).path) == ("a.py", str(root / "a.py"))
        context = tree.ok("request_code_context", token_budget=2000, hint="found")["context"]
        assert only_snippet(context[0]).path == str(root / "a.py")


def test_a_pipe_is_not_waited_for(repository: Repository) -> None:
    os.mkfifo(repository.root / "pipe")
    assert repository.failed("read_file", path="pipe").error.kind is ErrorKind.UNAVAILABLE


def test_large_file_is_read_from_any_line(repository: Repository) -> None:
    line = "x" * 99 + "\n"
    repository.write("big.log", line * 60_000 + "the end\n")
    result = repository.ok("read_file", path="big.log", start_line=60_001)
    assert only_snippet(result).content == "the end\n"
    assert (result["total_lines"], result["total_bytes"]) == (60_001, 6_000_008)


def test_a_person_sees_one_line(repository: Repository) -> None:
    repository.write("a.py", "x = 1\ny = 2\n")
    outcome = repository.call("read_file", path="a.py", end_line=1)
    assert isinstance(outcome, ToolCallCompleted)
    assert outcome.ui.summary == "a.py: lines 1-1 of 2"


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    content=st.lists(
        st.sampled_from([b"def f():\n", b"\r\n", b"\n", b"\xff", b"x" * 3000, "ü€😀".encode()])
    ).map(b"".join),
    start=st.integers(1, 5),
    max_tokens=st.integers(200, 1500),
)
def test_snippet_has_exact_bytes_within_the_budget(
    repository: Repository, content: bytes, start: int, max_tokens: int
) -> None:
    path: Path = repository.write("f", content)
    lines = content.count(b"\n") + (bool(content) and not content.endswith(b"\n"))
    if start > max(lines, 1):
        return
    outcome = repository.call("read_file", path="f", start_line=start, max_tokens=max_tokens)
    assert isinstance(outcome, ToolCallCompleted)
    assert estimate(outcome.content) <= max_tokens
    result = json.loads(outcome.content)
    if "encoding" in result:  # it reads as text in another encoding than UTF-8
        assert result["snippet"] == ""
        return
    snippet = only_snippet(result)
    there = path.read_bytes()[snippet.start : snippet.end]
    assert len(snippet.content.encode()) == len(there)
    assert snippet.content == there.decode("utf-8", "surrogateescape").translate(
        dict.fromkeys(range(0xDC80, 0xDD00), "?")
    )
    assert ("more" in result) == (snippet.end < len(content))


JAPANESE = '// 設定を読み込む関数です。\nchar *a = "予定表";\nint b;\n'


@pytest.mark.parametrize(
    ("codec", "name"),
    [("cp932", "Shift_JIS (cp932)"), ("euc_jp", "EUC-JP"), ("iso2022_jp", "ISO-2022-JP")],
)
def test_a_file_in_another_encoding_is_read_as_its_text(
    repository: Repository, codec: str, name: str
) -> None:
    (repository.root / "a.c").write_bytes(JAPANESE.encode(codec))
    read = repository.ok("read_file", path="a.c", start_line=1, end_line=2)
    assert read["text"] == "".join(JAPANESE.splitlines(keepends=True)[:2])
    assert read["encoding"] == name
    assert read["snippet"] == ""
    assert "`replace` or `lines`" in read["note"]
    seen = repository.ok("get_file_metadata", path="a.c")
    assert seen["encoding"] == codec
