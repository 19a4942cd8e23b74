"""The benchmark measures what it says: doc comments are gone, and scores are right."""

from pathlib import Path

import pytest

from bench.retrieval.dataset import Stripped, first_sentence
from bench.retrieval.scoring import measured, ndcg, row

PYTHON = b'''class Box:
    """Stays."""

    def open(self) -> None:
        """Open the lid of the box. And more."""
        self.lid = True

    def close(self) -> None:
        """Close the lid of this box."""
'''
GO = b"""package box

// Open lifts the lid of the box. It may fail.
//
// More of it.
func (b *Box) Open() error { // stays
\treturn nil
}
"""


def test_docstrings_of_functions_become_queries(tmp_path: Path) -> None:
    (tmp_path / "box.py").write_bytes(PYTHON)
    stripped = Stripped(tmp_path / "box.py", "box.py")
    assert b"lid of" not in stripped.data
    assert b"Stays." in stripped.data
    found = {answer.name: (query, answer.at) for query, answer in stripped.documented()}
    assert found["open"][0] == "Open the lid of the box."
    for name, (_, at) in found.items():
        assert stripped.data[at:].startswith(f"def {name}".encode())
    compile(stripped.data, "box.py", "exec")


def test_comments_above_functions_become_queries(tmp_path: Path) -> None:
    (tmp_path / "box.go").write_bytes(GO)
    stripped = Stripped(tmp_path / "box.go", "box.go")
    ((query, answer),) = stripped.documented()
    assert query == "lifts the lid of the box."  # not the name, which would be the answer
    assert stripped.data[answer.at :].startswith(b"func (b *Box) Open() error { // stays")
    assert b"lifts" not in stripped.data


def test_sentences_that_say_nothing_are_no_queries() -> None:
    assert first_sentence("/** {@inheritDoc} */", "run") == ""
    assert first_sentence("Runs it.", "run") == ""


def test_scores() -> None:
    assert ndcg(1) == 1.0
    assert ndcg(3) == pytest.approx(0.5)
    assert ndcg(11) == ndcg(None) == 0.0
    mean = measured([0.0, 1.0] * 50)
    assert mean.mean == 0.5
    assert mean.low < 0.5 < mean.high
    assert row("x", [1, None]).endswith("| 0.500 | 0.500 | 0.500 |")
