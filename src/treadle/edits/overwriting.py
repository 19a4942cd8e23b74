"""A file as a whole: new, or in place of another, with hunks by line."""

from dataclasses import replace

from treadle.charsets import (
    UTF_8,
    Charset,
    Configured,
    charset_of,
    charset_of_new,
    declared_label,
)
from treadle.edits.encoded_file import writable
from treadle.edits.hunks import hunks_between, with_uniqueness
from treadle.edits.model import ChangeKind, FileChange, Hunk, content_hash
from treadle.edits.text import BOM, Source, encoded


def rehunk(path: str, base: bytes, result: bytes) -> FileChange:
    """The change from `base` to `result`, one hunk for each run of lines that differ."""
    source = Source(path, base)
    hunks = with_uniqueness(base, hunks_between(source, 0, len(base), result))
    return FileChange(path, ChangeKind.MODIFY, content_hash(base), content_hash(result), hunks)


def created(path: str, content: str, configured: Configured) -> FileChange:
    """The change that makes a file with `content`, in the encoding that it declares.

    Raises EditError when it cannot be written so.
    """
    charset = charset_of_new(path, content, configured)
    data = _written(charset, content, path)
    hunk = Hunk(0, 1, b"", data)
    return FileChange(
        path, ChangeKind.CREATE, None, content_hash(data), (hunk,), encoding=charset.stored
    )


def overwritten(
    path: str, base: bytes, content: str, configured: Configured
) -> tuple[FileChange, list[str]]:
    """The change of a file to what a model wrote as its whole content, and notes on it.

    Its encoding stays, unless the content declares another one. A byte order mark stays, and
    where all lines end with CRLF those of the content do as well. Raises EditError for a binary
    file, and when the content cannot be written in the encoding.
    """
    Source(path, base).check()
    charset, notes = _kept_charset(path, base, content, configured)
    data = _written(charset, content, path)
    if base.startswith(BOM) and charset.is_utf8 and not data.startswith(BOM):
        data = BOM + data
        notes.append(f"{path}: its byte order mark was kept.")
    crlf = base.count(b"\r\n")
    if crlf and crlf == base.count(b"\n") == base.count(b"\r") and b"\r" not in data:
        data = data.replace(b"\n", b"\r\n")
        notes.append(f"{path}: its line ends, CRLF, were kept.")
    return replace(rehunk(path, base, data), encoding=charset.stored), notes


def _kept_charset(
    path: str, base: bytes, content: str, configured: Configured
) -> tuple[Charset, list[str]]:
    before = charset_of(path, base, configured)
    declares = declared_label(path, base), declared_label(path, content.encode("utf-8", "replace"))
    if declares != (None, None):
        return charset_of_new(path, content, configured), []
    if before.codec is None:
        return UTF_8, [f"{path}: it is UTF-8 now; its earlier encoding was unknown."]
    if before.is_utf8 or content.isascii():
        return before, []
    return before, [f"{path}: it is written in its existing encoding, {before.name}."]


def _written(charset: Charset, content: str, path: str) -> bytes:
    encoded(content, "The content")  # raises for invalid text
    if charset.is_utf8:
        return content.encode()
    return writable(charset, content, "The content", path).encode(charset.codec or "ascii")
