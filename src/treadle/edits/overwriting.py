"""A file as a whole in place of another: hunks by line, bounded in time."""

from treadle.edits.hunks import hunks_between, with_uniqueness
from treadle.edits.model import ChangeKind, FileChange, content_hash
from treadle.edits.text import BOM, Source


def rehunk(path: str, base: bytes, result: bytes) -> FileChange:
    """The change from `base` to `result`, one hunk for each run of lines that differ."""
    source = Source(path, base)
    hunks = with_uniqueness(base, hunks_between(source, 0, len(base), result))
    return FileChange(path, ChangeKind.MODIFY, content_hash(base), content_hash(result), hunks)


def overwritten(path: str, base: bytes, content: bytes) -> tuple[FileChange, list[str]]:
    """The change of a file to what a model wrote as its whole content, and notes on it.

    A byte order mark stays, and where all lines end with CRLF those of the content do as well.
    Raises EditError for a file in another encoding or a binary one.
    """
    Source(path, base).check()
    notes: list[str] = []
    if base.startswith(BOM) and not content.startswith(BOM):
        content = BOM + content
        notes.append(f"{path}: its byte order mark was kept.")
    crlf = base.count(b"\r\n")
    if crlf and crlf == base.count(b"\n") == base.count(b"\r") and b"\r" not in content:
        content = content.replace(b"\n", b"\r\n")
        notes.append(f"{path}: its line ends, CRLF, were kept.")
    return rehunk(path, base, content), notes
