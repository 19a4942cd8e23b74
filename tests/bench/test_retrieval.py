"""The benchmark measures what it claims: doc comments are gone, and scores are right."""

from collections import Counter
from pathlib import Path

import pytest

from bench.retrieval.dataset import Dataset, Function, Query, Stripped, drawn, first_sentence
from bench.retrieval.methods import Bm25
from bench.retrieval.scores import measured, ndcg, row

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


def test_empty_sentences_are_not_queries() -> None:
    assert first_sentence("/** {@inheritDoc} */", "run") == ""
    assert first_sentence("Runs it.", "run") == ""


def test_short_functions_are_not_answers(tmp_path: Path) -> None:
    (tmp_path / "box.py").write_bytes(PYTHON)
    stripped = Stripped(tmp_path / "box.py", "box.py")
    assert [answer.name for _, answer in stripped.documented(least_lines=2)] == ["open", "close"]
    assert list(stripped.documented(least_lines=3)) == []


def test_tuning_and_test_corpora_are_disjoint() -> None:
    queries = [Query(f"query {n}", Function("box.py", f"name{n}", n)) for n in range(900)]
    other = Dataset("other", Path(), 900, tuning=tuple(queries[:300]), test=tuple(queries[300:600]))
    tuning, test, rest = drawn(queries, other)
    assert test == queries[300:600]
    assert tuning == queries[:300]
    assert rest == queries[600:]
    tuning, test, rest = drawn(queries[150:], other)
    assert (test, tuning) == (queries[300:600], [*queries[150:300], *queries[600:750]])
    assert rest == queries[750:]
    assert drawn(queries, None) == (queries[300:600], queries[:300], queries[600:])


def test_bm25_prefers_what_is_rare_and_short() -> None:
    bags = [Counter("ab"), Counter("a"), Counter("aaaac")]
    scores = Bm25(bags, 1.2, 0.75).scores(["a", "c", "c", "none"])
    assert max(scores, key=scores.__getitem__) == 2
    assert scores[1] > scores[0]


def test_scores() -> None:
    assert ndcg(1) == 1.0
    assert ndcg(3) == pytest.approx(0.5)
    assert ndcg(11) == ndcg(None) == 0.0
    mean = measured([0.0, 1.0] * 50)
    assert mean.mean == 0.5
    assert mean.low < 0.5 < mean.high
    assert row("x", [1, None]).endswith("| 0.500 | 0.500 | 0.500 |")
