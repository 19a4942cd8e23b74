"""A search says which words occur nowhere, and which files could not be read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from treadle.code import CodeIndex


def notes(tmp_path: Path, query: str, **files: str) -> tuple[str, ...]:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    for name, text in files.items():
        (root / name.replace("__", ".")).write_text(text)
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        index.refresh()
        answer = index.search(query)
        context = index.context(query, top_k=5, fits=lambda _entries, _omitted: True)
        assert context.notes == answer.notes
        return answer.notes


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("load the zebra", '"zebra" occurs nowhere in the index.'),
        ("where is the Quux zebra loaded?", '"Quux" and "zebra" occur nowhere in the index.'),
        ("loadZebra", '"loadZebra" occurs nowhere in the index.'),
        ("Schlüsselübergabe laden", '"Schlüsselübergabe" and "laden" occur nowhere in the index.'),
    ],
)
def test_word_that_occurs_nowhere_is_named(tmp_path: Path, query: str, expected: str) -> None:
    assert notes(tmp_path, query, a__py="def load_orders():\n    return orders\n") == (expected,)


def test_notes_check_only_the_title_of_a_report(tmp_path: Path) -> None:
    report = "The zebra fails\n\n### Environment\n\nGiraffe 1.2.3 on an okapi"
    code = "def load_orders():\n    return orders  # the one that fails\n"
    assert notes(tmp_path, report, a__py=code) == ('"zebra" occurs nowhere in the index.',)


@pytest.mark.parametrize(
    "query", ["load orders", "how are the orders loaded?", "load_orders", "a b"]
)
def test_query_whose_words_occur_has_no_note(tmp_path: Path, query: str) -> None:
    assert notes(tmp_path, query, a__py="def load_orders():\n    return loaded\n") == ()


def test_file_with_hits_that_was_parsed_with_errors_is_named(tmp_path: Path) -> None:
    text = "def load_orders():\n    return 1\n\n\ndef broken(:\n"
    (note,) = notes(tmp_path, "load orders", a__py=text)
    assert note == "a.py was parsed with errors: some of its items may be missing."


def test_skipped_files_are_named_if_a_word_is_missing(tmp_path: Path) -> None:
    found = notes(tmp_path, "zebra", a__py="def load(): pass\n", b__txt="zebra " * 100_000)
    assert found[0] == '"zebra" occurs nowhere in the index.'
    assert found[1].startswith("b.txt is not in the index (")


def test_file_that_crashed_its_parser_is_named(tmp_path: Path) -> None:
    nested = "".join(" " * level + "if x:\n" for level in range(520)) + " " * 520 + "y = 'a'\n"
    (note,) = notes(tmp_path, "load", a__py="def load(): pass\n", b__py=nested)
    assert note == "b.py is not in the index: it crashed its parser (SIGSEGV)."


def test_command_line_prints_notes_in_json_and_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def load_orders():\n    return 1\n")
    command = [sys.executable, "-m", "treadle", "search", "load zebra", "--repo", str(tmp_path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert '"zebra" occurs nowhere' in shown.stderr
    answer = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout)["notes"] == ['"zebra" occurs nowhere in the index.']
