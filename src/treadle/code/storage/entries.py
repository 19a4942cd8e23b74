"""The rows of a file in the index.

A worker process computes the rows when it parses the file, since the single writer is the
bottleneck of a large build.
"""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from treadle.code.dense.vector_tables import FileVectors
from treadle.code.languages import language_of
from treadle.code.languages.extra import unpacked_grammar
from treadle.code.parse.file import ParsedFile, ReadFile, failed_file, file_to_parse, parse_read
from treadle.code.storage.postings import MAX_COUNT, POSITION_BITS, pack

ItemRow = tuple[int | None, str, str, str, int, int, int, int, int, int]
"""The stored fields of an `Item`.

The position of the parent comes first. The doc comment is not stored.
"""


ReadRequest = tuple[str, str, bytes, str | None, Mapping[bytes, str]]
"""A request to read a file.

The values are the root, the path, the known hash, the folder of the embedding model or None, and
the known failures (see `parse_read`).
"""


class FileRows(NamedTuple):
    """The rows of a file: its items, its terms, and its vectors if requested.

    `file` is the parsed file without its items. `terms` are sorted. For each term, `postings` has
    the packed postings of the term, and `in_file` has its weighted count in the whole file.
    """

    file: ParsedFile
    items: list[ItemRow]
    terms: list[str]
    postings: list[bytes]
    in_file: list[int]
    vectors: FileVectors | None = None


def file_rows(file: ParsedFile, embedding: Path | None = None) -> FileRows:
    """Return the rows of a file.

    The rows include vectors if `embedding` is the folder of an embedding model.
    """
    postings = defaultdict[str, list[int]](list)
    items: list[ItemRow] = []
    for position, (item, terms) in enumerate(file.items):
        items.append((item.parent, item.name, item.canonical_path, item.kind.value, *item[4:10]))
        for term, count in terms.items():
            postings[term].append(count << POSITION_BITS | position)
    used = sorted(postings)
    return FileRows(
        file._replace(items=(), terms={}),
        items,
        used,
        [pack(postings[term]) for term in used],
        [min(file.terms.get(term, 0), MAX_COUNT) for term in used],
        vectors_of([terms for _, terms in file.items], embedding) if embedding and items else None,
    )


def read_for_rows(
    call: ReadRequest,
) -> tuple[tuple[int, ReadFile, bytes, str | None, Mapping[bytes, str]], frozenset[str]]:
    """Read a file. Return the arguments of `parse_file_rows` and the folders that a worker reads.

    The folders contain the grammar and the embedding model.
    """
    root, path, known_hash, embedding, failures = call
    read_ns = time.time_ns()
    file = file_to_parse(root, path)
    folders = () if file.data is None else unpacked_grammar(language_of(path, file.data))
    return (
        (read_ns, file, known_hash, embedding, failures),
        frozenset((*folders, embedding) if embedding else folders),
    )


def parse_file_rows(
    read_ns: int,
    file: ReadFile,
    known_hash: bytes,
    embedding: str | None,
    failures: Mapping[bytes, str],
) -> tuple[FileRows, int]:
    """Return the rows of a file, and the time in ns before the file was read.

    The other parameters are those of `parse_read`.
    """
    parsed = parse_read(file, known_hash, failures)
    return file_rows(parsed, None if embedding is None else Path(embedding)), read_ns


def failed_file_rows(root: Path, path: str, reason: str) -> tuple[FileRows, int]:
    """Return the rows of a file at which its parser failed, and the time before the read in ns."""
    read_ns = time.time_ns()
    return file_rows(failed_file(file_to_parse(root, path), reason)), read_ns


def vectors_of(items: Sequence[Mapping[str, int]], embedding: Path) -> FileVectors | None:
    """Return the vectors of items from their weighted terms.

    The result is None if the embedding model cannot be read.
    """
    from treadle.code.dense import EmbeddingError
    from treadle.code.dense.static_embedding import StaticEmbedding

    try:
        model = StaticEmbedding.load(embedding)
    except EmbeddingError:
        return None  # the search reports the error
    return FileVectors(model.name, model.documents(items).tobytes())
