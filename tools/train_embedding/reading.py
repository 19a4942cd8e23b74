"""From the files of a package to records of its functions, with separate doc comments."""

import hashlib
import heapq
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.retrieval.dataset import FUNCTIONS, Stripped, first_sentence, plain
from tools.train_embedding import npm
from tools.train_embedding.licences import (
    debian_licences,
    licence_of_file,
    names_copyleft,
    permissive,
)
from tools.train_embedding.packages import SUFFIXES, Source
from treadle.code.languages import language_of
from treadle.code.model import Item, Origin
from treadle.code.parse.content import read_content
from treadle.code.parse.file import origin_of
from treadle.code.retrieval.hits import is_test
from treadle.code.terms import terms_in

FORMAT = 2
"""The format of record files; another number rebuilds them all."""
MOST = 12_000
"""Functions per package, so that a large generated client does not outweigh the others."""
MAX_TESTS = 1_000
MAX_FILE_BYTES = 1_000_000
HEAD_BYTES = 3_000
"""The bytes in which a file may name its own licence."""
MIN_LINES = 3
"""For a function without a doc comment."""
MORE = 300
"""Characters of `more`."""
_COPIED = re.compile(
    r"(?:^|/)(?:textual|pydantic_ai|tokio|cargo|clap|rxjs|xterm|matrix-js-sdk|react-native|etcd)"
    r"(?:[-_.][\w.-]*)?/"
)
"""Folders of another package that a benchmark uses."""
_SECTION = re.compile(
    r"\n\s*(?:@|:\w|\.\.|#|-|=|\*|```|>>>|"
    r"(?:Args|Arguments|Parameters?|Params|Returns?|Yields?|Raises|Examples?|Usage|Panics|Errors"
    r"|Safety|See [Aa]lso|Notes?|References|Attributes|Keyword [Aa]rguments)\s*:?\s*(?:\n|$))"
)


class Record(NamedTuple):
    """A stored function. `same` and `body` identify copies: by all its terms, by its body."""

    language: str
    file: str
    name: str
    query: str
    more: str
    terms: dict[str, int]
    name_terms: list[str]
    lines: int
    same: int
    body: int


def read_package(source: Source, folder: Path) -> tuple[list[Record], int]:
    """The functions of an unpacked package by file and position, and the number of bytes read.

    The files of a large package are read in the order of a hash until there are enough functions.
    """
    licences = debian_licences(folder)
    files: dict[str, Path] = {}
    for below in _belows(source, folder):
        place = place_of(source, below)
        if _counts(folder / below, below, licences) and not _COPIED.search(place):
            files[place] = folder / below
    tests = [place for place in files if is_test(place)]
    own = [place for place in files if not is_test(place)]
    found: list[Record] = []
    size = 0
    for places, most, enough in ((own, MOST, 2 * MOST), (tests, MAX_TESTS, MAX_TESTS)):
        read: dict[str, list[Record]] = {}
        for place in sorted(places, key=hashed):
            if sum(map(len, read.values())) >= enough:
                break
            read[place] = _read(files[place], place, built=_may_be_built(source))
            size += files[place].stat().st_size
        found += _sample([record for place in sorted(read) for record in read[place]], most)
    return found, size


def _may_be_built(source: Source) -> bool:
    return source.client == "npm" and source.language == "TypeScript"


def _belows(source: Source, folder: Path) -> list[str]:
    """The files of a package that may count, by their paths in it; build output counts once."""
    suffixes = SUFFIXES[source.language]
    paths = sorted(path for path in folder.rglob("*") if path.suffix in suffixes)
    belows = [path.relative_to(folder).as_posix() for path in paths]
    if not _may_be_built(source):
        return belows
    inside = [below.partition("/") for below in belows if npm.is_code(below)]
    roots = {path: root for root, _, path in inside}
    return [f"{roots[path]}/{path}" for path in npm.once_built(roots)]


def _counts(path: Path, below: str, licences: list[tuple[str, str]]) -> bool:
    return (
        path.is_file() and path.stat().st_size <= MAX_FILE_BYTES and _may_be_used(below, licences)
    )


def _read(path: Path, place: str, built: bool) -> list[Record]:
    data = path.read_bytes()
    if origin_of(place, data) is not Origin.OWN or names_copyleft(data[:HEAD_BYTES]):
        return []
    if built and npm.is_minified(data):
        return []
    return list(read_functions(path, place))


def _may_be_used(below: str, licences: list[tuple[str, str]]) -> bool:
    """Whether the licence of the file itself is permissive, where files are listed one by one."""
    if below.startswith("debian/"):
        return False
    return not licences or permissive(licence_of_file(below, licences))


def _sample(records: list[Record], most: int) -> list[Record]:
    """At most `most`, those with comments first, drawn by a hash; the order stays."""
    if len(records) <= most:
        return records
    drawn = heapq.nsmallest(
        most,
        range(len(records)),
        key=lambda place: (not records[place].query, hashed(records[place].file, str(place))),
    )
    return [records[place] for place in sorted(drawn)]


def place_of(source: Source, below: str) -> str:
    """The path in the package's own repository, if it can be derived."""
    if source.client == "wheel":
        return re.sub(r"^[^/]+\.data/(?:purelib|platlib)/", "", below)
    if below.startswith("usr/share/cargo/registry/"):
        return re.sub(r"-[\d.]+(?:[-+][\w.]+)?/", "/", below.split("/", 4)[4], count=1)
    if below.startswith("usr/share/gocode/src/"):
        return below.split("/", 4)[4]
    if below.startswith("usr/src/"):
        return re.sub(r"^usr/src/[^/]+/", "", below)
    if source.client == "npm":
        inside = below.partition("/")[2]
        written = npm.where_written(inside) if _may_be_built(source) else inside
        return f"{source.name.rpartition('/')[2]}/{written}"
    return f"{source.name}/{below.partition('/')[2]}"


def read_functions(path: Path, place: str) -> Iterator[Record]:
    """The functions of a file, with their terms as if it were at `place` without doc comments."""
    stripped = Stripped(path, place)
    comments = {
        (function.name, function.at): (lines, doc) for function, lines, doc in stripped.commented()
    }
    if not comments:
        return
    language = language_of(place, stripped.data)
    for item, terms in read_content(place, stripped.data, language).items:
        lines, doc = comments.get((item.name, item.signature_start), (0, ""))
        query, more = sentences(doc, item.name)
        if item.kind not in FUNCTIONS or (lines < MIN_LINES and not query) or not lines:
            continue
        yield Record(
            language.name if language else "", place, item.name, query, more, terms,
            list(terms_in(item.name)), lines, *keys(stripped.data, item),
        )  # fmt: skip


def keys(data: bytes, item: Item) -> tuple[int, int]:
    """The common data of copies of a function: all its terms, and its body without blanks."""
    signature = data[item.signature_start : item.signature_end].decode("utf-8", "replace")
    body = data[item.signature_end : item.end_byte].decode("utf-8", "replace")
    packed = "".join(body.split())
    if len(packed) < 40:
        packed = "".join((signature + body).split())
    return hashed(*sorted(terms_in(signature + body))), hashed(packed)


def hashed(*parts: str) -> int:
    """A number of 63 bits that is the same in every process."""
    digest = hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def sentences(doc: str, name: str) -> tuple[str, str]:
    """The first sentence of a doc comment and, in at most `MORE` characters, what follows it."""
    query = first_sentence(doc, name)
    if not query:
        return "", ""
    text = " ".join(_SECTION.split(plain(doc), maxsplit=1)[0].split())
    rest = text.partition(query)[2].lstrip(" .:;,-`")
    if len(rest) > MORE:
        rest = rest[: MORE + 1].rpartition(" ")[0]
    return query, rest
