"""Reads and parses one file: its items, or the reason to skip it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from treadle.code.files.origins import origin_of
from treadle.code.files.walk import MAX_FILE_BYTES, MAX_NOTEBOOK_BYTES, content_hash, read_file
from treadle.code.graph.tables import packed
from treadle.code.languages import Language, Outline, language_of
from treadle.code.languages.notebook import NOTEBOOK
from treadle.code.model import Origin, Reading
from treadle.code.parse.content import Content, IndexedItem, read_content
from treadle.code.references import FileReferences
from treadle.private_files import why_private_content

MAX_TEXT_BYTES = 500_000
"""Most bytes of a text without a grammar; larger texts are data."""

_BINARY_PROBE = 8_192  # as git does

_MINIFIED_LINE = 1_000
"""Mean bytes of a line from which a file counts as minified."""

_LOCK_FILES = re.compile(
    r"(?:^|/)(?:[^/]*\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum)$"
)

_MINIFIED_NAME = re.compile(r"\.min\.(?:js|css|mjs)$|\.(?:map|svg)$")


class ParsedFile(NamedTuple):
    """The result of reading a file. `content_hash` is BLAKE2b-256, empty if it was not read.

    `unchanged`: the hash is the known one, so `items` is empty. `references` are packed, with the
    keys of the names that they mention (see `treadle.code.graph.tables`). `failed`: the parser
    crashed or exceeded a limit.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    content_hash: bytes
    language: str | None = None
    lines: int = 0
    skipped: str | None = None
    items: Sequence[IndexedItem] = ()
    unchanged: bool = False
    reading: Reading = Reading.SKIPPED
    origin: Origin = Origin.OWN
    references: tuple[bytes, set[int]] | None = None
    failed: bool = False
    terms: Mapping[str, int] = MappingProxyType({})


_NO_FAILURES: Mapping[bytes, str] = {}


class ReadFile(NamedTuple):
    """A file that was read: its path and bytes, or the reason to skip it."""

    path: str
    data: bytes | None
    stat: tuple[int, int, int, int]
    """Size, `mtime_ns`, `ctime_ns` and inode; zeros if it could not be opened."""
    skipped: str | None = None


def file_to_parse(root: Path | str, path: str) -> ReadFile:
    """Read one file; it never raises because of the content of a file."""
    try:
        data, status = read_file(root, path)
    except OSError as error:
        return ReadFile(path, None, (0, 0, 0, 0), f"unreadable: {error.strerror}")
    stat = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return ReadFile(path, data, stat, _too_large(path) if data is None else None)


def parse_file(root: Path, path: str) -> ParsedFile:
    """Read and parse one file in this process."""
    return parse_read(file_to_parse(root, path))


def parse_read(
    file: ReadFile, known_hash: bytes = b"", failures: Mapping[bytes, str] = _NO_FAILURES
) -> ParsedFile:
    """Parse a file; it never raises because of the content of a file.

    If the bytes have the hash `known_hash`, they are not parsed and `items` is empty. `failures`
    has the hashes of texts at which a parser failed, with the reasons.
    """
    path, data, stat, _ = file
    if data is None:
        return ParsedFile(path, *stat, b"", skipped=file.skipped)
    digest = content_hash(data)
    language = language_of(path, data)
    name = language.name if language else None
    skipped = (
        why_private_content(data) or _reason_to_skip(path, data, language) or failures.get(digest)
    )
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    unchanged = digest == known_hash
    content = _NOTHING if skipped or unchanged else read_content(path, data, language)
    return ParsedFile(
        path, *stat, digest, name, lines, skipped, content.items, unchanged, content.reading,
        origin_of(path, data), packed(content.references), terms=content.terms,
    )  # fmt: skip


def failed_file(file: ReadFile, reason: str) -> ParsedFile:
    """A file at which a parser failed; it is not parsed again."""
    path, data, stat, skipped = file
    if data is None:
        return ParsedFile(path, *stat, b"", skipped=skipped)
    return ParsedFile(path, *stat, content_hash(data), skipped=reason, failed=True)


def _too_large(path: str) -> str:
    most = MAX_NOTEBOOK_BYTES if path.endswith(".ipynb") else MAX_FILE_BYTES
    return f"larger than {most // 1_000_000} MB"


def _reason_to_skip(path: str, data: bytes, language: Language | Outline | None) -> str | None:
    if b"\0" in data[:_BINARY_PROBE]:
        return "binary"
    if _LOCK_FILES.search(path):
        return "lock file"
    if language is NOTEBOOK:
        return None
    long_lines = len(data) > 20 * _MINIFIED_LINE and len(data) > _MINIFIED_LINE * (
        data.count(b"\n") + 1
    )
    if _MINIFIED_NAME.search(path) or long_lines:
        return "minified or generated"
    if not isinstance(language, Language) and len(data) > MAX_TEXT_BYTES:
        return "text without a grammar, larger than 500 kB"
    return None


_NOTHING = Content([], FileReferences(), Reading.SKIPPED, {})
