"""Files that answer a query by their whole text, and what that adds to their items."""

from collections.abc import Mapping
from pathlib import Path

from treadle.code import CodeIndex, View
from treadle.code.languages import OUTLINES
from treadle.code.model import TEXT_LANGUAGES

SPREAD = {
    "pool.py": "def lease(slot):\n    return slot.connection\n\n\n"
    "def expire(slot):\n    slot.deadline = 0\n\n\n"
    "def evict(slot):\n    slot.idle = True\n",
    "tools.py": "def connection(deadline):\n    return deadline\n",
    "notes.md": "# Deadline\n\nA connection has a deadline. An idle connection is evicted.\n",
    "test_pool.py": "def test_idle_connection_deadline():\n    assert idle.connection.deadline\n",
}


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def ranked(tmp_path: Path, files: Mapping[str, str], query: str, view: View) -> list[str]:
    write(tmp_path / "root", files)
    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        return [hit.file for hit in index.search(query, view=view).results]


def test_words_spread_over_the_functions_of_a_file_find_it(tmp_path: Path) -> None:
    query = "Fix the lease of an idle connection that is evicted before its deadline expires"
    assert ranked(tmp_path, SPREAD, query, View.FILES)[0] == "pool.py"
    assert ranked(tmp_path, SPREAD, query, View.ITEMS)[0] == "pool.py"


def test_documents_and_tests_come_after_code_in_the_answer_to_a_task(tmp_path: Path) -> None:
    query = "Fix the deadline of an idle connection, which the test suite shows to be wrong"
    files = ranked(tmp_path, SPREAD, query, View.FILES)
    assert set(files[:2]) == {"pool.py", "tools.py"}


def test_file_without_query_words_is_not_found(tmp_path: Path) -> None:
    assert ranked(tmp_path, SPREAD, "Fix the zeppelin", View.FILES) == []


def test_search_of_many_equal_files_reads_few(tmp_path: Path) -> None:
    files = {f"p{number:03}/index.js": "export function spindle() {}\n" for number in range(120)}
    write(tmp_path / "root", files)
    with CodeIndex.open(tmp_path / "root", cache_dir=tmp_path / "cache") as index:
        index.refresh()
        found, _, _ = index.found("where the spindle is")
    assert [file.path for file in found.files] == sorted(files)[:50]


def test_ranking_is_independent_of_the_order_of_indexing(tmp_path: Path) -> None:
    """More items have one score than are candidates; ids follow the order of indexing."""
    files = {f"part{number:03}.py": "def spindle():\n    pass\n" for number in range(260)}
    root = tmp_path / "root"
    write(root, dict(list(files.items())[130:]))
    with CodeIndex.open(root, cache_dir=tmp_path / "grown") as index:
        index.refresh()
        write(root, files)
        index.refresh()
        grown = index.search("the spindle", top_k=20).results
    with CodeIndex.open(root, cache_dir=tmp_path / "fresh") as index:
        index.refresh()
        assert index.search("the spindle", top_k=20).results == grown


def test_text_languages_are_those_with_outlines() -> None:
    assert {outline.name for outline in OUTLINES} == TEXT_LANGUAGES
