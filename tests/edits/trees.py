"""Trees of files for tests, and a plan that changes four files of one."""

import stat
from pathlib import Path

from treadle.edits.requests import (
    CreateFile,
    DeleteFile,
    EditRequest,
    LineRangeEdit,
    RenameFile,
    ReplaceEdit,
)

Snapshot = dict[str, tuple[bytes, int]]

PLAN: tuple[EditRequest, ...] = (
    ReplaceEdit("src/a.py", "two", "TWO"),
    CreateFile("new/deep/b.py", "fresh\n"),
    DeleteFile("src/c.py"),
    LineRangeEdit("d.py", 1, 1, "ONE"),
    RenameFile("d.py", "src/e.py"),
)
"""One change of each kind."""


def fill(root: Path) -> None:
    """The files of `PLAN`, and another one."""
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_bytes(b"one\r\ntwo\r\nthree\xff\r\n")
    (root / "src/a.py").chmod(0o755)
    (root / "src/c.py").write_bytes(b"gone\n" * 40)
    (root / "d.py").write_bytes(b"one\ntwo\n")
    (root / "d.py").chmod(0o640)
    (root / "other.py").write_bytes(b"other\n")


def snapshot(root: Path) -> Snapshot:
    """Content and permissions of every file, empty for a folder; includes temporary files."""
    return {
        path.relative_to(root).as_posix(): (
            path.read_bytes() if path.is_file() else b"",
            stat.S_IMODE(path.lstat().st_mode),
        )
        for path in sorted(root.rglob("*"))
    }
