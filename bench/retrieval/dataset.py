"""Corpora of functions without doc comments, and the comments' first sentences as queries."""

import ast
import random
import re
import shutil
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from bench.retrieval.packages import CACHE, Corpus, unpacked
from treadle.code.languages import Language, language_of
from treadle.code.languages.limits import TooMuchError, nested_too_deep
from treadle.code.model import Item, Kind
from treadle.code.parse.items import extract
from treadle.code.text import Lines

QUERIES = 300
"""For the test, and at most as many others for tuning: no query is in both.

The rest was not tuned on either, and gives a narrower interval on request.
"""
SEED = 20_260_101
FUNCTIONS = frozenset({Kind.FUNCTION, Kind.METHOD})

_COMMENT = re.compile(rb"\"(?:[^\"\\\n]|\\.)*\"|(/\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)", re.DOTALL)
_MARKS = re.compile(r"^[ \t]*(?:/\*+!?|\*+/|\*|//[/!]?)|\*+/[ \t]*$", re.MULTILINE)
_QUOTES = re.compile(r"^[rRuUbB]*(?:\"\"\"|'''|\"|')|(?:\"\"\"|'''|\"|')$")
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n\s*\n|\n\s*(?:@|:\w+|#|-|\*|```|>>>)")
_LINK = re.compile(r"\{@\w+\s+([^}]*)\}|\[`?([^\]`]*)`?\](?:\([^)]*\))?")
_WORD = re.compile(r"[^\W\d_]+")
_TEST = re.compile(r"test|bench|example", re.IGNORECASE)
"""Paths whose functions are searched like all others but are never the answer."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the stripped sources; `at` is the byte at which its definition begins."""

    file: str
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    answer: Function


@dataclass(frozen=True, slots=True)
class Dataset:
    """The stripped sources below `root`, and their queries; `rest` are in neither part."""

    name: str
    root: Path
    functions: int
    tuning: tuple[Query, ...]
    test: tuple[Query, ...]
    rest: tuple[Query, ...] = ()


def make_dataset(corpus: Corpus) -> Dataset:
    """Write the stripped sources again and draw the queries; the same every time."""
    beside = make_dataset(corpus.beside) if corpus.beside else None
    root = CACHE / "stripped" / corpus.name.lower()
    shutil.rmtree(root, ignore_errors=True)
    functions = 0
    documented: list[tuple[str, Function]] = []
    for package in corpus.packages:
        folder = unpacked(package)
        for path in sorted(folder.rglob("*")):
            if path.suffix not in corpus.suffixes or path.name.endswith(".d.ts"):
                continue
            if not path.is_file() or path.is_symlink():
                continue
            below = _below(path.relative_to(folder)).as_posix()
            if not below.startswith(package.inside):
                continue
            place = f"{package.name.rpartition('/')[2]}/{below}"
            stripped = Stripped(path, place)
            functions += len(stripped.functions)
            if not _TEST.search(place):
                documented += stripped.documented(corpus.least_lines)
            target = root / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(stripped.data)
    seen = Counter(text for text, _ in documented)
    queries = [Query(text, answer) for text, answer in documented if seen[text] == 1]
    random.Random(SEED).shuffle(queries)
    return Dataset(corpus.name, root, functions, *map(tuple, drawn(queries, beside)))


def drawn(
    queries: Sequence[Query], beside: Dataset | None
) -> tuple[list[Query], list[Query], list[Query]]:
    """The tuning part, the test and the rest, in the order of `queries`.

    A query of a part of `beside` is not in a different part here, even if its comment has changed.
    """
    tuned, tested = (_answers(beside.tuning), _answers(beside.test)) if beside else (set(), set())
    test = [query for query in queries if _answer(query) not in tuned][:QUERIES]
    tested |= _answers(test)
    tuning = [query for query in queries if _answer(query) not in tested][:QUERIES]
    known = tuned | _answers(test) | _answers(tuning)
    return tuning, test, [query for query in queries if _answer(query) not in known]


def _answers(queries: Iterable[Query]) -> set[tuple[str, str]]:
    return {_answer(query) for query in queries}


def _answer(query: Query) -> tuple[str, str]:
    return query.answer.file, query.answer.name


def _below(path: Path) -> Path:
    """The path without the folders that packaging added."""
    parts = path.parts
    if parts[:3] == ("usr", "share", "cargo"):
        parts = parts[5:]
    elif parts[:3] == ("usr", "share", "gocode"):
        parts = parts[4:]
    else:
        parts = parts[1:]
    return Path(*parts)


def _items(path: Path, source: bytes) -> list[Item]:
    """The items that the parser of the index finds, without terms, which take as long again."""
    language = language_of(path.name, source)
    if not isinstance(language, Language) or nested_too_deep(source):
        return []
    try:
        return extract(language, source, path.name, Lines(source)).items
    except TooMuchError:
        return []


class Stripped:
    """A file without the doc comments of its functions."""

    def __init__(self, path: Path, place: str) -> None:
        self._place = place
        self._source = path.read_bytes()
        self.functions = [item for item in _items(path, self._source) if item.kind in FUNCTIONS]
        self._ranges: list[tuple[int, int, bytes]] = []
        self._docs: dict[int, str] = {}
        if path.suffix == ".py":
            self._read_docstrings()
        else:
            for item in self.functions:
                self._read_comments(item)
        self._ranges.sort()
        self._sizes = list(
            accumulate((end - start - len(new) for start, end, new in self._ranges), initial=0)
        )
        self.data = self._without()

    def documented(self, least_lines: int = 1) -> Iterator[tuple[str, Function]]:
        """The query of each function that has a doc comment with a usable first sentence.

        The function has at least `least_lines` lines, without the comment and everything above it.
        """
        for function, lines, doc in self.commented():
            query = first_sentence(doc, function.name) if lines >= least_lines else ""
            if query:
                yield query, function

    def commented(self) -> Iterator[tuple[Function, int, str]]:
        """Each function, its lines without doc comments, and its own doc comment or nothing."""
        for item in self.functions:
            before = bisect_left(self._ranges, (item.signature_start,))
            at = item.signature_start - self._sizes[before]
            doc = self._docs.get(item.signature_start, "")
            yield Function(self._place, item.name, at), self._lines(item), doc

    def _lines(self, item: Item) -> int:
        """From the signature on, without doc comments of the function and of those within it."""
        lines = self._source.count(b"\n", item.signature_start, item.end_byte) + 1
        first = bisect_left(self._ranges, (item.signature_start,))
        for start, end, new in self._ranges[first : bisect_left(self._ranges, (item.end_byte,))]:
            if end <= item.end_byte:
                lines -= self._source.count(b"\n", start, end) - new.count(b"\n")
        return lines

    def _without(self) -> bytes:
        parts: list[bytes] = []
        position = 0
        for start, end, new in self._ranges:
            parts += [self._source[position:start], new]
            position = end
        return b"".join([*parts, self._source[position:]])

    def _read_comments(self, item: Item) -> None:
        docs: list[str] = []
        for match in _COMMENT.finditer(self._source, item.start_byte, item.signature_start):
            if match.group(1):
                docs.append(match.group().decode("utf-8", "replace"))
                self._ranges.append((*self._whole_lines(*match.span()), b""))
        self._docs[item.signature_start] = _MARKS.sub("", "\n".join(docs))

    def _whole_lines(self, start: int, end: int) -> tuple[int, int]:
        line = self._source.rfind(b"\n", 0, start) + 1
        alone = not self._source[line:start].strip() and self._source[end : end + 1] == b"\n"
        return (line, end + 1) if alone else (start, end)

    def _read_docstrings(self) -> None:
        try:
            tree = ast.parse(self._source)
        except (SyntaxError, ValueError):
            return
        lines = [0, *accumulate(len(line) for line in self._source.splitlines(keepends=True))]
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            first = node.body[0]
            if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
                continue
            if not isinstance(first.value.value, str) or first.end_lineno is None:
                continue
            start = lines[first.lineno - 1] + first.col_offset
            end = lines[first.end_lineno - 1] + (first.end_col_offset or 0)
            self._docs[lines[node.lineno - 1] + node.col_offset] = first.value.value
            if len(node.body) == 1:
                self._ranges.append((start, end, b"..."))
            else:
                self._ranges.append((*self._whole_lines(start, end), b""))


def plain(doc: str) -> str:
    """A doc comment without quotation marks and links."""
    text = _QUOTES.sub("", doc.strip())
    return _LINK.sub(lambda match: match.group(1) or match.group(2), text).strip()


def first_sentence(doc: str, name: str) -> str:
    """The first sentence in plain words, without the function's own name at the start."""
    sentence = " ".join(_SENTENCE.split(plain(doc), maxsplit=1)[0].split())
    sentence = sentence.removeprefix(name).strip(" `:-")
    words = _WORD.findall(sentence)
    telling = sentence and not sentence.startswith(("@", "{", "<", "TODO", "eslint", "noqa"))
    return sentence if telling and 4 <= len(words) <= 40 else ""
