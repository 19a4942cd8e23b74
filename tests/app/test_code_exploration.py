"""Lines of files, and walks between items."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle.app.code_exploration import Relation, neighbours, read_excerpt
from treadle.code import CodeIndex
from treadle.errors import NotFoundError, PathRefusedError, UsageError
from treadle.events.types import SourceRange

SHAPES = """class Shape:
    def area(self):
        return 0


class Square(Shape):
    def area(self):
        return side(self) ** 2


def side(shape):
    return 2


def total(shapes):
    return sum(side(each) for each in shapes)


def widest(shapes):
    return max(shapes, key=lambda shape: shape.side())
"""


@pytest.fixture
def index(tmp_path: Path) -> Iterator[CodeIndex]:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "shapes.py").write_text(SHAPES)
    (root / "latin.txt").write_bytes("first\r\nGrüße\r\n".encode("latin-1"))
    (root / "image.bin").write_bytes(b"\0\1\2")
    (root / ".env").write_text("PASSWORD=x\n")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as opened:
        opened.refresh()
        yield opened


def test_excerpt_has_exactly_the_lines_of_the_source(index: CodeIndex) -> None:
    excerpt = read_excerpt(index.root, index, SourceRange("shapes.py", 6, 8))
    assert excerpt.lines == tuple(SHAPES.splitlines()[5:8])
    assert (excerpt.first_line, excerpt.total_lines) == (6, 20)


def test_excerpt_of_another_encoding_is_readable(index: CodeIndex) -> None:
    excerpt = read_excerpt(index.root, index, SourceRange("latin.txt", 1, 9))
    assert excerpt.lines[0] == "first"
    assert "Gr" in excerpt.lines[1]


@pytest.mark.parametrize(
    ("file", "error"),
    [
        ("absent.py", NotFoundError),
        ("../outside.py", PathRefusedError),
        (".env", PathRefusedError),
        ("image.bin", UsageError),
    ],
)
def test_excerpt_of_an_unreadable_file_is_refused(
    index: CodeIndex, file: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        read_excerpt(index.root, index, SourceRange(file, 1, 3))


@pytest.mark.parametrize(
    ("name", "relation", "expected"),
    [
        ("shapes.side", Relation.CALLERS, {"shapes.Square.area", "shapes.total"}),
        ("shapes.total", Relation.CALLEES, {"shapes.side"}),
        ("shapes.Shape", Relation.IMPLEMENTATIONS, {"shapes.Square"}),
        ("shapes.Shape.area", Relation.IMPLEMENTATIONS, {"shapes.Square.area"}),
    ],
)
def test_walk_finds_the_neighbours_of_an_item(
    index: CodeIndex, name: str, relation: Relation, expected: set[str]
) -> None:
    found = neighbours(index, name, "shapes.py", relation)
    assert {item.canonical_path for item in found.items} == expected


def test_uses_that_cannot_be_resolved_are_possible_callers(index: CodeIndex) -> None:
    found = neighbours(index, "shapes.side", "shapes.py", Relation.CALLERS)
    assert [item.canonical_path for item in found.possible] == ["shapes.widest"]


def test_walk_from_an_unknown_item_is_refused(index: CodeIndex) -> None:
    with pytest.raises(NotFoundError, match=r"no item shapes\.absent"):
        neighbours(index, "shapes.absent", "shapes.py", Relation.CALLERS)
