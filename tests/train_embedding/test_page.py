"""The page of the documentation names every package of the list."""

from scripts.write_embedding_data import PAGE, render


def test_the_page_is_written_from_the_list() -> None:
    assert PAGE.read_text() == render(), "run make docs"
