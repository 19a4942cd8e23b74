"""The items of the parent's tree that a commit changes, by the extraction of the index itself."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench.tasks.history import Hunk
from treadle.code.languages import Language, language_of
from treadle.code.model import TEXT_KINDS, Item, Kind
from treadle.code.parse.content import read_content
from treadle.code.retrieval.hits import is_test

_WITHOUT_GOLD = TEXT_KINDS | {Kind.MODULE}

_MORE_TESTS = re.compile(
    r"(?:^|/)(?:testsuite|funtests|Tests|UnitTests)/|(?:^|/)[\w.-]+[._-](?:[tT]ests|Specs|UnitTests)/"
    r"|_tests?\.\w+$|[a-z0-9](?:Tests?|Specs?)\.(?:cs|swift|kt|php|java)$"
)
"""Tests that the product does not recognise by their paths."""


class Source(NamedTuple):
    """A source file: its bytes and the items in it."""

    data: bytes
    items: Sequence[Item]

    def text(self, item: Item) -> bytes:
        """The bytes of an item, whatever its line breaks."""
        return self.data[item.start_byte : item.end_byte].replace(b"\r\n", b"\n")


def read_source(path: str, data: bytes) -> Source | None:
    """A file of a programming language; None for documents, settings and other texts."""
    language = language_of(path, data)
    if not isinstance(language, Language):
        return None
    return Source(data, [indexed.item for indexed in read_content(path, data, language).items])


def is_source(path: str) -> bool:
    """Whether a file is of a programming language, by its name."""
    return isinstance(language_of(path), Language)


def is_test_file(path: str) -> bool:
    """Whether a file is test code, even if the product does not recognise it."""
    return is_test(path) or bool(_MORE_TESTS.search(path))


def changed_items(source: Source, hunks: Iterable[Hunk]) -> list[Item]:
    """The innermost item around each changed line, in their order.

    Lines that are only added belong to the item that both of their neighbours are in.
    """
    found: dict[int, Item] = {}
    definitions = [item for item in source.items if item.kind not in _WITHOUT_GOLD]
    for hunk in hunks:
        if hunk.count:
            ranges = [(line, line) for line in range(hunk.first, hunk.first + hunk.count)]
        else:
            ranges = [(hunk.first, hunk.first + 1)]
        for first, last in ranges:
            around = [
                item for item in definitions if item.start_line <= first and last <= item.end_line
            ]
            if around:
                item = min(around, key=lambda one: one.end_byte - one.start_byte)
                found[item.start_byte] = item
    return [found[at] for at in sorted(found)]


def counterpart(item: Item, before: Source, searched: Source) -> Item | None:
    """The same item in the file of the searched tree, only if every byte is the same."""
    text = before.text(item)
    same = [
        other
        for other in searched.items
        if (other.canonical_path, other.kind) == (item.canonical_path, item.kind)
        and searched.text(other) == text
    ]
    return same[0] if len(same) == 1 else None
