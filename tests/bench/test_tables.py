"""The page of benchmarks: each table has its position, and no other table changes."""

import pytest

from bench.tables import PAGE, with_table


@pytest.mark.parametrize(
    "name", ["retrieval", "index", "query", "embedding", "runtime", "edits", "traces"]
)
def test_every_benchmark_has_its_place(name: str) -> None:
    page = PAGE.read_text("utf-8")
    written = with_table(page, name, "| one |\n|---|\n| 1 |\n")
    assert "| one |\n|---|\n| 1 |" in written
    assert with_table(written, name, "| one |\n|---|\n| 1 |\n") == written


def test_a_table_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for speed"):
        with_table("# Page\n", "speed", "| 1 |")
