import hashlib
import os

import pytest

from tests.toolbox.repository import Repository
from treadle.events.types import ErrorKind, ToolCallCompleted


def test_a_source_file_is_described(repository: Repository) -> None:
    content = "def one() -> int:\n    return 1\n\n\ndef two() -> int:\n    return 2\n"
    path = repository.write("src/a.py", content)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert repository.ok("get_file_metadata", path="src/a.py") == {
        "ok": True,
        "type": "file_metadata",
        "v": 1,
        "file": "src/a.py",
        "exists": True,
        "size": len(content),
        "lines": 6,
        "modified": "2001-09-09T01:46:40+00:00",
        "content_hash": hashlib.blake2b(content.encode(), digest_size=32).hexdigest(),
        "language": "python",
        "items": 3,  # the module and its functions
        "encoding": "utf-8",
        "line_ends": "lf",
    }


@pytest.mark.parametrize(
    ("content", "encoding", "line_ends", "lines"),
    [
        (b"", "utf-8", "none", 0),
        (b"one", "utf-8", "none", 1),
        (b"a\r\nb\r\n", "utf-8", "crlf", 2),
        (b"a\r\nb\n", "utf-8", "mixed", 2),
        (b"\xef\xbb\xbfa\n", "utf-8 with byte order mark", "lf", 1),
        (b"caf\xe9\n", "not utf-8", "lf", 1),
        (b"a\n\xc3", "not utf-8", "lf", 2),
        (b"\0\1\n", "binary", None, None),
        (b"\xff\xfea\0\n\0", "utf-16", None, None),
        (b"\xff\xfe\0\0a\0\0\0", "utf-32", None, None),
        (b"x" * (1 << 18) + b"\n" + b"y" * 10, "utf-8", "lf", 2),
        (b"x" * ((1 << 18) - 1) + b"\r\n", "utf-8", "crlf", 1),
        (b"x" * ((1 << 18) - 1) + "é\n".encode(), "utf-8", "lf", 1),
    ],
)
def test_encoding_and_line_endings_are_reported(
    repository: Repository,
    content: bytes,
    encoding: str,
    line_ends: str | None,
    lines: int | None,
) -> None:
    repository.write("f", content)
    result = repository.ok("get_file_metadata", path="f")
    assert result["encoding"] == encoding
    assert result.get("line_ends") == line_ends
    assert result.get("lines") == lines
    assert result["size"] == len(content)


def test_missing_file_lists_the_nearest_paths(repository: Repository) -> None:
    repository.write("src/events/bus.py", "x = 1\n")
    result = repository.ok("get_file_metadata", path="src/bus.py")
    assert (result["exists"], result["nearest"]) == (False, ["src/events/bus.py"])
    assert "size" not in result


def test_secrets_and_folders_are_refused(repository: Repository) -> None:
    repository.write(".env", "KEY=1\n")
    assert repository.failed("get_file_metadata", path=".env").error.kind is ErrorKind.DENIED
    assert repository.failed("get_file_metadata", path=".").error.kind is ErrorKind.VALIDATION


def test_a_person_sees_one_line(repository: Repository) -> None:
    repository.write("a.py", "x = 1\n")
    outcome = repository.call("get_file_metadata", path="a.py")
    assert isinstance(outcome, ToolCallCompleted)
    assert outcome.ui.summary == "a.py: 6 bytes, 1 line, utf-8"
